"""The fleet report: what each version has soaked, its marks, and pages no label can break."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.upgraded import NOW, hosted, kept, world
from tidegate.kinds.upgrades.app.read.document import read_world_document
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.app.report import FleetReport, report_fleet, report_history
from tidegate.kinds.upgrades.cli.text.report import history_rows, problem_lines, report_rows
from tidegate.kinds.upgrades.cli.text.report_page import report_page
from tidegate.kinds.upgrades.core.explain.report import CHOSEN, sections
from tidegate.kinds.upgrades.core.foresight.forecast import first_starts, forecast
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.time import format_second, parse_instant

VECTORS = Path(__file__).parents[1] / "vectors/upgrades"


def reading(asked: dict[str, Any]) -> FleetReading:
    """A world as lines have it."""
    return FleetReading((read_world_document(asked, "a test"),))


def reported(asked: dict[str, Any]) -> FleetReport:
    """The report of a world as lines have it."""
    return report_fleet(reading(asked))


def soaking(asked: dict[str, Any], name: str = "a") -> str:
    """The last column of one cluster."""
    return next(row[-1] for row in report_rows(reported(asked)) if row[1] == name)


DESCRIBED = "its description by OpenShift Cluster Manager"
WHOLE = 'write a whole number of days, as "3"; "0" is a canary'
SOAKED = kept(1.25, NOW)


def going(version: str, hours: float, **more: Any) -> list[dict[str, Any]]:
    """An upgrade that began so many hours ago."""
    at = format_second(parse_instant(NOW) - int(hours * 3600) * 10**9)
    return [{"version": version, "state": "scheduled", "next_run": at, **more}]


@pytest.mark.parametrize(
    "cluster, shown",
    [
        ({}, "4.12.18 (1.25 🎉 2023-05-10T10:07Z)"),
        ({"labels": {"soak-days": "2"}}, "4.12.18 (1.25)"),
        (
            {"omit": ["channel"]},
            f"excluded, {DESCRIBED} cannot be used: channel missing",
        ),
        ({"labels": {"workloads": "w,x"}}, "4.12.18 (0 🎉 2023-05-10T10:07Z)"),
        ({"labels": {"schedule": "0 3 1 6 *"}}, "4.12.18 (1.25 🎉 2023-06-01T03:00Z)"),
        ({"labels": {"schedule": "0 3 1 1 *"}}, "4.12.18 (1.25)"),
        ({"labels": {"blocked-versions": "18$"}}, ""),
        (
            {"available_upgrades": ["4.12.19", "4.12.18"]},
            "4.12.18 (1.25), 4.12.19 (0 🎉 2023-05-10T10:07Z)",
        ),
        ({"available_upgrades": ["4.12.18", "odd"]}, "4.12.18 (1.25 🎉 2023-05-10T10:07Z)"),
        ({"upgrade_policies": going("4.12.18", -1)}, "4.12.18 (1.25 ⏰)"),
        ({"upgrade_policies": going("4.12.18", 5.9)}, "4.12.18 (1.25 💫)"),
        (
            {"upgrade_policies": going("4.12.18", 7.29)},
            "4.12.18 (1.25 💫 - started 7.2h ago❗️)",
        ),
        ({"upgrade_policies": [{"version": "4.12.18", "state": "started"}]}, "4.12.18 (1.25 💫)"),
        ({"state": "error"}, "4.12.18 (1.25)"),
        (
            {"labels": {"soak-days": "two"}},
            f'excluded, soak-days: "two" is not a whole number; {WHOLE}',
        ),
    ],
)
def test_each_version_is_shown_with_its_soak_and_its_mark(
    cluster: dict[str, Any], shown: str
) -> None:
    """Lowest first, blocked ones left out, never rounded up."""
    assert soaking(world({"name": "a", **cluster}, state=SOAKED)) == shown


def test_what_soaks_has_the_date_at_which_it_has_soaked() -> None:
    """As the gate has it: 0.75 days of one cluster are left, from the last look on."""
    canary = {"name": "b", "version": "4.12.18", "available_upgrades": []}
    asked = world({"name": "a", "labels": {"soak-days": "2"}}, canary, state=SOAKED)
    assert soaking(asked) == "4.12.18 (1.25 🎉 ~2023-05-11T04:07Z, soaked ~2023-05-11)"
    one = reported(asked).organizations[0].clusters[0].soaking[0]
    assert (one.soak_days, one.soaked_at) == (1.25, "2023-05-11T04:00:00Z")
    alone = world({"name": "a", "labels": {"soak-days": "2"}}, state=SOAKED)
    assert reported(alone).organizations[0].clusters[0].soaking[0].soaked_at is None


def test_what_excludes_a_cluster_is_data_label_by_label() -> None:
    """Every label at fault, with its value and what to write instead."""
    wrong = {"soak-days": "two", "schedule": "0 48 * * *"}
    (found,) = reported(world({"name": "a", "labels": wrong})).organizations[0].clusters
    assert found.set_aside
    assert [(each.label, each.value) for each in found.problems] == list(wrong.items())
    assert found.problems[1].message == (
        '"0 48 * * *" is not a schedule: hour: 48 is not between 0 and 23; write when upgrades may'
        ' start, as "0 9 * * 1-4" (UTC)'
    )


def test_what_excludes_clusters_is_printed_in_full_beneath_the_table() -> None:
    """The column of a table is cut at the edge of a terminal; a label at fault is not."""
    wrong = {"soak-days": "two", "schedule": "0 48 * * *"}
    asked = world({"name": "a", "labels": wrong}, {"name": "b", "omit": ["channel"]}, {"name": "c"})
    found = list(problem_lines(reported(asked), 60))
    assert max(map(len, found)) <= 60
    assert [line for line in found if line[0] == "✗"] == [
        '✗ cluster/a  soak-days: "two" is not a whole number; write a',
        '✗ cluster/a  schedule: "0 48 * * *" is not a schedule: hour:',
        "✗ cluster/b  excluded, its description by OpenShift Cluster",
    ]
    assert " ".join(" ".join(found).split()).endswith("Manager cannot be used: channel missing")


@pytest.mark.parametrize(
    "zone, shown", [({}, "UTC"), ({"schedule-timezone": "Asia/Tokyo"}, "Asia/Tokyo")]
)
def test_a_schedule_is_shown_with_its_time_zone(zone: dict[str, str], shown: str) -> None:
    """UTC, too: a reader should not have to know it."""
    (row,) = report_rows(reported(world({"name": "a", "labels": zone})))
    assert row[4] == f"* * * * * {shown}"


def test_the_version_of_a_control_plane_is_shown_while_its_node_pools_follow() -> None:
    """It is what the next upgrade leads to."""
    behind = hosted("a", {"p": "4.12.17"}, version="4.12.18", available_upgrades=[])
    assert soaking(world(behind, state=SOAKED)) == "4.12.18 (1.25 🎉 ~2023-05-10T10:07Z)"


@pytest.mark.parametrize(
    "held",
    [
        {"gates": [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ingress"}]},
        {"labels": {"sector-deps.x": "y"}},
    ],
)
def test_a_version_that_would_not_be_chosen_is_not_marked(held: dict[str, Any]) -> None:
    """Soak alone is not enough: a gate no one agreed to, a sector that goes first."""
    one = {"name": "a", "available_upgrades": ["4.13.1"], "labels": {"sector": "x"}}
    other = {"name": "b", "labels": {"sector": "y", "schedule": "0 0 1 1 *"}}
    labels = {"sector-deps.x": "", "sector-deps.y": ""}
    assert soaking(world(one, other, labels=labels)) == "4.13.1 (0 🎉 2023-05-10T10:07Z)"
    assert soaking(world(one, other, **{"labels": labels} | held)) == "4.13.1 (0)"


def test_a_marked_version_and_no_other_is_what_is_foreseen_next() -> None:
    """In every recorded world: the mark is on the first step of `when`, if that is offered now."""
    looked = 0
    with gzip.open(VECTORS / "fuzz.jsonl.gz", "rt") as lines:
        for _, text in zip(range(40), lines, strict=False):
            line = json.loads(text)
            read = read_upgrades(line.get("world") or line).world
            read = msgspec.structs.replace(read, approver=False)
            expected = forecast(read, read.now).expected
            starts = first_starts(read, read.now)
            for section in sections(read, decide(read, read.now), read.now, starts):
                for each in section.lines:
                    if each.member.excluded is not None:
                        continue
                    marked = [one.version for one in each.soaking if one.mark == CHOSEN]
                    cluster = each.member.cluster
                    steps = expected[cluster.uuid].upgrades[:1]
                    offered = {one.version for one in each.soaking}
                    if any(leg.asked_at is None for leg in steps):
                        continue  # under way, with marks of its own
                    assert marked == [leg.version for leg in steps if leg.version in offered]
                    looked += bool(marked)
    assert looked > 20


def test_history_is_an_organisations_own_by_version_and_workload() -> None:
    """With two decimals, and the names of those that were seen there."""
    asked = world({"name": "a", "version": "4.12.18"}, {"name": "b"}, state=SOAKED)
    assert history_rows(report_history(reading(asked))) == [
        ("prod/o", "4.12.17", "w", "0.00", "b"),
        ("prod/o", "4.12.18", "w", "1.25", "a"),
    ]


def test_no_label_ends_a_table_or_becomes_markdown() -> None:
    """Backticks, pipes and headings stay what they are: text in a document."""
    evil = "```\\n# boo |<b>"
    asked = world({"name": "a", "labels": {"mutexes": evil}})
    asked["orgs"][0]["name"] = "O [x](y) @all"
    text = report_page(reported(asked))
    assert text.count("```") == 2
    block = text.partition("```json:table")[2].partition("```")[0]
    (item,) = json.loads(block)["items"]
    assert item["mutexes"] == evil
    assert "@all" not in text.partition("```json:table")[0]


def test_whose_soak_is_inherited_is_linked_where_it_is_on_the_page() -> None:
    """And the one that does not publish is notified."""
    asked = world({"name": "a"}, labels={"version-data.inherit": "p"})
    other = {"id": "p", "name": "Pay Ments", "labels": {"version-data.publish": "o"}}
    asked["orgs"].append(other)
    assert "\ninheriting version data from Pay Ments\n" in report_page(reported(asked))
    asked["clusters"].append({**asked["clusters"][0], "name": "b", "org": "p"})
    linked = "\ninheriting version data from [Pay Ments](#pay-ments)\n"
    assert linked in report_page(reported(asked))
    other["labels"] = {}
    assert "\nnot inheriting from p: they do not publish to it\n" in report_page(reported(asked))
