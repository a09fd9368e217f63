"""Where clusters stand in a word, and what they wait for in one verdict."""

from typing import Any

import msgspec
import pytest

from tests.upgraded import decided, hosted, recorded, world
from tidegate.app.tally import target_counts
from tidegate.kind_table import reasons
from tidegate.kinds.upgrades.core.explain.phase import UpgradePhase, phase_of
from tidegate.kinds.upgrades.core.explain.summary import cluster_summaries
from tidegate.kinds.upgrades.core.explain.view import organisation_view, target_row
from tidegate.kinds.upgrades.core.explain.words import phase_word
from tidegate.kinds.upgrades.core.faults import FaultParty, fault_of
from tidegate.kinds.upgrades.core.journal.made import OrganisationPlan
from tidegate.kinds.upgrades.core.legacy_plan import theirs
from tidegate.kinds.upgrades.core.reasons import UPGRADE_REASONS
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.model.reason import Outcome

SHUT = {"labels": {"schedule": "0 3 1 1 *"}}
NOT_SOAKED = {"labels": {"soak-days": "3"}}


def said(asked: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    """Of each cluster where it cluster_summaries, the version it is about, and the reason."""
    _, plan = decided(asked)
    found: dict[str, tuple[str, str, str]] = {}
    for stand in cluster_summaries(plan):
        phase, held = phase_of(stand)
        reason = held.reason.value if held else ""
        found[stand.member.cluster.name] = (phase.value, stand.next, reason)
    return found


@pytest.mark.parametrize(
    "cluster, expected",
    [
        ({}, ("starting", "4.12.18", "")),
        ({"available_upgrades": []}, ("current", "", "")),
        (SHUT, ("waiting", "4.12.18", "OutsideWindow")),
        (
            {"upgrade_policies": [{"id": "1", "version": "4.12.18", "state": "scheduled"}]},
            ("under_way", "4.12.18", ""),
        ),
        (
            {"upgrade_policies": [{"id": "1", "version": "4.12.18", "state": "failed"}]},
            ("failed", "4.12.18", "UpgradeFailed"),
        ),
        ({"labels": {"soak-days": "two"}}, ("set_aside", "", "LabelsUnreadable")),
        ({"state": "hibernating"}, ("waiting", "4.12.18", "ClusterNotReady")),
        ({"state": "hibernating", "available_upgrades": []}, ("waiting", "", "ClusterNotReady")),
        # A blocked channel is nothing to wait for.
        (
            {
                "available_upgrades": [],
                "available_channels": ["stable-4.13"],
                "labels": {"blocked-versions": "^4\\.13"},
            },
            ("current", "", ""),
        ),
    ],
)
def test_a_cluster_stands_somewhere(
    cluster: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    """One word, the version it is about, and the reason that says most."""
    assert said(world({"name": "a", **cluster}))["a"] == expected


def test_a_cluster_whose_versions_are_all_blocked_waits_in_every_answer() -> None:
    """`why` and `get clusters` say what `status` and `show` say; a hold counts it as waiting."""
    asked = world({"name": "a", "labels": {"blocked-versions": ".*"}})
    assert said(asked)["a"] == ("waiting", "", "VersionBlocked")
    _, plan = decided(asked)
    (summary,) = cluster_summaries(plan)
    assert phase_word(summary) == "waiting"
    assert target_row(summary).waits


def test_what_is_under_way_goes_before_what_is_blocked() -> None:
    """That the next version is blocked says nothing about a cluster that is being upgraded."""
    policy = {"id": "1", "version": "4.12.17", "state": "started"}
    labels = {"blocked-versions": ".*"}
    asked = world({"name": "a", "upgrade_policies": [policy], "labels": labels})
    assert said(asked)["a"] == ("under_way", "4.12.17", "")


def test_a_cancelled_upgrade_is_under_way_until_it_is_gone() -> None:
    """It is taken back in this round, and nothing else is offered."""
    policy = {"id": "1", "version": "4.12.18", "state": "scheduled"}
    labels = {"blocked-versions": ".*"}
    one = {"name": "a", "available_upgrades": [], "upgrade_policies": [policy], "labels": labels}
    assert said(world(one))["a"] == ("under_way", "4.12.18", "")


def test_a_node_pool_that_starts_is_a_start() -> None:
    """And one that waits for its window waits."""
    pools = {"np": "4.12.16"}
    assert said(world(hosted("a", pools)))["a"] == ("starting", "4.12.17", "")
    assert said(world(hosted("a", pools, **SHUT)))["a"][::2] == ("waiting", "OutsideWindow")


def test_what_does_not_go_on_says_why() -> None:
    """In every recorded world: one stand a cluster, and a reason for what is held."""
    seen = set()
    for asked in recorded().values():
        _, plan = decided(asked)
        found = cluster_summaries(plan)
        assert len(found) == len(plan.members)
        for each in found:
            phase, held = phase_of(each)
            seen.add(phase)
            assert (held is not None) == (
                phase in (UpgradePhase.WAITING, UpgradePhase.FAILED, UpgradePhase.EXCLUDED)
            )
            if held is not None:
                assert held.outcome is not Outcome.PASS
    # No one recorded a failed upgrade.
    assert seen == set(UpgradePhase) - {UpgradePhase.FAILED}


def test_a_fault_is_only_found_where_something_is_shut() -> None:
    """An open gate is not named as a cause."""
    blamed = [reason for reason in reasons() if fault_of(reason) is not None]
    assert {each.entry.outcome for each in blamed} <= {Outcome.WAIT, Outcome.STOP}
    assert {fault_of(each) for each in blamed} == set(FaultParty)


def test_a_label_that_cannot_be_read_is_its_owners_to_fix() -> None:
    """Every reason that says so in its remedy is classed so."""
    for reason in (each for table in UPGRADE_REASONS for each in table):
        entry = reason.entry
        if entry.outcome is not Outcome.PASS and "owner fixes" in entry.opens:
            assert fault_of(reason) is FaultParty.USER, reason


def test_by_the_existing_services_rules_a_cluster_waits_for_them() -> None:
    """Unless nothing newer is offered: then there is nothing they could ask for."""
    read, ours = decided(world({"name": "a", **SHUT}, {"name": "b", "available_upgrades": []}))
    agreeing = decide(msgspec.structs.replace(read, approver=True), read.now)
    plan = theirs(read, read.now, ours, agreeing).plan
    found = {
        each.member.cluster.name: (phase.value, held.reason.value if held else "")
        for each in cluster_summaries(plan)
        for phase, held in (phase_of(each),)
    }
    assert found == {"a": ("waiting", "ExistingRulesWait"), "b": ("current", "")}


AHEAD = {"labels": {"blocked-versions": "^4\\.13(?!9)"}}


@pytest.mark.parametrize(
    "clusters, expected",
    [
        # Python's patterns look ahead, and ours do not.
        ([{"name": "a", **AHEAD}], [("a", "starting", "4.12.18", 0)]),
        (
            [{"name": "a", **AHEAD}, {"name": "b", "labels": {"soak-days": "two"}}],
            [("a", "waiting", "", 0), ("b", "set_aside", "", 1)],
        ),
    ],
)
def test_by_the_existing_services_rules_only_what_they_refuse_is_excluded(
    clusters: list[dict[str, Any]], expected: list[tuple[str, str, str, int]]
) -> None:
    """A cluster that is upgraded is not called excluded for a label that ours would refuse."""
    read, ours = decided(world(*clusters))
    agreeing = decide(msgspec.structs.replace(read, approver=True), read.now)
    plan = theirs(read, read.now, ours, agreeing).plan
    assert [
        (member.cluster.name, phase_of(each)[0].value, each.next, len(member.label_errors))
        for each in cluster_summaries(plan)
        for member in (each.member,)
    ] == expected
    assert tuple(each for fleet in plan.fleets for each in fleet.members) == plan.members


@pytest.mark.parametrize("ahead", ["c-1", "s-1", "p-1", "p-2"])
def test_clusters_are_listed_by_sector_and_name_whatever_is_decided(ahead: str) -> None:
    """A map of them must not change places while versions go out."""
    names = {"p-2": "prod", "s-1": "stage", "p-1": "prod", "c-1": "canary"}
    clusters = [
        {
            "name": name,
            "version": "4.12.18" if name == ahead else "4.12.17",
            "available_upgrades": [] if name == ahead else ["4.12.18"],
            "labels": {"sector": sector, "soak-days": "0" if name == ahead else "3"},
        }
        for name, sector in names.items()
    ]
    deps = {"sector-deps.canary": "", "sector-deps.stage": "canary", "sector-deps.prod": "stage"}
    found, plan = decided(world(*clusters, labels=deps))
    made = OrganisationPlan(found, plan, plan)
    view = organisation_view("upgrades/p/o", made, found.now, paused=False, recheck_at=None)
    assert [each.name for each in view.targets] == ["c-1", "s-1", "p-1", "p-2"]


@pytest.mark.parametrize("acts", [True, False])
def test_what_would_start_moves_only_where_a_worker_acts(acts: bool) -> None:
    """It has not begun: a worker that only observes, or is dead, begins nothing."""
    found, plan = decided(world({"name": "a"}))
    made = OrganisationPlan(found, plan, plan)
    view = organisation_view("upgrades/p/o", made, found.now, paused=False, recheck_at=None)
    (row,) = view.targets
    assert row.starts
    assert (row.state, view.summary, view.headline) == (
        "Waiting",
        "Waiting",
        "1 cluster · 1 waiting",
    )
    counts = target_counts(view, moves=acts)
    assert (counts["moving"], counts["waiting"]) == (int(acts), int(not acts))
