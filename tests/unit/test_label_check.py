"""Labels are refused by the rules upgrades are decided by, and only for what is asked for."""

import msgspec
import pytest

from tidegate.kinds.upgrades.core.labels.label_check import LabelCheck, check
from tidegate.kinds.upgrades.core.labels.label_edit import (
    HolderChange,
    Wanted,
    cluster_holders,
    edits_of,
    org_holder,
)
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation, UpgradeWorld
from tidegate.model.time import parse_instant

NOW = parse_instant("2026-03-02T08:00:00Z")
GOOD = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
BROKEN = {**GOOD, "soak-days": "two", "schedule": "at night"}


def world(**clusters: dict[str, str]) -> UpgradeWorld:
    """One organisation with a sector, and clusters by name."""
    return UpgradeWorld(
        now=NOW,
        orgs=(Organisation("o", "O", labels={"sector-deps.prod": "stage"}),),
        clusters=tuple(
            ManagedCluster(name, "o", "4.16.3", labels=labels) for name, labels in clusters.items()
        ),
    )


def said(there: UpgradeWorld, name: str, wanted: Wanted) -> LabelCheck:
    """What is said of an edit of a cluster, or of the organisation `o`."""
    if name == "o":
        change = HolderChange(org_holder(there.orgs[0]), edits_of(there.orgs[0].labels, wanted))
    else:
        cluster = next(each for each in there.clusters if each.name == name)
        holder = cluster_holders(there)[cluster.subscribed_as]
        change = HolderChange(holder, edits_of(cluster.labels, wanted))
    return check(there, [change], NOW)


@pytest.mark.parametrize(
    "there, wanted, says",
    [
        (GOOD, {"soak-days": "two"}, '"two" is not a whole number; write'),
        (GOOD, {"schedule": "0 0 31 2 *"}, "never fires: no such day exists"),
        (GOOD, {"blocked-versions": "(?=4)"}, "looks ahead or behind"),
        (GOOD, {"schedule-timezone": "Mars/Base"}, "is not a time zone"),
        (GOOD, {"sector": "prd"}, '"prd" is no sector of the organisation; did you mean "prod"?'),
        (GOOD, {"workloads": None}, "label sre-capabilities.aus.workloads: missing"),
        ({}, {"soak-days": "1"}, "label sre-capabilities.aus.schedule: missing"),
    ],
)
def test_a_mistake_its_owner_would_be_notified_of_is_refused(
    there: dict[str, str], wanted: Wanted, says: str
) -> None:
    """In the same words, and with whose label it is."""
    refused = said(world(c=there), "c", wanted).refused
    assert any(each.startswith("cluster/c: label") and says in each for each in refused)


def test_of_two_mistakes_one_can_be_fixed_alone() -> None:
    """The other is a warning; written anew and still wrong, it is refused."""
    there = world(c=BROKEN)
    found = said(there, "c", {"soak-days": "2"})
    assert not found.refused
    assert ['"at night" is not a schedule' in each for each in found.warnings] == [True]
    assert said(there, "c", {"soak-days": "three"}).refused
    assert said(there, "c", {"sector": "nowhere"}).refused


def test_others_who_are_wrong_are_not_talked_of() -> None:
    """A person who edits one cluster hears of that one."""
    assert said(world(c=GOOD, other=BROKEN), "c", {"mutexes": "m"}) == LabelCheck()


def test_a_sector_with_clusters_is_not_taken_away() -> None:
    """The cluster that would be excluded is named."""
    there = world(c={**GOOD, "sector": "prod"})
    (line,) = said(there, "o", {"sector-deps.prod": None}).refused
    assert line.startswith('cluster/c: label sre-capabilities.aus.sector: "prod" is no sector')
    assert said(there, "o", {"sector-deps.prod": ""}) == LabelCheck()


@pytest.mark.parametrize(
    "wanted, says",
    [
        ({"sector-deps.stage": "prod"}, "wait for each other in a circle"),
        ({"sector-max-parallel-upgrades.prod": "many"}, '"many" is not a number of clusters'),
        ({"blocked-versions": "[4"}, "missing ]"),
    ],
)
def test_labels_of_an_organisation_are_refused_too(wanted: Wanted, says: str) -> None:
    """Even where it has no cluster with labels yet."""
    (line,) = said(world(), "o", wanted).refused
    assert line.startswith("organisation/o: label sre-capabilities.aus.")
    assert says in line


def test_what_is_used_otherwise_than_meant_is_a_warning() -> None:
    """Once: what was so before is not reported again."""
    there = world(c={**GOOD, "owner": "me"})
    found = said(there, "c", {"workloads": "w,,v"})
    assert not found.refused
    assert ["an item of" in each for each in found.warnings] == [True]


@pytest.mark.parametrize(
    "name, wanted, says",
    [
        ("c", {"soak-days": "3"}, "org/o: w: every cluster asks for soak (c, d); give one of them"),
        ("c", {"workloads": "W"}, "org/o: w: every cluster asks for soak (d)"),
        ("c", {"workloads": "W"}, 'cluster/d: "w" is another than the "W" of c'),
        ("c", {"blocked-versions": ".*"}, 'cluster/c: ".*" is found in every version'),
        (
            "o",
            {"sector-max-parallel-upgrades.prod": "0"},
            "lets no cluster of sector prod be upgraded",
        ),
    ],
)
def test_what_can_have_no_effect_is_a_warning(name: str, wanted: Wanted, says: str) -> None:
    """No canary left, names almost alike, blocks of everything; reported when it becomes so."""
    there = world(c={**GOOD, "sector": "prod"}, d={**GOOD, "soak-days": "2"})
    found = said(there, name, wanted)
    assert not found.refused
    assert any(says in each for each in found.warnings)


def test_a_canary_that_may_be_elsewhere_is_not_missed() -> None:
    """Where soak is inherited from an organisation that is not seen."""
    there = world(c=GOOD)
    org = msgspec.structs.replace(there.orgs[0], labels={"version-data.inherit": "unseen"})
    there = msgspec.structs.replace(there, orgs=(org,))
    assert said(there, "c", {"soak-days": "3"}) == LabelCheck()


def test_equal_names_are_distinguished() -> None:
    """By their external ids."""
    two = tuple(
        ManagedCluster(
            "c", "o", "4.16.3", labels=GOOD, id=each, external_id=f"u-{each}", subscription=each
        )
        for each in ("1", "2")
    )
    there = UpgradeWorld(now=NOW, orgs=(Organisation("o", "O"),), clusters=two)
    assert [each.text() for each in cluster_holders(there).values()] == [
        "cluster/c (u-1)",
        "cluster/c (u-2)",
    ]
