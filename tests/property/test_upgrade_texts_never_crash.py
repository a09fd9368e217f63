"""Law: whatever people write in labels is read or refused in words; nothing else happens."""

import string
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import semver
from croniter import croniter
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.kinds.upgrades.core.channels import next_channel
from tidegate.kinds.upgrades.core.labels.labels import read_cluster_labels, read_org_labels
from tidegate.kinds.upgrades.core.sectors import Sector, SectorLoopError, check_loops, circles
from tidegate.kinds.upgrades.core.versions import VersionError, key_of, sort_versions
from tidegate.kinds.upgrades.wire.line import answer_compat
from tidegate.model.cron.cron import next_after
from tidegate.model.cron.cron_text import CronError, parse_cron
from tidegate.model.time import SECOND

NOW = 1_683_712_800  # 2023-05-10T10:00:00Z
KEYS = (
    "soak-days",
    "workloads",
    "schedule",
    "mutexes",
    "sector",
    "blocked-versions",
    "version-gate-approvals",
    "sector-deps.a",
    "sector-deps.b",
    "sector-max-parallel-upgrades.a",
    "version-data.inherit",
)
VALUES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(("0", "1", "a", "b", "a,b", "* * * * *", "0 0 31 2 *", "[", "50%", "x%", "")),
)
LABELS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6)

COLUMNS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6), (0, 59), (2020, 2030))
ODD_ITEMS = ("", "-5", "*-5", "h", "x", "5-", "5/", "/5", "1-2-3", "*/x", "*/", "7", "0", "32", "?")
DAY_ITEMS = ("l", "15w", "w3", "31w", "0w", "15-l", "l-5")
WEEKDAY_ITEMS = ("5#2", "l5", "mon-fri#2", "7#1", "sat#9", "fri-mon", "sun", "1-5#2")


@st.composite
def schedules(draw: st.DrawFn) -> str:
    """Five to seven columns, most of them right."""
    columns = COLUMNS[: draw(st.sampled_from((5, 5, 5, 6, 7)))]
    return " ".join(draw(column(at, low, high)) for at, (low, high) in enumerate(columns))


def column(at: int, low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high).map(str)
    step = st.integers(0, 20).map(str)
    items = [
        st.just("*"),
        st.just("*"),
        number,
        st.tuples(number, number).map("-".join),
        st.tuples(number, number, step).map(lambda item: f"{item[0]}-{item[1]}/{item[2]}"),
        step.map("*/{}".format),
        st.sampled_from(ODD_ITEMS),
    ]
    items += [st.sampled_from(DAY_ITEMS)] if at == 2 else []
    items += [st.sampled_from(WEEKDAY_ITEMS)] if at == 4 else []
    return st.lists(st.one_of(items), min_size=1, max_size=2).map(",".join)


@given(schedules(), st.integers(-(10**8), 10**8))
@example("0 0 31 2 *", 0)
@example("0 11 8-14 * 5", 0)
@example("* * * 12-12 3", 0)
@example("59/5 22-4/3 * * *", 0)
def test_schedules_fire_when_the_predecessor_says(text: str, offset_s: int) -> None:
    """The same texts are refused in the same words, and the others fire at the same second."""
    try:
        expected: str | float | None = croniter(text, day_or=False).get_next(
            start_time=datetime.fromtimestamp(NOW + offset_s, UTC)
        )
    except ValueError as error:
        expected = None if "find next date" in str(error) else words(error)
    try:
        fires_at = next_after(parse_cron(text), (NOW + offset_s) * SECOND)
        found: str | float | None = None if fires_at is None else fires_at / SECOND
    except CronError as error:
        found = words(error)
    assert found == expected


def words(error: ValueError) -> str:
    """What is said, but for a set that the predecessor prints in any order."""
    return str(error).partition("    dow=")[0]


@given(st.text(max_size=60) | st.text(string.printable, max_size=40))
def test_any_text_is_a_schedule_or_is_refused(text: str) -> None:
    """No text breaks the reading of schedules, and every schedule can be asked when it fires."""
    try:
        cron = parse_cron(text)
    except CronError:
        return
    fires_at = next_after(cron, NOW * SECOND)
    assert fires_at is None or fires_at > NOW * SECOND


@given(LABELS)
def test_labels_are_read_or_explained(labels: dict[str, str]) -> None:
    """Labels of a cluster are wanted, or wrong for at least one reason; never both, never none."""
    read, problems = read_cluster_labels(labels)
    assert (read is None) == bool(problems)
    assert all(problem.text().startswith("label sre-capabilities.aus.") for problem in problems)


@given(
    st.dictionaries(st.text(max_size=5).map("sector-deps.{}".format), st.text("ab,", max_size=5))
)
def test_sectors_are_in_order_or_in_a_circle(labels: dict[str, str]) -> None:
    """Sectors either have an order in which each follows all it depends on, or go in a circle."""
    sectors = {sector.name: sector for sector in read_org_labels(labels).sectors}
    done: set[str] = set()
    while ready := [
        name
        for name, sector in sectors.items()
        if name not in done and done.issuperset(sector.dependencies)
    ]:
        done.update(ready)
    try:
        check_loops(tuple(sectors.values()))
    except SectorLoopError:
        assert done != sectors.keys()
    else:
        assert done == sectors.keys()


NAMES = st.sampled_from("abcdef")


@given(st.dictionaries(NAMES, st.lists(NAMES, max_size=3, unique=True), max_size=6))
def test_a_circle_has_its_members_and_no_others(deps: dict[str, list[str]]) -> None:
    """Each reaches itself through the others; what is behind a circle is not in it."""
    every = {*deps, *(each for some in deps.values() for each in some)}
    sectors = {name: Sector(name, tuple(deps.get(name, ()))) for name in sorted(every)}

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        waiting = list(sectors[name].dependencies)
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting += sectors[here].dependencies
        return found

    reach = {name: reached(name) for name in sectors}
    expected = {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in sectors
        if name in reach[name]
    }
    assert set(circles(sectors)) == expected


@given(st.text(max_size=30))
def test_any_text_is_a_channel_or_leads_nowhere(text: str) -> None:
    """What comes after a channel is another one of its group."""
    target = next_channel(text)
    assert target is None or target.rpartition("-")[0] == text.rpartition("-")[0]


VERSIONS = st.from_regex(r"(0|[1-9]\d?)\.(0|[1-9]\d?)\.\d(-[a-z0-9.-]{1,8})?(\+a)?", fullmatch=True)


@given(st.lists(VERSIONS | st.text(max_size=12), max_size=6))
def test_versions_are_in_the_order_of_the_library(versions: list[str]) -> None:
    """What is a version for the one is a version for the other, and in the same order."""
    good = [version for version in versions if semver.Version.is_valid(version)]
    for version in set(versions) - set(good):
        with pytest.raises(VersionError, match="is not valid SemVer string"):
            key_of(version)
    for one, other in pairwise(sort_versions(good)):
        assert semver.Version.parse(one) <= semver.Version.parse(other)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # patterns that Python will read otherwise
@given(LABELS, LABELS, st.text(max_size=10), st.booleans())
def test_any_labels_and_versions_are_decided(
    of_cluster: dict[str, str], of_org: dict[str, str], version: str, is_hosted: bool
) -> None:
    """Whatever is written, a line is answered, twice the same."""
    cluster: dict[str, Any] = {"name": "a", "org": "o", "product": "rosa", "hypershift": is_hosted}
    cluster |= {"version": "4.12.17", "available_upgrades": [version, "4.12.18"]}
    world = {
        "now": "2023-05-10T10:00:00Z",
        "orgs": [{"id": "o", "name": "O", "labels": of_org}],
        "clusters": [
            {**cluster, "labels": of_cluster},
            {**cluster, "name": "b", "labels": of_cluster, "version": version},
        ],
        "gates": [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}],
    }
    once = msgspec.json.encode(answer_compat(world))
    assert once == msgspec.json.encode(answer_compat(world))
