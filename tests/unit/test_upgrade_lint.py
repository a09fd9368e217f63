"""Every finding of `lint`: a world that has it, one next to it that has not, and what is said."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.upgraded import NOW, brake, hosted, world
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.lint.findings import CODES, LintFinding
from tidegate.kinds.upgrades.core.lint.lint import lint
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.errors import UserError
from tidegate.model.time import SECOND, Duration, parse_instant

VECTORS = Path(__file__).parents[1] / "vectors/upgrades"


def found(
    asked: dict[str, Any], pace: UpgradePace | None = None, **more: Any
) -> tuple[LintFinding, ...]:
    """What is found in a world as lines have it."""
    read = msgspec.structs.replace(read_upgrades(asked).world, approver=False, **more)
    return lint(read, read.now, pace)


def codes(asked: dict[str, Any]) -> list[str]:
    """Which kinds of finding there are."""
    return [each.code for each in found(asked)]


def one(**labels: str) -> dict[str, Any]:
    """One cluster with other labels."""
    return world({"name": "a", "labels": {key.replace("_", "-"): v for key, v in labels.items()}})


def named(name: str, **more: Any) -> dict[str, Any]:
    """A cluster, with labels among the rest."""
    labels = {key.replace("_", "-"): more.pop(key) for key in list(more) if key in LABELS}
    return {"name": name, "labels": labels, **more}


LABELS = ("soak_days", "workloads", "mutexes", "sector", "schedule")
FAILED = [{"version": "4.12.18", "state": "failed"}]
STAGED = {"sector-deps.prod": "stage"}
NIGHTS = {"from": "2023-05-01T20:00:00Z", "to": "2023-05-02T08:00:00Z", "rrule": "FREQ=DAILY"}
GATE = {"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}
REFUSED = {"a-uuid": {"agree/4.13/g": {"at": NOW, "tries": 1, "detail": "HTTP 403"}}}
STUCK = hosted("a", {"p": "4.12.16"}, alerts=["Down"], labels={"mutexes": "m"})
WEEKLY = {"id": "w", "schedule_type": "automatic", "schedule": "0 8 * * 3", "state": "pending"}
WATCHED = [{"id": "o", "name": "O", "health_checks": [{"provider": "telemeter", "enforced": True}]}]


def pooled(policies: list[dict[str, str]]) -> dict[str, Any]:
    """A hosted control plane with a node pool that has some upgrade policies."""
    pool = {"id": "p", "version": "4.12.17", "upgrade_policies": policies}
    return {**hosted("a", {}), "node_pools": [pool]}


def stalled(pool: str) -> dict[str, Any]:
    """One that is half upgraded and ill, and one that shares its mutex."""
    sick = {**STUCK, "node_pools": [{"id": "p", "version": pool}]}
    return world(sick, named("b", mutexes="m")) | {"orgs": WATCHED}


def sharing(policies: list[dict[str, str]]) -> dict[str, Any]:
    """Half of a sector may be upgraded, and half of those who share a mutex: of two, one."""
    both = {"sector": "x", "mutexes": "m"}
    others = [named(name, sector="x", available_upgrades=[]) for name in "cd"]
    first = named("a", **both, upgrade_policies=policies)
    labels = {"sector-max-parallel-upgrades.x": "50%"}
    return world(first, named("b", **both), *others, labels=labels)


def inheriting(publish: str, **more: Any) -> dict[str, Any]:
    """An organisation that inherits from another, which publishes to some."""
    asked = world({"name": "a", **more}, labels={"version-data.inherit": "p"})
    asked["orgs"].append({"id": "p", "name": "P", "labels": {"version-data.publish": publish}})
    return asked


# Code, a world that has it, a world next to it that has not, whose it is, and what is said of it.
CASES: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    (
        "automatic-upgrades",
        world({**hosted("a", {}), "upgrade_policies": [WEEKLY]}),
        world({**hosted("a", {}), "upgrade_policies": [{"id": "p", "version": "4.12.18"}]}),
        "cluster/a",
        "upgrades its control plane (automatic, at 0 8 * * 3) by itself",
    ),
    (
        "automatic-upgrades",
        world({"name": "a", "upgrade_policies": [WEEKLY]}),
        world({"name": "a", "upgrade_policies": [{**WEEKLY, "state": "cancelled"}]}),
        "cluster/a",
        "upgrades it (automatic, at 0 8 * * 3) by itself",
    ),
    (
        "automatic-upgrades",
        world(pooled([{"schedule_type": "automatic"}])),
        world(pooled([])),
        "cluster/a",
        "upgrades node pool p by itself",
    ),
    ("label", one(soak_days="two"), one(soak_days="2.0"), "cluster/a", "is not a whole number"),
    ("label", one(schedule="0 0 31 2 *"), one(schedule="0 0 29 2 *"), "cluster/a", "never fires"),
    (
        "label",
        world({"name": "a"}, labels={"sector-max-parallel-upgrades.x": "few"}),
        world({"name": "a"}, labels={"sector-max-parallel-upgrades.x": "5"}),
        "org/o",
        '"few" is not a number of clusters',
    ),
    ("unknown-label", one(mutex="m"), one(), "cluster/a", "unknown label, ignored"),
    (
        "unknown-label",
        world({"name": "a"}, labels={"blocked-version": "x"}),
        world({"name": "a"}, labels={"blocked-versions": "x"}),
        "org/o",
        "unknown label, ignored",
    ),
    (
        "unknown-sector",
        world(named("a", sector="stgae"), labels=STAGED),
        world(named("a", sector="stage"), labels=STAGED),
        "cluster/a",
        '"stgae" is no sector of the organisation',
    ),
    (
        "sector-circle",
        world(named("a", sector="prod"), labels={**STAGED, "sector-deps.stage": "prod"}),
        world(named("a", sector="prod"), labels=STAGED),
        "org/o",
        "prod, stage wait for each other in a circle",
    ),
    (
        "sector-closed",
        world(named("a", sector="x"), labels={"sector-max-parallel-upgrades.x": "0"}),
        world(named("a", sector="x"), labels={"sector-max-parallel-upgrades.x": "1"}),
        "org/o",
        "lets no cluster of sector x be upgraded: a",
    ),
    (
        "stuck-sector",
        world(named("a", sector="prod"), named("s", sector="stage", state="error"), labels=STAGED),
        world(named("a", sector="prod"), named("s", sector="stage"), labels=STAGED),
        "cluster/s",
        "keeps a waiting: sector stage must have 4.12.18 first, and it goes no further: is error",
    ),
    (
        "stuck-sector",
        world(
            named("a", sector="prod"),
            named("s", sector="stage", available_upgrades=[]),
            labels=STAGED,
        ),
        world(
            named("a", sector="prod"),
            named("s", sector="stage", version="4.12.19", available_upgrades=[]),
            labels=STAGED,
        ),
        "cluster/s",
        "it goes no further: nothing newer than 4.12.17 is wanted or offered there",
    ),
    (
        "stuck-sector",
        world(named("a", sector="prod"), named("s", sector="stage", soak_days="x"), labels=STAGED),
        world(named("a", sector="prod"), named("s", sector="other"), labels=STAGED),
        "cluster/s",
        "excluded, 1 problem with its labels",
    ),
    (
        "stuck-sector",
        world(
            named("a", sector="x"),
            named("b", sector="x", upgrade_policies=FAILED),
            labels={"sector-max-parallel-upgrades.x": "1"},
        ),
        world(
            named("a", sector="x"),
            named("b", sector="x", upgrade_policies=FAILED),
            labels={"sector-max-parallel-upgrades.x": "2"},
        ),
        "cluster/b",
        "no more room in sector x, and it goes no further: its upgrade to 4.12.18 failed",
    ),
    (
        "no-canary",
        world(named("a", soak_days="1"), named("b", soak_days="2")),
        world(named("a", soak_days="1"), named("b", soak_days="0")),
        "org/o",
        "w: every cluster asks for soak (a, b)",
    ),
    (
        "no-canary",
        world(named("a", soak_days="1"), named("b", soak_days="0", schedule="?")),
        world(named("a", soak_days="1"), named("b", soak_days="0", workloads="w,x")),
        "org/o",
        "w: every cluster asks for soak (a), and b cannot be read",
    ),
    (
        "no-canary",
        inheriting("q", labels={"soak-days": "1"}),
        inheriting("o", labels={"soak-days": "1"}),
        "org/o",
        "w: every cluster asks for soak (a)",
    ),
    (
        "no-soak",
        world(named("a", soak_days="1"), named("b", available_upgrades=["4.12.19"])),
        world(named("a", soak_days="1"), named("b", available_upgrades=["4.12.18"])),
        "org/o",
        "w: no cluster is expected on 4.12.18 for long enough, so a will not go there",
    ),
    (
        "mutex-deadlock",
        world(named("a", mutexes="m", upgrade_policies=FAILED), named("b", mutexes="m")),
        world(named("a", mutexes="m"), named("b", mutexes="m")),
        "cluster/a",
        "keeps b waiting: it has mutex m, and goes no further: its upgrade to 4.12.18 failed",
    ),
    (
        "mutex-deadlock",
        stalled("4.12.16"),
        stalled("4.12.17"),
        "cluster/a",
        "keeps b waiting: it has mutex m, and goes no further: Down firing since it is on 4.12.17",
    ),
    (
        "mutex-deadlock",
        sharing(FAILED),
        sharing([]),
        "cluster/a",
        "keeps b waiting: it has mutex m, and goes no further: its upgrade to 4.12.18 failed",
    ),
    (
        "unreachable-window",
        one(schedule="0 3 * * * 0 2022"),
        one(schedule="0 3 * * * 0 2024"),
        "cluster/a",
        "it never fires again",
    ),
    (
        "unreachable-window",
        one(schedule="0 3 * * *") | {"brakes": brake("freezes", **NIGHTS)},
        one(schedule="0 12 * * *") | {"brakes": brake("freezes", **NIGHTS)},
        "cluster/a",
        "every time it fires lies in freeze b (why)",
    ),
    (
        "blocks-everything",
        one(blocked_versions=".*"),
        one(blocked_versions=r"^4\."),
        "cluster/a",
        '".*" is found in every version',
    ),
    (
        "blocks-everything",
        world({"name": "a"}, labels={"blocked-versions": r"^4\.13$,\d"}),
        world({"name": "a"}, labels={"blocked-versions": r"^4\.13$,\d{3}"}),
        "org/o",
        r'"\d" is found in every version',
    ),
    (
        "missing-agreement",
        world(
            {"name": "a", "labels": {"version-gate-approvals": "none"}}
            | {"available_upgrades": ["4.13.1"]},
            gates=[GATE],
        ),
        world({"name": "a", "available_upgrades": ["4.13.1"]}, gates=[GATE]),
        "cluster/a",
        "api.openshift.com/gate-ocp is not agreed to, so it goes to no 4.13",
    ),
    (
        "refused-agreement",
        world({"name": "a", "available_upgrades": ["4.13.1"]}, gates=[GATE], refused=REFUSED),
        world({"name": "a", "available_upgrades": ["4.13.1"]}, gates=[GATE]),
        "cluster/a",
        "OpenShift Cluster Manager refused our agreement: HTTP 403",
    ),
    ("unverified-inheritance", inheriting("q"), inheriting("o"), "org/o", "p do not publish"),
    (
        "self-inheritance",
        world({"name": "a"}, labels={"version-data.inherit": "o"}),
        world({"name": "a"}, labels={"version-data.inherit": ""}),
        "org/o",
        "names the organisation itself",
    ),
    ("phantom-item", one(workloads="w,"), one(workloads="w"), "cluster/a", "is empty"),
    ("phantom-item", one(mutexes="m,n,m"), one(mutexes="m,n"), "cluster/a", "m stands in it twice"),
    ("phantom-item", one(blocked_versions="x,"), one(blocked_versions="x"), "cluster/a", "empty"),
    (
        "phantom-item",
        world({"name": "a"}, labels={"sector-deps.prod": "stage,,"}),
        world({"name": "a"}, labels=STAGED),
        "org/o",
        "is empty",
    ),
    ("blank-item", one(workloads="w, x"), one(workloads=" "), "cluster/a", "has blanks around"),
    (
        "alike-names",
        world(
            named("a", workloads="Pay"), named("b", workloads="pay"), named("c", workloads="pay")
        ),
        world(named("a", workloads="pay"), named("b", workloads="pay")),
        "cluster/a",
        '"Pay" is another than the "pay" of b, c',
    ),
    (
        "alike-names",
        world(named("a", mutexes="m 1"), named("b", mutexes="m1")),
        world(named("a", mutexes="m2"), named("b", mutexes="m1")),
        "cluster/b",
        '"m1" is another than the "m 1" of a',
    ),
    (
        "lonely-mutex",
        world(named("a", mutexes="m"), named("b")),
        world(named("a", mutexes="m"), named("b", mutexes="m")),
        "cluster/a",
        'no other cluster has mutex "m"',
    ),
    (
        "pre-release-only",
        world({"name": "a", "available_upgrades": ["4.13.0-rc.1"]}),
        world({"name": "a", "available_upgrades": ["4.13.0-rc.1"], "channel": "candidate-4.13"}),
        "cluster/a",
        "is offered nothing but 4.13.0-rc.1, on channel stable-4.12",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[4][:40]}")
def test_a_finding_is_made_where_it_is_true_and_nowhere_else(
    case: tuple[str, dict[str, Any], dict[str, Any], str, str],
) -> None:
    """The world that has it has it once for its owner, and the one next to it has not."""
    code, bad, good, owner, said = case
    mine = [each for each in found(bad) if each.code == code and said in each.message]
    assert [each.owner for each in mine] == [owner]
    assert mine[0].remedy
    assert not [each for each in found(good) if each.code == code and each.owner == owner]


SOON = {"4.12.17": parse_instant("2023-05-20T00:00:00Z")}
PAST = {"4.12.17": parse_instant("2023-05-01T00:00:00Z")}


def test_an_end_of_life_before_the_expected_date_is_reported() -> None:
    """By a window that comes too late, or never; not if the cluster is gone by then."""
    late = one(schedule="0 3 1 6 *")
    said = found(late, ends=SOON)
    assert [(each.code, each.owner) for each in said] == [("end-of-life", "cluster/a")]
    told = "4.12.17 ends 2023-05-20, and it is expected to have left it 2023-06-01"
    assert said[0].message == told
    assert found(one(schedule="0 3 11 5 *"), ends=SOON) == ()
    assert found(late) == ()


def test_a_world_in_a_file_says_when_versions_end() -> None:
    """As the world of a simulated manager does; what is no moment is reported with its place."""
    versions = [{"version": "4.12.17", "end_of_life": "2023-05-20T00:00:00Z"}, {"version": "x"}]
    assert read_upgrades(one() | {"versions": versions}).world.ends == SOON
    versions[1]["end_of_life"] = "soon"
    with pytest.raises(UserError, match=r"versions\[1\].end_of_life: \"soon\""):
        read_upgrades(one() | {"versions": versions})


def test_a_version_that_has_ended_is_worse() -> None:
    """Whatever is expected: it is not supported now."""
    assert [each.code for each in found(one(), ends=PAST)] == ["ended"]
    held = found(world(named("a", state="error")), ends=SOON)
    assert held[0].message == "4.12.17 ends 2023-05-20, and it has no date: is error, not ready"
    idle = found(world(named("a", available_upgrades=[])), ends=SOON)
    assert idle[0].message == "4.12.17 ends 2023-05-20, and nothing newer is wanted or offered"


def test_rounds_that_come_too_seldom_reach_no_window() -> None:
    """A window lasts from two hours to six minutes before its time."""
    seldom = UpgradePace(round=Duration(115 * 60 * SECOND))
    said = found(one(), seldom)
    assert [each.code for each in said] == ["unreachable-window"]
    assert said[0].message == "clusters are surveyed every 1h55m, a window lasts 1h54m"


def test_every_code_is_shown_here() -> None:
    """A kind of finding that no world shows may never be found."""
    shown = {case[0] for case in CASES} | {"end-of-life", "ended"}
    assert shown == set(CODES)


def test_findings_come_in_order_each_once_the_worst_first() -> None:
    """Errors, then warnings, then notes of one organisation."""
    asked = world(
        named("b", mutexes="m, m", soak_days="1"),
        named("a", soak_days="1"),
        labels={"blocked-versions": ".*"},
    )
    said = found(asked)
    assert [each.severity for each in said] == ["error", "warning", "warning", "note", "note"]
    assert said == found({**asked, "clusters": asked["clusters"][::-1]})
    assert len(set(said)) == len(said)


def test_what_has_no_canary_is_found_in_the_recorded_world() -> None:
    """World 53: AUS says nothing, and nothing ever moves."""
    lines = (VECTORS / "worlds.jsonl").read_text().splitlines()
    recorded = next(each for each in map(json.loads, lines) if each["name"].startswith("53"))
    assert "no-canary" in codes(recorded["world"])


def test_no_recorded_world_is_too_odd_to_be_looked_at() -> None:
    """Every line is looked at whole, and each finding says whose it is and what to do."""
    with gzip.open(VECTORS / "fuzz.jsonl.gz", "rt") as lines:
        for _, line in zip(range(60), lines, strict=False):
            read = json.loads(line)
            for each in found(read.get("world") or read):
                assert each.message
                assert each.remedy
                assert each.code in CODES
