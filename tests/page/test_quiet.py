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
    # A page that is read again would replace the date that only one answer has.
    one.page.add_init_script(QUIET_STREAM)
    one.open("/")
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


# What each of these tests is for, taken out of the script: it must be noticed.
SCROLLS = (' && canvas.matches(":focus-visible")', "")
ANSWERS = ("if (mine !== asking) return;", "")
DATES = ("if (mine === asking) morph", "morph")


def planted(one: Visitor, fault: tuple[str, str] | None) -> None:
    """Load the page again with a fault in its script; None: as it is."""

    def broken(route: Route) -> None:
        answer = route.fetch()
        assert fault is not None
        assert fault[0] in answer.text()
        route.fulfill(response=answer, body=answer.text().replace(*fault))

    if fault is not None:
        one.page.route("**/static/page.js*", broken)
        one.page.reload()
    until(lambda: one.page.get_attribute("#map", "data-drawn") == "10", "ten cells are drawn")


def settle(one: Visitor) -> None:
    """Wait until the script did what was due: two frames, and what follows them."""
    frame = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
    one.page.evaluate(f"{frame}.then(() => {frame})")


@pytest.mark.parametrize("fault", [None, SCROLLS], ids=["as-it-is", "planted"])
def test_a_first_click_asks_about_the_cell_under_it(
    visit: Callable[..., Visitor], fault: tuple[str, str] | None
) -> None:
    """A click moves the cursor there; it does not first scroll to where a keyboard would begin."""
    one = visit(viewport={"width": 390, "height": 400})
    planted(one, fault)
    top = "document.querySelector('#map').getBoundingClientRect()"
    one.page.evaluate(f"scrollBy(0, {top}.top)")
    box = one.page.evaluate(f"{top}.toJSON()")
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    one.page.mouse.click(box["x"] + 8 + 2 * (5 * 18 + 16), box["y"] + 50)
    settle(one)
    assert any("/why/" in each and "target=prod-1" in each for each in asked) is (fault is None)
    if fault is None:
        one.page.wait_for_selector("#panel h2")
        assert one.said("#panel h2") == "prod-1"
        assert "target=prod-1" in one.page.url


@pytest.mark.parametrize("later, fault", [(True, ANSWERS), (False, DATES)], ids=["why", "date"])
@pytest.mark.parametrize("is_planted", [False, True], ids=["as-it-is", "planted"])
def test_a_late_answer_is_put_into_no_other_panel(
    visit: Callable[..., Visitor], later: bool, fault: tuple[str, str], is_planted: bool
) -> None:
    """Neither why of a target that was clicked before, nor its date."""
    one = visit()
    planted(one, fault if is_planted else None)
    kept: list[Route] = []

    def hold(route: Route) -> None:
        asked = route.request.url
        if "target=dev-1" in asked and ("dates=later" in asked) is later:
            kept.append(route)
        elif "dates=later" in asked:
            route.continue_()
        # No other date is answered: it would be put in after the late answer.

    one.page.route("**/why/**", hold)
    one.page.click("#map", position={"x": 8, "y": 50})
    until(lambda: one.said("#map-help") and kept, "dev-1 is asked for")
    one.page.click("#map", position={"x": 8 + 2 * (5 * 18 + 16), "y": 50})
    until(lambda: one.said("#panel h2") == "prod-1", "prod-1 is shown")
    with one.page.expect_event("requestfinished", lambda each: each == kept[0].request):
        kept[0].continue_()
    if is_planted:
        until(lambda: one.said("#panel h2") == "dev-1", "the late answer is put in")
    settle(one)
    assert one.said("#panel h2") == ("dev-1" if is_planted else "prod-1")
