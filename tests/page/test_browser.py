"""The page in Chromium: what a person sees, asks and does, by the numbers of the stories."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.api.listener import listening
from tests.api.stage import PARTITION, elsewhere
from tests.cli.test_serve import serving
from tests.page.stage import PageService
from tests.page.visit import Visitor, until
from tidegate.access.roles import Role
from tidegate.access.tokens import TokenRevoked
from tidegate.journal.chain import JournalNote
from tidegate.machine.system_clock import SystemClock

pytestmark = pytest.mark.real


def test_story_1_one_screen_says_what_is_going_on(visit: Callable[..., Visitor]) -> None:
    one = visit()
    until(lambda: one.page.get_attribute("#map", "data-drawn") == "10", "ten cells are drawn")
    until(one.is_live, "it is live")
    assert "waiting 10" in one.said("#legend")
    assert f"{PARTITION}: stage waits for an approval" in one.said("#needs")


def test_story_2_the_map_says_why_by_keyboard_and_by_mouse(
    visit: Callable[..., Visitor], service: PageService
) -> None:
    client = service.client()
    why = elsewhere(lambda: client.get(f"/why/{PARTITION}?target=dev-2").json)
    one = visit()
    until(lambda: one.page.get_attribute("#map", "data-drawn") == "10", "ten cells are drawn")
    one.page.focus("#map")
    one.page.keyboard.press("ArrowRight")
    assert one.said("#map-said").startswith("dev-2, dev, Waiting")
    one.page.keyboard.press("Enter")
    one.page.wait_for_selector("#panel h2")
    for option in why["target"]["options"]:
        for each in option["verdicts"]:
            assert each["message"] in one.said("#panel")
    assert "target=dev-2" in one.page.url
    one.page.keyboard.press("Escape")
    until(lambda: one.page.inner_text("#panel") == "", "the panel is closed")
    one.page.click("#map", position={"x": 8, "y": 50})
    one.page.wait_for_selector("#panel h2")
    assert one.said("#panel h2") == "dev-1"
    one.page.reload()
    assert one.said("#panel h2") == "dev-1"


def test_story_3_everything_is_stopped_in_two_clicks_and_undone(
    visit: Callable[..., Visitor], service: PageService
) -> None:
    one = visit()
    until(one.is_live, "it is live")
    one.page.click("text=Hold everything…")
    one.page.wait_for_selector("#reach .sum")
    assert "Holds 10 waiting targets in 1 rollout" in one.said("#reach")
    one.page.fill("#reason", "incident 42")
    until(lambda: "'incident 42'" in one.said("#act-command"), "the command has the reason")
    one.page.click("#sheet button.primary")
    one.page.wait_for_selector("#done")
    one.page.click("#done >> text=Close")
    until(lambda: "incident 42" in one.said("#banner"), "the banner says so")
    until(lambda: "held 10" in one.said("#legend"), "the legend counts it")
    one.page.click("#undo >> text=Undo…")
    one.page.wait_for_selector("#reach")
    assert one.page.input_value("#reason") == "undo"
    one.page.click("#sheet button.primary")
    one.page.wait_for_selector("#done")
    until(lambda: one.said("#banner") == "", "the banner is gone")
    facts = [each.kind for each in service.archive.read("brakes")]
    assert facts == ["braked", "requested", "lifted", "requested"]


def test_story_3_a_worker_of_serve_obeys_what_is_held_on_its_page(
    browser: Browser, tmp_path: Path
) -> None:
    with serving(tmp_path) as served:
        served.until("decision")
        token = (tmp_path / "tidegate.db.admin-token").read_text(encoding="utf-8").strip()
        one = Visitor(browser, f"http://{served.address}", token)
        until(one.is_live, "it is live")
        one.page.click("text=Hold everything…")
        one.page.fill("#reason", "incident 43")
        one.page.click("#sheet button.primary")
        one.page.wait_for_selector("#done")
        assert served.until("decision", gate="hold")["reason"] == "Held"
        until(lambda: "incident 43" in one.said("#banner"), "the banner says so")
        assert one.wrong == []
        assert served.stop() == 0
        until(lambda: "reconnecting" in one.said("#live"), "it says that the service is gone", 6)
        one.context.close()


def test_story_5_a_dead_stream_is_said_within_three_seconds(
    browser: Browser, service: PageService
) -> None:
    token = service.client().token
    with listening(service) as url:
        one = Visitor(browser, url, token)
        one.open(f"/rollout/{PARTITION}")
        until(one.is_live, "it is live")
        # What is between the browser and the service is silent, and does not say that it ends.
        service.api._streams.feed.closed = False
        one.page.context.set_offline(True)
        service.api.close()
        took = until(lambda: "reconnecting" in one.said("#live"), "it says so", 6)
        assert took < 3.5
        assert one.page.get_attribute("a[data-act]", "aria-disabled") == "true"
        one.page.click("a[data-act]", force=True)
        assert not one.page.evaluate("document.querySelector('#sheet').open")
        service.api._streams.feed.closed = False
        one.page.context.set_offline(False)
        until(one.is_live, "it is live again")
        assert one.page.get_attribute("a[data-act]", "aria-disabled") is None
        one.context.close()


def test_story_5_what_others_do_is_shown_without_a_reload(
    visit: Callable[..., Visitor], service: PageService
) -> None:
    one, client = visit(), service.client()
    one.open(f"/rollout/{PARTITION}")
    until(one.is_live, "it is live")
    elsewhere(lambda: client.post(f"/pause/{PARTITION}", {"reason": "from elsewhere"}))
    until(lambda: "from elsewhere" in one.said("#history"), "the history has it")
    until(lambda: "Resume…" in one.said("#state"), "it can be resumed")


def test_a_hidden_tab_asks_nothing(visit: Callable[..., Visitor]) -> None:
    one = visit()
    until(one.is_live, "it is live")
    asked: list[str] = []
    hide = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s});"
    hide += "document.dispatchEvent(new Event('visibilitychange'))"
    one.page.evaluate(hide % "true")
    assert "as of" in one.said("#live")
    one.page.on("request", lambda request: asked.append(request.url))
    one.page.wait_for_timeout(3000)
    assert asked == []
    one.page.evaluate(hide % "false")
    until(one.is_live, "it is live again")


def test_story_6_an_approval_names_what_starts_and_moves_nothing_else(
    visit: Callable[..., Visitor], service: PageService
) -> None:
    one, client = visit(), service.client()
    one.open(f"/rollout/{PARTITION}")
    until(one.is_live, "it is live")
    one.page.click("#lanes a[data-act][href*='group=stage']:has-text('Approve')")
    one.page.wait_for_selector("#reach .sum")
    assert "lets in: stage-1" in one.said("#reach")
    elsewhere(lambda: client.post(f"/pause/{PARTITION}", {"reason": "meanwhile"}))
    one.page.fill("#reason", "looks good")
    # In one step: the sheet looks again some tenths of a second after the reason was written.
    one.page.evaluate("""() => {
        document.querySelector('#act [name=tag]').value = 'old';
        document.querySelector('#sheet button.primary').click();
    }""")
    one.page.wait_for_selector(".moved")
    one.page.click("#sheet button.primary")
    one.page.wait_for_selector("#done")
    assert "approved stage" in one.said("#done")


def test_story_8_an_alert_leads_to_why_on_a_phone_and_from_there_to_a_stop(
    visit: Callable[..., Visitor],
) -> None:
    one = visit(viewport={"width": 390, "height": 844}, has_touch=True)
    one.open(f"/?rollout={PARTITION}&target=prod-1")
    until(one.is_live, "it is live")
    assert one.said("#panel h2") == "prod-1"
    one.page.tap("#panel .links a >> nth=0")
    one.page.wait_for_selector("#lanes")
    until(one.is_live, "it is live")
    one.page.tap("text=Pause…")
    one.page.wait_for_selector("#reach .sum")
    one.page.fill("#reason", "from the train")
    # The button is in sight, however long the sheet is.
    box = one.page.locator("#sheet button.primary").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 844
    one.page.tap("#sheet button.primary")
    one.page.wait_for_selector("#done")
    assert one.fits(390)


def test_story_12_a_filter_is_kept_in_the_address(visit: Callable[..., Visitor]) -> None:
    one = visit()
    until(lambda: one.page.get_attribute("#map", "data-drawn") == "10", "ten cells are drawn")
    one.page.fill("#q", "stage")
    until(lambda: one.said("#matching").startswith("2 / 10"), "two match")
    one.page.click("#legend a[data-look=failed]")
    until(lambda: one.said("#matching").startswith("0 / 10"), "none matches")
    assert "q=stage" in one.page.url
    assert "look=failed" in one.page.url
    one.page.reload()
    assert one.said("#matching").startswith("0 / 10")


def test_story_14_a_viewer_sees_buttons_and_the_role_they_need(
    visit: Callable[..., Visitor],
) -> None:
    one = visit(Role.VIEWER)
    one.open(f"/rollout/{PARTITION}")
    until(one.is_live, "it is live")
    assert one.page.is_disabled("button:has-text('Pause…')")
    assert "needs the role operator" in one.said("#state")
    assert one.page.query_selector("a[data-act]") is None


def test_an_expired_login_is_said_and_asked_again_no_more(
    visit: Callable[..., Visitor],
) -> None:
    one = visit()
    until(one.is_live, "it is live")
    one.context.clear_cookies()
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    one.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: "log in again" in one.said("#live"), "it says so")
    del asked[:]
    one.page.wait_for_timeout(3000)
    assert [each for each in asked if "/changes" in each] == []


def test_a_login_that_ends_is_said_although_the_stream_goes_on(
    visit: Callable[..., Visitor], service: PageService
) -> None:
    one, client = visit(), service.client()
    until(one.is_live, "it is live")
    name = one.said(".who bdi").removeprefix("token:")
    revoked = JournalNote(SystemClock().now(), "test", TokenRevoked(name=name, reason="lost"))
    service.archive.append("access", [revoked])
    elsewhere(lambda: client.post(f"/pause/{PARTITION}", {"reason": "from elsewhere"}))
    until(lambda: "log in again" in one.said("#live"), "it says so")
    assert one.page.get_attribute("a[data-act]", "aria-disabled") == "true"


def test_a_page_that_cannot_be_read_again_is_not_live(visit: Callable[..., Visitor]) -> None:
    one = visit()
    until(one.is_live, "it is live")
    one.page.route("**/api/v1/cells*", lambda route: route.fulfill(status=503, body=""))
    one.page.evaluate("document.querySelector('#sheet').dispatchEvent(new Event('close'))")
    until(lambda: "reconnecting" in one.said("#live"), "it says so")
    one.page.unroute("**/api/v1/cells*")
    until(one.is_live, "it is live again")


def test_without_javascript_it_reads_and_writes(
    visit: Callable[..., Visitor], service: PageService
) -> None:
    one = visit(java_script_enabled=False)
    assert "as of" in one.said("#live")
    one.page.wait_for_selector("noscript img", state="visible")
    one.open(f"/rollout/{PARTITION}")
    one.page.click("text=Pause…")
    one.page.fill("#reason", "no script")
    one.page.click("button.primary")
    assert f"paused {PARTITION}" in one.said("#done")
    assert service.archive.head(PARTITION).seq > 0


def test_names_like_scripts_do_nothing(visit: Callable[..., Visitor]) -> None:
    one = visit()
    one.open("/?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    until(one.is_live, "it is live")
    assert one.page.query_selector("img[onerror]") is None
