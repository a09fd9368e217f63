"""Reading and applying on many clusters: what breaks is reported, and everything else is done."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.estates import REPOSITORY, Land, estate, integration, managed, namespace, verbs
from tests.patience import patiently
from tidegate.kinds.integrations.app.executor import ObjectExecutor, ObjectOutcome, apply, release
from tidegate.kinds.integrations.app.survey import read_clusters
from tidegate.kinds.integrations.core.objects.changes import changes_of
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.kinds.integrations.core.workloads.digests import with_digests
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.kubernetes.port import (
    Applied,
    Document,
    NotAllowedError,
    Object,
    ObjectReading,
    ObjectRefusedError,
    ResourceKind,
    Take,
)
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.model.errors import OutsideError


def three() -> Estate:
    """One integration on three clusters."""
    places = (managed(where=namespace(name)) for name in ("c1", "c2", "c3"))
    return estate(integration("a", *places))


def ill(call: str) -> None:
    """A source that refuses every request."""
    raise OutsideError(f"c2: it is ill ({call})")


def test_one_cluster_of_three_is_down_and_the_others_are_done() -> None:
    """It is reported; nothing of it is planned, and nothing there is touched."""
    land = Land("c1", "c2", "c3")
    land.apis["c2"].fault = ill
    changes = land.plan(three())
    assert {(each.cluster, each.verb) for each in changes} == {
        ("c1", ObjectAction.CREATE),
        ("c2", ObjectAction.UNREAD),
        ("c3", ObjectAction.CREATE),
    }
    assert "c2: it is ill" in next(each.reason for each in changes if each.cluster == "c2")
    assert {done.outcome for done in land.apply(three())} == {ObjectOutcome.CREATED}
    assert {where[0] for where in land.records()} == {"c1", "c3"}


def test_a_cluster_that_never_answers_is_given_up() -> None:
    """After a while, and only that one."""

    class Silent(SimulatedCluster):
        async def read(
            self, namespace: str, kinds: Sequence[ResourceKind], selector: str = ""
        ) -> ObjectReading:
            await asyncio.sleep(60)
            return await super().read(namespace, kinds, selector)

    land = Land("c1", "c2")
    clusters = {**land.clusters(), "c2": Silent(land.apis["c2"])}
    spaces = {"c1": ["ns"], "c2": ["ns"]}
    sights = patiently(read_clusters(clusters, spaces, read_s=0.05))
    assert sights["c1"].seen.error == ""
    assert sights["c2"].seen.error == "c2: no answer within 0.05 s"


def test_who_may_not_look_everywhere_looks_where_the_bundle_says() -> None:
    """That is a message to the caller, and no gap."""

    class Narrow(SimulatedCluster):
        async def read(
            self, namespace: str, kinds: Sequence[ResourceKind], selector: str = ""
        ) -> ObjectReading:
            if not namespace:
                raise NotAllowedError("c1: not allowed (403): cluster scope")
            return await super().read(namespace, kinds, selector)

    land = Land("c1")
    land.apply(estate(integration("a", managed())))
    sights = asyncio.run(read_clusters({"c1": Narrow(land.apis["c1"])}, {"c1": ["ns"]}))
    seen = sights["c1"].seen
    assert (len(seen.found), seen.gaps, seen.error) == (2, {}, "")
    assert seen.notes == (
        "c1: may not look into all namespaces, so ours are only looked for in ns",
    )


def test_what_fails_fails_alone_and_keeps_what_is_to_be_removed() -> None:
    """In its namespace nothing is removed; elsewhere everything is."""
    land = Land("c1")
    other = managed(where=namespace(name="other"))
    many = managed(shards=20)
    land.apply(estate(integration("a", many), integration("b", managed()), integration("c", other)))
    wanted = estate(integration("a", managed(shards=20, extraArgs="--x")))
    calls: list[str] = []

    def fault(call: str) -> None:
        calls.append(call)
        if calls.count("apply") == 3 and call == "apply":
            raise ObjectRefusedError("c1: refused (422): no")

    land.apis["c1"].fault = fault
    done = land.apply(wanted, allow_mass_delete=True)
    told = {(each.change.namespace, each.outcome) for each in done}
    assert told == {
        ("ns", ObjectOutcome.CONFIGURED),
        ("ns", ObjectOutcome.REFUSED),
        ("ns", ObjectOutcome.SKIPPED),
        ("other", ObjectOutcome.REMOVED),
    }
    assert sum(each.outcome is ObjectOutcome.REFUSED for each in done) == 1


def test_a_service_comes_first_and_what_goes_goes_last() -> None:
    """Within a namespace."""
    land = Land("c1")
    land.apply(estate(integration("gone", managed(shards=1))))
    order: list[tuple[str, ObjectAction]] = []
    wanted = estate(integration("a", managed(shards=2)))
    sights = land.read(wanted)
    changes = land.plan(wanted)
    objects = {key: each for sight in sights.values() for key, each in sight.objects.items()}
    executor = ObjectExecutor(clusters=land.clusters(), objects=objects)
    asyncio.run(
        apply(
            changes,
            executor,
            on_result=lambda done: order.append((done.change.kind, done.change.verb)),
        )
    )
    assert order == [
        ("Deployment", ObjectAction.CREATE),
        ("Deployment", ObjectAction.CREATE),
        ("Deployment", ObjectAction.REMOVE),
    ]
    fresh = Land("c1")
    kinds = [done.change.kind for done in fresh.apply(wanted)]
    assert kinds == ["Service", "Deployment", "Deployment"]


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_is_under_way_on_one_cluster_than_is_allowed(limit: int) -> None:
    """However much there is to do."""

    class Slow(SimulatedCluster):
        busy = most = 0

        async def apply(
            self,
            document: Document,
            *,
            before: Object | None = None,
            take: Take = Take.NOTHING,
            dry_run: bool = False,
            exact: bool = False,
        ) -> Applied:
            Slow.busy += 1
            Slow.most = max(Slow.most, Slow.busy)
            await asyncio.sleep(0.001)
            Slow.busy -= 1
            return await super().apply(document, before=before, take=take, dry_run=dry_run)

    Slow.most = 0
    land = Land("c1")
    changes = land.plan(estate(integration("a", managed(shards=9))))
    clusters = {"c1": Slow(land.apis["c1"])}
    asyncio.run(
        apply(changes, ObjectExecutor(clusters=clusters, objects={}, concurrency_max=limit))
    )
    assert Slow.most == limit


def test_what_is_given_back_is_not_ours_and_is_as_it_was() -> None:
    """And planned as something to adopt from there on."""
    land = Land("c1")
    wanted = estate(integration("a", managed()))
    land.apply(wanted)
    before = {where: record.fields for where, record in land.records().items()}
    sights = land.read(wanted)
    changes = land.plan(wanted)
    pairs = [(each, sights["c1"].objects[each.key]) for each in changes]
    done = asyncio.run(release(pairs, ObjectExecutor(clusters=land.clusters(), objects={})))
    assert {each.outcome for each in done} == {ObjectOutcome.RELEASED}
    assert {where: record.fields for where, record in land.records().items()} == before
    assert set(verbs(land.plan(wanted)).values()) == {ObjectAction.ADOPT}
    assert not any(change.restarts for change in land.foreseen(wanted, adopt=True))


def test_a_dry_run_changes_nothing_and_says_the_same() -> None:
    """The server decides as it would."""
    land = Land("c1")
    land.apply(estate(integration("a", managed()), integration("b", managed())))
    there = land.records()
    wanted = estate(integration("a", managed("bbbbbbb")))
    sights = land.read(wanted)
    objects = {key: each for sight in sights.values() for key, each in sight.objects.items()}
    executor = ObjectExecutor(clusters=land.clusters(), objects=objects)
    changes = land.plan(wanted)
    done = asyncio.run(apply(changes, executor, dry_run=True))
    assert land.records() == there
    real = land.apply(wanted)
    assert [each.outcome for each in done] == [each.outcome for each in real]
    assert [each.outcome for each in real] == [ObjectOutcome.CONFIGURED, ObjectOutcome.REMOVED]


def test_a_tag_that_runs_with_the_digest_it_is_to_have_is_left_as_it_is_written() -> None:
    """Its pods say so; who runs another digest, or does not say, gets the new one."""
    land = Land("c1")
    wanted = estate(integration("a", managed(accounts=True)))
    land.apply(wanted)
    digest = f"sha256:{'1' * 64}"
    pulled = {"one": digest, "two": f"sha256:{'2' * 64}"}
    for account, each in pulled.items():
        name = f"qontract-reconcile-a-{account}"
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-x",
                "namespace": "ns",
                "labels": {"tidegate.dev/shard": name},
            },
            "spec": {"containers": [{"name": "int", "image": f"{REPOSITORY}:aaaaaaa"}]},
            "status": {"containerStatuses": [{"name": "int", "imageID": f"{REPOSITORY}@{each}"}]},
        }
        land.somebody_applies(pod)
    settled = with_digests(wanted, {f"{REPOSITORY}:aaaaaaa": digest})
    sights = asyncio.run(read_clusters(land.clusters(), {"c1": ["ns"]}, pods=True))
    changes = verbs(changes_of(settled, {"c1": sights["c1"].seen}))
    assert changes == {
        "qontract-reconcile": ObjectAction.UNCHANGED,
        "qontract-reconcile-a-one": ObjectAction.UNCHANGED,
        "qontract-reconcile-a-two": ObjectAction.CONFIGURE,
        "qontract-reconcile-a-three": ObjectAction.CONFIGURE,
    }
