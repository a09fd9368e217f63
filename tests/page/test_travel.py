"""Time travel in Chromium: the slider, steps and the film, by mouse and by keyboard."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser

from tests.api.listener import listening
from tests.fixtures.journals import reading
from tests.page.stage import PageService
from tests.page.visit import Visitor, until, violations
from tidegate.wiring import open_store

pytestmark = pytest.mark.real
DEMO = "simulated/demo"


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which a rollout with brakes went out, months ago."""
    path = tmp_path_factory.mktemp("travel") / "journal.db"
    archive = open_store(str(path))
    reading.take_in(archive, reading.export_of("rollout-braked"))
    archive.close()
    return path


@pytest.fixture(scope="module")
def service(journal: Path) -> Iterator[PageService]:
    """A page over it."""
    made = PageService(journal)
    yield made
    made.close()


@pytest.fixture(scope="module")
def address(service: PageService) -> Iterator[str]:
    """Where it listens."""
    with listening(service) as url:
        yield url


@pytest.fixture
def visit(browser: Browser, service: PageService, address: str) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors; none of them may see an error."""
    every: list[Visitor] = []

    def made(**context: object) -> Visitor:
        every.append(Visitor(browser, address, service.client().token, **context))
        return every[-1]

    yield made
    for each in every:
        each.context.close()
        assert each.wrong == []


def second(one: Visitor) -> int:
    """The moment that is shown."""
    return int(one.page.get_attribute("#past-said time", "data-second") or 0)


def test_story_15_the_slider_shows_the_fleet_as_it_was(visit: Callable[..., Visitor]) -> None:
    """An auditor moves through time: counts and map follow, and nothing can be done there."""
    one = visit()
    one.page.click("text=Look back…")
    one.page.wait_for_selector("#slider")
    assert one.page.get_attribute("#live", "data-state") == "past"
    assert one.page.query_selector("[data-act]") is None
    end = second(one)
    one.page.focus("#slider")
    one.page.keyboard.press("Home")
    until(lambda: second(one) < end, "the first moment is shown")
    until(lambda: "at=" in one.page.url, "the address keeps the moment")
    first = one.said("#legend")
    one.page.keyboard.press("End")
    until(lambda: one.said("#legend") != first, "the legend follows")
    shown = second(one)
    one.page.reload()
    assert second(one) == shown
    one.page.click("#back-to-now")
    until(one.is_live, "it is live again")


def test_a_film_plays_from_decision_to_decision_and_stops(visit: Callable[..., Visitor]) -> None:
    """From the rollout: play, pause, speed, and single steps by key."""
    one = visit()
    one.open(f"/rollout/{DEMO}")
    one.page.click("text=Play as a film…")
    one.page.wait_for_selector("#play")
    begun = second(one)
    assert "of 3 done" in one.said("#state") or "0 / " in one.said("#state")
    one.page.select_option("#speed", "10")
    one.page.click("#play")
    assert one.page.get_attribute("#play", "aria-pressed") == "true"
    until(lambda: second(one) > begun, "the film moves")
    until(lambda: one.page.query_selector("#past-steps a[rel=next]") is None, "the film ends", 60)
    until(lambda: one.page.get_attribute("#play", "aria-pressed") == "false", "it is paused")
    assert one.page.get_attribute("#map", "data-drawn") == "4"
    end = second(one)
    one.page.keyboard.press(",")
    until(lambda: second(one) < end, "one change back")
    one.page.keyboard.press(".")
    until(lambda: second(one) == end, "one change ahead")


def test_less_motion_is_one_change_a_press(visit: Callable[..., Visitor]) -> None:
    """A reader who asked for less motion gets no film, and every change of it."""
    one = visit(reduced_motion="reduce")
    one.open(f"/rollout/{DEMO}?at=1/{DEMO}")
    one.page.wait_for_selector("#play")
    begun = one.page.url
    one.page.click("#play")
    until(lambda: one.page.url != begun, "one change ahead")
    assert one.page.get_attribute("#play", "aria-pressed") == "false"


def test_the_moment_of_the_slider_goes_along_to_other_screens(
    visit: Callable[..., Visitor],
) -> None:
    """From the fleet to the brakes, by the navigation, after the slider was moved."""
    one = visit()
    one.page.click("text=Look back…")
    one.page.wait_for_selector("#slider")
    end = second(one)
    one.page.focus("#slider")
    one.page.keyboard.press("Home")
    until(lambda: second(one) < end, "the first moment is shown")
    shown = second(one)
    one.page.click("#screens a:text('Brakes')")
    one.page.wait_for_selector("#brake-lists")
    assert second(one) == shown


def test_a_moment_by_its_age_is_the_same_for_all_of_a_screen(
    visit: Callable[..., Visitor],
) -> None:
    """What is read next, as the map, would be of a later moment; the address names this one."""
    one = visit()
    until(lambda: one.page.get_attribute("#map", "data-drawn"), "the map of now is drawn")
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    one.open("/?at=0s")
    until(lambda: one.page.get_attribute("#map", "data-drawn"), "the map is drawn")
    shown = one.page.get_attribute("#past-said time", "datetime") or ""
    kept = parse_qs(urlsplit(one.page.url).query)["at"]
    assert [each[:19] for each in kept] == [shown[:19]]
    cells = [parse_qs(urlsplit(each).query)["at"] for each in asked if "/api/v1/cells" in each]
    assert cells == [kept]


def test_why_of_then_is_asked_by_a_click(visit: Callable[..., Visitor]) -> None:
    """The panel says what the command says with the same --at."""
    one = visit()
    one.open(f"/rollout/{DEMO}?at=20/{DEMO}")
    one.page.click("#targets a[data-why]")
    one.page.wait_for_selector("#panel h2")
    assert f"--at 20/{DEMO}" in one.said("#why-command")
    assert one.page.query_selector("#panel [data-act]") is None


def test_the_past_is_read_without_javascript(visit: Callable[..., Visitor]) -> None:
    one = visit(java_script_enabled=False)
    one.open(f"/rollout/{DEMO}?at=1/{DEMO}")
    before = second(one)
    one.page.click("text=Next change")
    one.page.wait_for_selector("#past-said")
    assert second(one) >= before
    assert one.page.is_visible("input[type=datetime-local]")
    assert not one.page.is_visible("#slider")


def test_story_4_what_changed_here_by_whom_and_why(visit: Callable[..., Visitor]) -> None:
    """From a target that waits to the people who set brakes on it."""
    one = visit()
    one.open(f"/rollout/{DEMO}")
    one.page.click("#targets a[data-why]")
    one.page.wait_for_selector("#panel h2")
    one.page.click("#panel >> text=What changed here")
    one.page.wait_for_selector("#changes")
    one.open("/changes?name=a&since=1000d")
    assert "user:ada hold inc-42 set: incident 42" in one.said("#changes")
    one.page.click("#changes a[title='as it was then']")
    one.page.wait_for_selector("#past")


def test_story_13_another_soak_is_tried_before_it_is_written(visit: Callable[..., Visitor]) -> None:
    """From the end of a rollout to its dates, and to what they would be."""
    one = visit()
    one.open(f"/rollout/{DEMO}")
    one.page.click("#state >> text=end")
    one.page.wait_for_selector("#what-if")
    one.page.click("#what-if summary")
    one.page.fill("[name=minSuccessTime]", "3h")
    one.page.click("#what-if button.primary")
    one.page.wait_for_selector("#tried")
    assert "with other dates" in one.said("#tried")
    assert "later" in one.said("main")
    assert "--set minSuccessTime=3h" in one.said("#when-command")
    one.page.click("text=As things are")
    one.page.wait_for_selector("#what-if:not([open])")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_in_the_past(
    visit: Callable[..., Visitor], scheme: str, width: int
) -> None:
    one = visit(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    tried = f"/when/{DEMO}?minSuccessTime=3h"
    for path in (f"/?at=20/{DEMO}", f"/rollout/{DEMO}?at=20/{DEMO}", "/changes?since=1000d", tried):
        assert violations(one.open(path)) == [], path
