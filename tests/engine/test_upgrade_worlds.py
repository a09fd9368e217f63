"""A world, simulated, read through the port and decided on: as if it had been written down."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.test_simulated_ocm import world as small_world
from tidegate.documents.reader import Reader
from tidegate.kinds.upgrades.app.read.survey import Survey, survey
from tidegate.kinds.upgrades.app.read.worlds import ends_of, world_of
from tidegate.kinds.upgrades.core import compat
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.world import (
    ManagedCluster,
    OcmUpgrade,
    Organisation,
    UpgradeWorld,
)
from tidegate.kinds.upgrades.ocm.documents import Version
from tidegate.kinds.upgrades.ocm.port import UnreadableDocument
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.kinds.upgrades.wire.line import decode
from tidegate.model.problem import Problems
from tidegate.model.time import Instant, parse_instant

VECTORS = Path(__file__).parents[1] / "vectors/upgrades"
# All of the random worlds.
FUZZ = 900


class _Still(msgspec.Struct, frozen=True):
    """A clock that stands."""

    at: Instant

    def now(self) -> Instant:
        return self.at


def surveyed(document: dict[str, Any]) -> Survey:
    """What is read of a simulated world."""
    read = read_world(document)
    return asyncio.run(survey(SimulatedClusters(found(read), _Still(read.now))))


def _simulable(world: UpgradeWorld) -> bool:
    """Whether all that the decision needs is in OpenShift Cluster Manager, and in one of them."""
    outside = world.approver or world.fail or world.health_fails
    odd = any(cluster.alerts or cluster.omit for cluster in world.clusters)
    return not (outside or odd) and len({org.env for org in world.orgs}) == 1


def _written(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt") as lines:
            return [json.loads(line) for _, line in zip(range(FUZZ), lines, strict=False)]
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name, least", [("worlds.jsonl", 30), ("fuzz.jsonl.gz", 200)])
def test_what_is_read_decides_as_what_was_written(name: str, least: int) -> None:
    """AUS's writes are the same, through simulator, port and survey."""
    tried = 0
    for line in _written(VECTORS / name):
        document = line.get("world") or line
        whole = decode(Reader(document, "", Problems()))
        if not _simulable(whole):
            continue
        read = world_of(surveyed(document), whole.orgs, whole.now, whole.kept)
        flags = {"dry_run": whole.dry_run, "ignore_sts": whole.ignore_sts}
        decided = compat.run(msgspec.structs.replace(read, **flags)).writes
        expected = compat.run(whole).writes
        assert decided == expected, line.get("name", document)
        tried += 1
    assert tried >= least


def _told(cluster: ManagedCluster, read: ManagedCluster) -> ManagedCluster:
    """A written cluster, and of what is not written down what OpenShift Cluster Manager says."""

    def policies(mine: tuple[OcmUpgrade, ...], seen: tuple[OcmUpgrade, ...]) -> Any:
        assert [each.id for each in mine] == [each.id for each in seen]
        return tuple(
            msgspec.structs.replace(
                one,
                # One whose time has come has begun.
                state=other.state if one.state in (None, "scheduled") else one.state,
                next_run=one.next_run or other.next_run,
                schedule=one.schedule or other.schedule,
                upgrade_type=one.upgrade_type or other.upgrade_type,
            )
            for one, other in zip(mine, seen, strict=True)
        )

    pools = {each.id: each for each in read.node_pools}
    return msgspec.structs.replace(
        cluster,
        id=read.id,
        external_id=read.external_id,
        subscription=read.subscription,
        channel=cluster.updates_from,
        available_channels=cluster.available_channels or read.available_channels,
        upgrade_policies=policies(cluster.upgrade_policies, read.upgrade_policies),
        node_pools=tuple(
            msgspec.structs.replace(
                each,
                upgrade_policies=policies(each.upgrade_policies, pools[each.id].upgrade_policies),
            )
            for each in sorted(cluster.node_pools, key=lambda pool: pool.id)
        ),
    )


@pytest.mark.parametrize("name, least", [("worlds.jsonl", 30), ("fuzz.jsonl.gz", 200)])
def test_the_service_reads_all_that_is_decided_on(name: str, least: int) -> None:
    """Cluster by cluster, field by field; agreements where a gate lies ahead. And our rules say of
    what was read what they say of what was written.
    """
    tried = 0
    for line in _written(VECTORS / name):
        document = line.get("world") or line
        whole = decode(Reader(document, "", Problems()))
        if not _simulable(whole):
            continue
        read = world_of(surveyed(document), whole.orgs, whole.now, whole.kept)
        seen = {each.uuid: each for each in read.clusters}
        written = tuple(_told(each, seen[each.uuid]) for each in whole.clusters if each.labels)
        for one in written:
            agreed = msgspec.structs.replace(one, gate_agreements=seen[one.uuid].gate_agreements)
            assert agreed == seen[one.uuid], line.get("name", document)
            assert set(agreed.gate_agreements) <= set(one.gate_agreements)
        plans = [
            decide(msgspec.structs.replace(whole, clusters=several, approver=approver), whole.now)
            for several in (written, read.clusters)
            for approver in (False, True)
        ]
        assert plans[0].options == plans[2].options, line.get("name", document)
        assert plans[1].options == plans[3].options, line.get("name", document)
        assert plans[0].owner_notices == plans[2].owner_notices
        tried += 1
    assert tried >= least


def test_a_cluster_that_could_not_be_read_is_there_with_why() -> None:
    """And with what is known of it; all others are as they were."""
    seen = surveyed(small_world())
    broken = msgspec.structs.replace(seen.details["a-id"], error="no answer")
    gapped = msgspec.structs.replace(seen, details={**seen.details, "a-id": broken})
    orgs = [Organisation("o1", "one"), Organisation("o2", "two")]
    world = world_of(gapped, orgs, Instant(0))
    assert world.unread == {"a-uuid": "no answer"}
    assert msgspec.structs.replace(world, unread={}) == world_of(seen, orgs, Instant(0))
    assert [each.labels for each in world.orgs] == [{"blocked-versions": "x"}, {}]


def test_what_was_not_read_as_a_whole_is_so_for_every_organisation() -> None:
    """It is not known whose items are missing."""
    seen = msgspec.structs.replace(surveyed(small_world()), complete=False)
    world = world_of(seen, [Organisation("o1", "one"), Organisation("o2", "two")], Instant(0))
    assert [each.partial for each in world.orgs] == ["a list changed while it was read"] * 2


def test_a_version_ends_when_it_is_said_to_and_no_other_does() -> None:
    """What is no moment is as if nothing had been said."""
    read = world_of(surveyed(small_world()), [Organisation("o1", "one")], Instant(0))
    assert read.ends == {}
    versions = [
        Version(id=f"openshift-v{raw}", raw_id=raw, end_of_life_timestamp=end)
        for raw, end in (("4.1.1", "2026-06-27T00:00:00Z"), ("4.1.2", ""), ("4.1.3", "soon"))
    ]
    assert ends_of(versions) == {"4.1.1": parse_instant("2026-06-27T00:00:00Z")}


def test_a_cluster_that_makes_no_sense_still_has_its_mutexes() -> None:
    """It is there with its labels, excluded, and taken for being upgraded."""
    labels = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *", "mutexes": "m"}
    base = {"org": "o", "version": "4.16.3", "labels": labels}
    document = {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [{"name": "a", **base, "omit": ["channel"]}, {"name": "b", **base}],
        "versions": [{"version": "4.16.3"}, {"version": "4.16.4"}],
    }
    seen = surveyed(document)
    assert [each.name for each in seen.clusters] == ["b"]
    world = world_of(seen, [Organisation("o", "O")], Instant(0))
    assert {each.name: each.uuid for each in world.clusters} == {"a": "a-uuid", "b": "b-uuid"}
    plan = decide(world, parse_instant("2026-03-02T08:00:00Z"))
    assert plan.actions == []
    reasons = {each.reason for option in plan.options for each in option.verdicts}
    assert {UpgradeReason.ClusterUnread, UpgradeReason.MutexUnread} <= reasons


@pytest.mark.parametrize(
    "kind, of, held",
    [
        ("Label", "o1", ["o1"]),
        ("Label", "a-sub", ["o1"]),
        ("Subscription", "o1", ["o1"]),
        ("Subscription", "strangers", []),
        ("Label", "", ["o1", "o2"]),
        ("Cluster", "", ["o1", "o2"]),
        ("Version", "", []),
    ],
)
def test_what_makes_no_sense_holds_whose_it_is(kind: str, of: str, held: list[str]) -> None:
    """An organisation with a label or a subscription that cannot be read; or all, if need be."""
    seen = surveyed(small_world())
    aside = UnreadableDocument(kind, "x", "odd", of)
    seen = msgspec.structs.replace(seen, unreadable=(aside,))
    world = world_of(seen, [Organisation("o1", "one"), Organisation("o2", "two")], Instant(0))
    assert [each.id for each in world.orgs if each.partial] == held
    assert world.unread == {}
