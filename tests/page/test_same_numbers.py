"""Screens agree: the same numbers, the same order, and no alarm for what is done."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.journals import reading
from tests.page.stage import PageService, journal_of
from tidegate.app.documents import TargetDates
from tidegate.model.time import parse_instant
from tidegate.page.rollout_view import RolloutEnd, rollout_end

ROLLOUT = "simulated/demo"
MANUAL = {
    "name": "manual",
    "revision": "v2",
    "lastGood": "v1",
    "groups": [
        {"name": "dev", "count": 1},
        {"name": "stage", "count": 1},
        {"name": "prod", "count": 1},
    ],
    "strategy": {"type": "ManualPerGroup"},
    "fleet": {"applyTime": "1h"},
}


def _service(folder: Path, name: str) -> PageService:
    made = PageService(folder / "kept.db")
    reading.take_in(made.archive, reading.export_of(name))
    return made


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[PageService]:
    """A rollout that goes out, soaks and fails."""
    made = _service(tmp_path, "rollout-failing")
    yield made
    made.close()


def _gauges(page: str) -> dict[str, int]:
    found = re.findall(r'data-gauge="(\w+)"[^>]*><dt>[^<]*</dt><dd>(\d+)', page)
    return {name: int(number) for name, number in found}


def test_a_rollout_counts_its_targets_as_the_fleet_does(failing: PageService) -> None:
    """At every entry of its journal: what soaks is not moving on one of them alone."""
    reader, api = failing.reader().log_in(), failing.client()
    seen: Counter[str] = Counter()
    for seq in range(1, failing.archive.head(ROLLOUT).seq + 1):
        at = f"at={seq}/{ROLLOUT}"
        cells = api.get(f"/cells/{ROLLOUT}?{at}").json
        looks = Counter(cells["kinds"][each]["look"] for each in cells["cells"])
        gauges = _gauges(reader.get(f"/rollout/{ROLLOUT}?{at}").text)
        assert gauges == {name: looks[name] for name in gauges}
        assert gauges.keys() | {"done"} >= looks.keys()
        seen += looks
    assert {"soaking", "moving", "failed"} <= seen.keys()


def test_a_target_that_is_done_has_no_cross(failing: PageService) -> None:
    """`Done` stops the gate of progress, for nothing more is to be done."""
    reader = failing.reader().log_in()
    done = reader.get(f"/why/{ROLLOUT}?target=prod-1").text
    assert "done: it has the change" in done
    assert ("✗" not in done, "g-stop" not in done, "g-settled" in done) == (True, True, True)
    failed = reader.get(f"/why/{ROLLOUT}?target=prod-2").text
    assert ("✗" in failed, "g-stop" in failed) == (True, True)


def test_what_a_filter_finds_is_named(failing: PageService) -> None:
    """A phone has no pointer that hovers over the map; without a filter nothing is listed."""
    reader = failing.reader().log_in()

    def listed(path: str) -> list[str]:
        section = re.search(r'id="matches".*?</section>', reader.get(path).text, re.DOTALL)
        assert section is not None
        return re.findall(r"data-why[^>]*><bdi>([^<]*)</bdi>", section[0])

    assert listed("/") == []
    assert listed("/?look=failed") == ["prod-2", "prod-5"] * 2
    assert listed("/?q=prod-7+demo") == ["prod-7"]
    assert len(listed("/?q=simulated")) == 12
    assert "6 more on the map" in reader.get("/?q=simulated").text


NOW = parse_instant("2026-01-05T10:00:00Z")
SOON, LATE = "2026-01-05T11:00:00Z", "2026-01-06T11:00:00Z"


def _dates(done: str = "", held: str = "", not_before: str = "") -> TargetDates:
    return TargetDates("t", "g", None, done or None, (), held or None, not_before or None)


@pytest.mark.parametrize(
    "items, end",
    [
        ([], RolloutEnd()),
        ([_dates(SOON), _dates(LATE)], RolloutEnd(LATE)),
        # What was done before is no date to come.
        ([_dates("2026-01-05T09:00:00Z")], RolloutEnd()),
        ([_dates(held="failed"), _dates(held="")], RolloutEnd("", undated=2, reason="failed")),
        # What failed does not hide when the others are done.
        ([_dates(SOON), _dates(held="failed")], RolloutEnd(SOON, undated=1, reason="failed")),
        # The rules were run ahead for a while only: that moment is not the end.
        ([_dates(SOON), _dates(not_before=LATE)], RolloutEnd(LATE, at_least=True)),
    ],
)
def test_the_end_of_a_rollout_is_that_of_its_targets(
    items: list[TargetDates], end: RolloutEnd
) -> None:
    """A date that is not the end says so."""
    assert rollout_end(items, NOW) == end


def test_approvals_are_asked_for_in_the_order_of_groups(tmp_path: Path) -> None:
    """Not by their names: stage goes before prod."""
    service = PageService(journal_of(tmp_path, MANUAL))
    home = service.reader().log_in().get("/").text
    needs = re.search(r'id="needs".*?</section>', home, re.DOTALL)
    assert needs is not None
    said = re.findall(r"(\w+) waits for an approval", re.sub(r"<[^>]*>", "", needs[0]))
    assert said == ["dev", "stage", "prod"]
    service.close()
