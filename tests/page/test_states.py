"""The page in Chromium in bad states: servers that flap or are slow, names that attack, no targets.

And on every screen: no violation of accessibility in light, dark and on a phone.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route

from tests.api.listener import listening
from tests.api.stage import PARTITION, elsewhere
from tests.fixtures.journals import reading
from tests.page.stage import PageService, journal_of
from tests.page.test_html import HOSTILE
from tests.page.visit import Visitor, until, violations
from tidegate.access.roles import Role

pytestmark = pytest.mark.real
TARGET = f"{PARTITION}?target=prod-1"
# Every screen, and the button that opens a sheet on it; none: nothing is opened.
SCREENS = (
    ("/", "text=Hold everything…"),
    (f"/?rollout={PARTITION}&target=prod-1", ""),
    ("/?wall", ""),
    ("/?look=waiting", ""),
    (f"/why/{TARGET}", ""),
    (f"/rollout/{PARTITION}", "a[data-act]"),
    (f"/when/{PARTITION}", ""),
    ("/upgrades", ""),
    ("/integrations", ""),
    ("/promotions", ""),
    ("/policies", ""),
    ("/brakes", "text=Freeze…"),
    ("/brakes", "text=Pin targets…"),
    ("/tokens", "text=Create a token…"),
    ("/journal", ""),
    (f"/entry/1/{PARTITION}", ""),
    ("/act/block", ""),
    ("/rollout/there/is/none", ""),
)
LOOKS = ((1440, "light"), (1440, "dark"), (820, "light"), (390, "dark"), (390, "light"))


@pytest.mark.parametrize("width, scheme", LOOKS)
def test_no_screen_has_a_violation_or_is_wider_than_the_display(
    visit: Callable[..., Visitor], width: int, scheme: str
) -> None:
    """All of them, with their sheets, and the login."""
    one = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    for path, button in SCREENS:
        one.open(path)
        if one.page.query_selector("#live"):
            until(one.is_live, "it is live")
        if button:
            one.page.click(button)
            one.page.wait_for_selector("#reach")
        assert one.fits(width), (path, one.page.evaluate("document.documentElement.scrollWidth"))
        assert violations(one.page) == [], (path, button, width, scheme)
    one.context.clear_cookies()
    one.open("/")
    one.page.wait_for_selector("#token")
    assert violations(one.page) == []


def test_a_flapping_server_ends_live_and_is_not_stormed(
    visit: Callable[..., Visitor], service: PageService
) -> None:
    """Five times away: buttons are off meanwhile, and few streams are asked for."""
    one = visit()
    until(one.is_live, "it is live")
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    for _ in range(5):
        one.context.set_offline(True)
        service.api.close()
        until(lambda: not one.is_live(), "it says that it is not")
        assert one.page.get_attribute("a[data-act]", "aria-disabled") == "true"
        service.api._streams.feed.closed = False
        one.context.set_offline(False)
        until(one.is_live, "it is live again")
    assert one.page.get_attribute("a[data-act]", "aria-disabled") is None
    assert len([each for each in asked if "/changes" in each]) < 60


def test_a_slow_server_is_asked_one_thing_at_a_time(
    visit: Callable[..., Visitor], service: PageService
) -> None:
    """A page that takes long is not asked for again before it came, and shows it in the end."""
    one, client = visit(), service.client()
    one.open(f"/rollout/{PARTITION}")
    until(one.is_live, "it is live")
    under_way, most = [0], [0]

    def slowly(route: Route) -> None:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        one.page.wait_for_timeout(1500)
        under_way[0] -= 1
        route.continue_()

    one.page.route(f"**/rollout/{PARTITION}", slowly)
    for number in range(4):
        elsewhere(lambda: client.post(f"/pause/{PARTITION}", {"reason": "slow one"}))
        elsewhere(lambda: client.post(f"/resume/{PARTITION}", {"reason": "r"}, if_match="*"))
        one.page.wait_for_timeout(300 + number)
    until(lambda: "slow one" in one.said("#history"), "the history has it")
    assert most[0] == 1
    one.page.unroute_all(behavior="wait")


def test_a_viewer_finds_no_button_that_works_on_any_screen(visit: Callable[..., Visitor]) -> None:
    one = visit(Role.VIEWER)
    for path, _ in SCREENS:
        if path.startswith("/act/"):
            continue
        one.open(path)
        assert one.page.query_selector("a[data-act]") is None, path


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[PageService]:
    """Names of 253 characters, from right to left, and like scripts."""
    scenario = {
        "name": "names",
        "start": "2026-01-05T09:00:00Z",
        "revision": "<img src=x onerror=alert(1)>",
        "lastGood": "v1",
        "groups": [{"name": "</script><b>g", "clusters": list(HOSTILE)}],
        "strategy": {"type": "Progressive"},
    }
    service = PageService(journal_of(tmp_path, scenario))
    yield service
    service.close()


def test_names_that_attack_are_text_on_every_screen(hostile: PageService, browser: Browser) -> None:
    """No dialog, no error, no element of theirs, nothing wider than a phone."""
    token = hostile.client().token
    partition = next(each for each in hostile.archive.heads() if "/" in each)
    with listening(hostile) as url:
        one = Visitor(browser, url, token, viewport={"width": 390, "height": 844})
        dialogs: list[str] = []

        def refuse(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        one.page.on("dialog", refuse)
        paths = ["/", f"/rollout/{partition}", f"/when/{partition}", "/journal", "/brakes"]
        paths += [f"/why/{partition}?target={quote(name, safe='')}" for name in HOSTILE]
        paths += [
            f"/act/pin?scope=targets&name={quote(name)}&targets={quote(name)}" for name in HOSTILE
        ]
        for path in paths:
            one.open(path)
            until(one.is_live, f"{path} is live")
            assert one.fits(390), path
            found = one.page.query_selector("main img, main b:not(#legend b), script:not([src])")
            assert found is None, path
        one.open("/")
        until(lambda: one.page.get_attribute("#map", "data-drawn") == str(len(HOSTILE)), "drawn")
        one.page.focus("#map")
        for _ in HOSTILE:
            one.page.keyboard.press("ArrowRight")
            assert one.said("#map-said")
        one.page.keyboard.press("Enter")
        one.page.wait_for_selector("#panel h2")
        assert (dialogs, one.wrong) == ([], [])
        one.context.close()


def test_a_service_without_targets_says_so(tmp_path: Path, browser: Browser) -> None:
    """Every screen, without an error or a violation."""
    service = PageService(tmp_path / "empty.db")
    token = service.client().token
    with listening(service) as url:
        one = Visitor(browser, url, token)
        for path in ("/", "/upgrades", "/promotions", "/brakes", "/journal", "/tokens"):
            one.open(path)
            until(one.is_live, f"{path} is live")
            assert violations(one.page) == [], path
        one.open("/")
        assert "Nothing goes out here yet." in one.said("main")
        one.page.click("text=Hold everything…")
        one.page.wait_for_selector("#reach")
        assert "covers no target of any rollout known here" in one.said("#reach")
        assert one.wrong == []
        one.context.close()
    service.close()


def test_fifty_thousand_targets_are_drawn_filtered_and_asked(
    tmp_path: Path, browser: Browser
) -> None:
    """All cells are on the canvas, a filter dims, a click says why."""
    groups = [{"name": f"g{number:02}", "count": 1000} for number in range(50)]
    scenario = {"name": "crowd", "revision": "v2", "lastGood": "v1", "groups": groups}
    whole = {**scenario, "strategy": {"type": "ProgressivePerGroup"}}
    service = PageService(journal_of(tmp_path, whole))
    token = service.client().token
    with listening(service) as url:
        one = Visitor(browser, url, token)
        until(lambda: one.page.get_attribute("#map", "data-drawn") == "50000", "all are drawn", 90)
        one.page.fill("#q", "g07")
        until(lambda: one.said("#matching").startswith("1000 / 50000"), "a thousand match", 90)
        one.page.click("#map", position={"x": 5, "y": 46})
        one.page.wait_for_selector("#panel h2", timeout=60_000)
        assert one.wrong == []
        one.context.close()
    service.close()


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[PageService]:
    """A journal in which something failed."""
    service = PageService(tmp_path / "kept.db")
    reading.take_in(service.archive, reading.export_of("rollout-failing"))
    yield service
    service.close()


def test_a_wall_turns_red_when_something_fails(
    failing: PageService, visit: Callable[..., Visitor], browser: Browser
) -> None:
    """And is calm where nothing did; there are no controls on it."""
    calm = visit(color_scheme="light")
    calm.open("/?wall")
    until(calm.is_live, "it is live")
    ground = calm.page.evaluate("getComputedStyle(document.body).backgroundColor")
    token = failing.client().token
    with listening(failing) as url:
        one = Visitor(browser, url, token, color_scheme="light")
        one.open("/?wall")
        until(one.is_live, "it is live")
        red = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert one.page.evaluate("document.body.classList.contains('alarm')")
        for gone in ("#filter", "#groups", "#top nav"):
            assert not one.page.is_visible(gone), gone
        assert "failed · Fleet" in one.page.title()
        one.context.close()
    assert red != ground


def test_print_has_what_is_read_and_no_buttons(visit: Callable[..., Visitor]) -> None:
    one = visit()
    one.open(f"/rollout/{PARTITION}")
    one.page.emulate_media(media="print")
    for gone in ("#top nav", ".acts", ".who"):
        assert not one.page.is_visible(gone), gone
    for kept in ("h1", "#lanes", "#targets table", "#history"):
        assert one.page.is_visible(kept), kept
    assert len(one.page.pdf()) > 1_000


def _focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement?.textContent?.trim() ?? ''"))


def _tab_to(page: Page, text: str) -> None:
    """Tab until a control has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if _focused(page) == text:
            return
    raise AssertionError(f"no way to {text} by Tab")


def test_a_hold_is_set_and_undone_by_keyboard_alone(visit: Callable[..., Visitor]) -> None:
    """The first Tab skips to the content; a sheet takes the focus, Escape gives it back."""
    one = visit()
    until(one.is_live, "it is live")
    page = one.page
    page.keyboard.press("Tab")
    assert _focused(page) == "Skip to the content"
    _tab_to(page, "Hold everything…")
    page.keyboard.press("Enter")
    page.wait_for_selector("#reach .sum")
    page.keyboard.press("Escape")
    until(lambda: _focused(page) == "Hold everything…", "the focus is back")
    page.keyboard.press("Enter")
    page.wait_for_selector("#reach .sum")
    page.keyboard.type("incident 44")
    _tab_to(page, "Confirm")
    page.keyboard.press("Enter")
    page.wait_for_selector("#done")
    _tab_to(page, "Close")
    page.keyboard.press("Enter")
    until(lambda: "incident 44" in one.said("#banner"), "the banner says so")
    _tab_to(page, "Undo…")
    page.keyboard.press("Enter")
    page.wait_for_selector("#reach")
    _tab_to(page, "Confirm")
    page.keyboard.press("Enter")
    page.wait_for_selector("#done")
    until(lambda: one.said("#banner") == "", "the banner is gone")


def test_a_token_is_not_kept_in_sight_after_its_sheet(visit: Callable[..., Visitor]) -> None:
    """The undo in the header names the token, and does not show it."""
    one = visit()
    one.open("/tokens")
    until(one.is_live, "it is live")
    one.page.click("text=Create a token…")
    one.page.fill("[name=name]", "ci")
    one.page.fill("#reason", "deploys")
    one.page.click("#sheet button.primary")
    one.page.wait_for_selector("#token-made")
    token = one.said("#token-made")
    one.page.click("#done >> text=Close")
    until(lambda: "ci" in one.said("#token-list"), "it is listed")
    assert token not in one.page.content()
    one.page.click("#undo >> text=Undo…")
    one.page.wait_for_selector("#reach .sum")
    one.page.click("#sheet button.primary")
    until(lambda: "token ci is revoked" in one.said("#done"), "it is revoked")


def test_a_slow_start_is_no_lie(visit: Callable[..., Visitor]) -> None:
    """While the stream is not there yet, the page says as of when it is."""
    one = visit()
    until(one.is_live, "the first page has its stream, so that the next one's is held")
    held: list[Route] = []
    one.page.route("**/api/v1/changes", lambda route: held.append(route), times=1)
    one.open("/brakes")
    until(lambda: one.said("#live") and held, "the stream is asked for")
    assert "as of" in one.said("#live")
    assert not one.is_live()
    for each in held:
        each.continue_()
    until(one.is_live, "it is live")
