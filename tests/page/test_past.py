"""The past on the page, without a browser: what it says, its links, and that nothing acts there."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.api.stage import PARTITION
from tests.fixtures.journals import reading
from tests.page.stage import PageService, Reader
from tests.page.test_html import text_of
from tidegate.access.roles import Role

AT = f"at=2/{PARTITION}"
SCREENS = (
    f"/?{AT}",
    f"/?q=prod&{AT}",
    f"/rollout/{PARTITION}?{AT}",
    f"/why/{PARTITION}?target=prod-1&{AT}",
    f"/?rollout={PARTITION}&target=prod-1&{AT}",
    f"/when/{PARTITION}?{AT}",
    f"/upgrades?{AT}",
    f"/integrations?{AT}",
    f"/promotions?{AT}",
    f"/policies?{AT}",
    f"/brakes?{AT}",
    f"/changes?{AT}",
    f"/journal?rollout={PARTITION}&{AT}",
    f"/entry/1/{PARTITION}?{AT}",
)


@pytest.fixture
def reader(service: PageService) -> Reader:
    """A person who is logged in."""
    return service.reader().log_in()


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_of_the_past_says_so_and_has_no_button_that_acts(
    screen: str, reader: Reader
) -> None:
    found = reader.get(screen)
    assert found.status == 200, found.text
    assert "This is the past:" in text_of(found.text)
    assert "data-act" not in found.text
    assert "Back to now" in text_of(found.text)
    back = re.search(r'id="back-to-now" href="([^"]*)"', found.text)
    assert back
    assert "at=" not in back[1]
    now = reader.get(unescape(back[1]))
    assert now.status == 200
    assert "This is the past" not in now.text


@pytest.mark.parametrize("screen", SCREENS)
def test_every_link_of_a_screen_stays_at_the_moment(screen: str, reader: Reader) -> None:
    """From each screen to each other; the product's name, tokens and the way back lead to now."""
    found = reader.get(screen).text
    links = {unescape(each) for each in re.findall(r'<a[^>]* href="(/[^"]*)"', found)}
    left = {each for each in links if "at=" not in each}
    back = re.search(r'id="back-to-now" href="([^"]*)"', found)
    assert back
    assert left <= {"/", "/tokens", unescape(back[1])}
    fields = re.findall(r'<form[^>]*method="get"[^>]*>.*?</form>', found, re.DOTALL)
    assert all('name="at"' in each for each in fields)


def test_the_journal_and_brakes_of_a_moment_end_there(service: PageService, reader: Reader) -> None:
    at = service.archive.head(PARTITION).seq
    hold = {"reason": "incident 42", "scope": {"everything": True}}
    assert service.client().post("/hold/inc-42", hold).status == 200
    for screen in ("/brakes", "/journal", "/changes"):
        assert "incident 42" in reader.get(screen).text
        assert "incident 42" not in reader.get(f"{screen}?at={at}/{PARTITION}").text
    first = unescape(reader.get(f"/journal?rollout={PARTITION}&at=1/{PARTITION}").text)
    assert f"/entry/1/{PARTITION}" in first
    assert f"/entry/2/{PARTITION}" not in first


def test_links_stay_at_the_moment(reader: Reader) -> None:
    """From the fleet to a rollout, to a target, and to the map."""
    found = reader.get(f"/?{AT}").text
    links = [unescape(each) for each in re.findall(r'(?:href|src)="(/[^"]*)"', found)]
    mine = [each for each in links if each.startswith(("/rollout/", "/why/", "/map.svg", "/?"))]
    kept = [parse_qs(urlsplit(each).query).get("at") for each in mine if "at=" in each]
    assert len(kept) >= 5
    assert all(each == [f"2/{PARTITION}"] or "T" in each[0] for each in kept if each)
    left = {urlsplit(each).path for each in mine if "at=" not in each}
    assert left <= {"/"}  # the way back to now, and the name of the product


def test_steps_lead_from_the_first_change_to_the_last_and_back(reader: Reader) -> None:
    """Without JavaScript, by links."""
    found, seen = f"/rollout/{PARTITION}?at=1/{PARTITION}", list[str]()
    while found:
        seen.append(found)
        page = reader.get(found).text
        ahead = re.search(r'rel="next" href="([^"]*)"', page)
        found = unescape(ahead[1]) if ahead else ""
        assert len(seen) < 50
    assert len(seen) > 1
    back = list[str]()
    found = seen[-1]
    while found:
        back.append(found)
        page = reader.get(found).text
        before = re.search(r'rel="prev" href="([^"]*)"', page)
        found = unescape(before[1]) if before else ""
        assert len(back) < 50
    assert len(back) >= len(seen) - 1


def test_a_moment_is_taken_as_browsers_send_it(reader: Reader) -> None:
    assert "2001-02-03T04:05:00Z" in reader.get("/?at=2001-02-03T04:05").text
    assert "2001-02-03T04:05:06Z" in reader.get("/?at=2001-02-03T04:05:06").text
    assert reader.get("/?at=2999-01-01T00:00").status == 422
    assert reader.get("/?at=tomorrow").status == 422


def test_brakes_and_verdicts_are_those_of_then(service: PageService, reader: Reader) -> None:
    at = service.archive.head(PARTITION).seq
    hold = {"reason": "incident 42", "scope": {"everything": True}}
    assert service.client().post("/hold/inc-42", hold).status == 200
    now, then = reader.get("/").text, reader.get(f"/?at={at}/{PARTITION}").text
    assert "incident 42" in now
    assert "incident 42" not in then
    assert "held 10" in text_of(now)
    assert "held 0" in text_of(then)
    svg = reader.get(f"/map.svg?at={at}/{PARTITION}").text
    assert svg != reader.get("/map.svg").text


def test_a_caller_sees_the_past_as_far_as_now(service: PageService) -> None:
    limited = service.reader(Role.VIEWER, groups=("dev",)).log_in()
    found = limited.get(f"/?{AT}")
    assert found.status == 200
    assert "dev" in found.text
    assert "prod-1" not in found.text
    stranger = service.reader(Role.VIEWER, rollouts=("simulated/other",)).log_in()
    assert stranger.get(f"/?{AT}").status == 404


def test_changes_say_who_and_why_and_lead_to_the_moment(
    service: PageService, reader: Reader
) -> None:
    body = {"groups": ["stage"], "reason": "tested <b>well</b>"}
    assert service.client().post(f"/approve/{PARTITION}", body, if_match="*").status == 200
    found = reader.get("/changes?name=stage-1")
    assert found.status == 200, found.text
    assert "approve stage" in text_of(found.text)
    assert "tested <b>well</b>" not in found.text
    assert "tested &lt;b&gt;well" in found.text
    links = re.findall(r'href="(/rollout/[^"]*at=[^"]*)"', found.text)
    assert reader.get(unescape(links[0])).status == 200
    assert "no rollout or target" in text_of(reader.get("/changes?name=nosuch").text)
    assert "tidegate changes stage-1 --since 24h" in text_of(found.text)


def test_a_target_a_group_and_a_rollout_link_to_what_changed_there(reader: Reader) -> None:
    why = reader.get(f"/why/{PARTITION}?target=prod-1").text
    assert 'href="/changes?name=prod-1"' in why
    rollout = unescape(reader.get(f"/rollout/{PARTITION}").text)
    assert "/changes?name=simulated/rollout&group=stage" in rollout
    assert "/changes?name=simulated/rollout" in rollout
    assert 'href="/changes"' in reader.get("/").text


def test_another_soak_is_tried_beside_the_dates_there_are(reader: Reader) -> None:
    """The same numbers as the command; what cannot be read is said beside the dates of now."""
    now = reader.get(f"/when/{PARTITION}").text
    assert 'name="minSuccessTime"' in now
    assert "<details" in now
    tried = reader.get(f"/when/{PARTITION}?minSuccessTime=2h&applyTime=10m")
    assert tried.status == 200
    assert "with other dates" in text_of(tried.text)
    assert "--set minSuccessTime=2h --apply-time 10m" in text_of(tried.text)
    assert "later" in text_of(tried.text)
    wrong = reader.get(f"/when/{PARTITION}?minSuccessTime=%3Cb%3E")
    assert wrong.status == 422
    assert "&lt;b&gt;" in wrong.text
    assert "is not a duration" in text_of(wrong.text)
    assert "dev-1" in wrong.text
    times = "freezeFrom=2099-01-01T00:00&freezeTo=2099-01-02T00:00"
    held = reader.get(f"/when/{PARTITION}?hold=1&{times}")
    assert held.status == 200, held.text
    assert "2099-01-01T00:00:00Z/2099-01-02T00:00:00Z --hold" in text_of(held.text)


def test_labels_of_clusters_are_tried_for_upgrades(tmp_path: Path) -> None:
    path = tmp_path / "upgrades.db"
    with reading.opened(str(path)) as archive:
        reading.take_in(archive, reading.export_of("upgrades-strict"))
        name = next(each for each in archive.partitions() if each.startswith("upgrades/"))
    service = PageService(path)
    reader = service.reader().log_in()
    assert 'name="set"' in reader.get(f"/when/{name}").text
    wrong = reader.get(f"/when/{name}?set=nosuch/soak-days=2")
    assert wrong.status == 422
    clusters = service.client().get(f"/rollouts/{name}").json["targets"]
    found = reader.get(f"/when/{name}?set={clusters[0]['name']}/soak-days=99")
    assert found.status == 200, found.text
    assert "tidegate upgrades what-if --set" in text_of(found.text)
    service.close()
