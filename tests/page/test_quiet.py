"""What the page asks for, and when: while nothing happens, and of a target that is clicked."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Route

from tests.page.visit import Visitor, until

pytestmark = pytest.mark.real
MINUTE_MS = 60_000
# A stream with a line every two seconds by the browser's clock, which the test moves on: the lines
# of the service come by a clock of their own, and would look dead.
QUIET_STREAM = """
const asked = window.fetch;
window.fetch = (url, options) => {
  if (url !== "/api/v1/changes") return asked(url, options);
  const line = new TextEncoder().encode(": quiet\\n\\n");
  const body = new ReadableStream({ start: (stream) => {
    stream.enqueue(line);
    const lines = setInterval(() => stream.enqueue(line), 2000);
    options.signal.addEventListener("abort", () => { clearInterval(lines); stream.close(); });
  } });
  return Promise.resolve(new Response(body));
};
"""


def test_an_idle_visible_tab_asks_once_an_hour(visit: Callable[..., Visitor]) -> None:
    """No request for most of an hour in which nothing happens; after it, the screen and no more."""
    one = visit()
    one.page.clock.install()
    one.page.add_init_script(QUIET_STREAM)
    one.open("/brakes")
    until(one.is_live, "it is live")
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    one.page.clock.run_for(55 * MINUTE_MS)
    assert one.is_live()
    assert asked == []
    one.page.clock.run_for(6 * MINUTE_MS)
    until(lambda: asked, "it is read again")
    assert asked == [f"{one.url}/brakes"]


def test_why_comes_before_its_date(visit: Callable[..., Visitor]) -> None:
    """The gates are shown while the date is not known yet, and the date is put in when it is."""
    one = visit()
    until(lambda: one.page.get_attribute("#map", "data-drawn") == "10", "ten cells are drawn")
    kept: list[Route] = []

    def hold(route: Route) -> None:
        route.continue_() if "dates=later" in route.request.url else kept.append(route)

    one.page.route("**/why/**", hold)
    one.page.click("#map", position={"x": 8, "y": 50})
    one.page.wait_for_selector("#panel .why[data-later] .gates li")
    until(lambda: kept, "the date is asked for")
    assert "expected:" not in one.said("#panel")
    # No worker moves this journal on, so that no date is expected: the answer gets one.
    answer = kept[0].fetch()
    dated = answer.text().replace("</pre>", "expected: starts 2026-01-05T10:00:00Z\n</pre>")
    kept[0].fulfill(response=answer, body=dated)
    until(
        lambda: "expected: starts 2026-01-05T10:00:00Z" in one.said("#panel"), "the date is there"
    )
    assert one.said("#panel h2") == "dev-1"
    assert one.page.query_selector("#panel .why[data-later]") is None
    assert len(kept) == 1


def test_a_first_click_asks_about_the_cell_under_it(visit: Callable[..., Visitor]) -> None:
    """A click moves the cursor there; it does not first scroll to where a keyboard would begin."""
    one = visit(viewport={"width": 390, "height": 400})
    until(lambda: one.page.get_attribute("#map", "data-drawn") == "10", "ten cells are drawn")
    top = "document.querySelector('#map').getBoundingClientRect()"
    one.page.evaluate(f"scrollBy(0, {top}.top)")
    box = one.page.evaluate(f"{top}.toJSON()")
    one.page.mouse.click(box["x"] + 8 + 2 * (5 * 18 + 16), box["y"] + 50)
    one.page.wait_for_selector("#panel h2")
    assert one.said("#panel h2") == "prod-1"
    assert "target=prod-1" in one.page.url
