"""What is kept up change by change says what a fresh list says, whatever was missed in between."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.hub_stage import GROUPS, PARTITION, HubStage
from tests.policies import body, spec, template
from tidegate.kinds.policies.core.names import CLUSTER_LABEL, POLICY_LABEL, pointer_map
from tidegate.kinds.policies.core.revision import revision_object, revision_of
from tidegate.kinds.policies.fleet import PolicyFleet
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.view import PolicyView, PolicyViews, view_of
from tidegate.kinds.policies.observation import PolicyObservation
from tidegate.kubernetes.port import (
    CLUSTER_GROUP_UPGRADE,
    CONFIG_MAP,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    POLICY_SET,
    ROLLOUT,
    ResourceKind,
)
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.target import Target

CLUSTERS = [f"{group}-{number}" for group in GROUPS for number in (1, 2)]
# More turns of the event loop than any watch takes to bring what happened.
TURNS = 50

_clusters = st.sampled_from(CLUSTERS)
_words = st.sampled_from(["1", "2", "3"])
_policies = st.sampled_from(["web", "db"])


def _point(stage: HubStage, cluster: str, value: str) -> None:
    labels = {CLUSTER_LABEL: cluster}
    data = {"web": f"{value * 12}", "db": "0" * 12}
    metadata = {"labels": labels}
    stage.hub.put(CONFIG_MAP, "policies", pointer_map(cluster), metadata=metadata, data=data)


def _drop(stage: HubStage, kind: ResourceKind, namespace: str, name: str) -> None:
    if (kind, namespace, name) in stage.hub.api.records:
        stage.hub.drop(kind, namespace, name)


def _spoil(stage: HubStage, value: str) -> None:
    metadata = {"labels": {POLICY_LABEL: "policies.web"}}
    name = f"web-rev-{value * 12}"
    stage.hub.put(CONFIG_MAP, "policies", name, metadata=metadata, data={"0": "no revision"})


def _root(stage: HubStage) -> dict[str, Any]:
    """The root of the policy; empty: there is none."""
    record = stage.hub.api.records.get((POLICY, "policies", "web"))
    return stage.hub.api.document(record) if record is not None else {}


def _mark(stage: HubStage, marked: bool) -> None:
    """Argo CD says that it writes the root, or no more."""
    root = _root(stage)
    if root:
        labels = {"argocd.argoproj.io/instance": "fleet"} if marked else {}
        metadata = {"annotations": root["metadata"].get("annotations") or {}, "labels": labels}
        stage.hub.put(POLICY, "policies", "web", metadata=metadata, spec=root["spec"])


def _disable(stage: HubStage, disabled: bool) -> None:
    root = _root(stage)
    if root:
        notes = {"annotations": root["metadata"].get("annotations") or {}}
        edited = {**root["spec"], "disabled": disabled}
        stage.hub.put(POLICY, "policies", "web", metadata=notes, spec=edited)


def _keep(stage: HubStage, value: str, action: str) -> str:
    """A revision is kept on the hub; its name."""
    wanted = spec(template(spec=body(value)), remediationAction=action)
    revision = revision_of(wanted)
    document = revision_object("policies", "web", revision)
    metadata = {"labels": document["metadata"]["labels"]}
    name = document["metadata"]["name"]
    stage.hub.put(CONFIG_MAP, "policies", name, metadata=metadata, data=document["data"])
    return revision.name


def _point_at_kept(stage: HubStage, clusters: Iterable[str], value: str, action: str) -> None:
    revision = _keep(stage, value, action)
    for cluster in clusters:
        metadata = {"labels": {CLUSTER_LABEL: cluster}}
        name = pointer_map(cluster)
        stage.hub.put(CONFIG_MAP, "policies", name, metadata=metadata, data={"web": revision})


def _upgrade(stage: HubStage, policy: str, succeeded: bool) -> None:
    """A ClusterGroupUpgrade of a policy is on its way, or has succeeded."""
    stage.hub.put(CLUSTER_GROUP_UPGRADE, "upgrades", "batch", spec={"managedPolicies": [policy]})
    conditions = [{"type": "Succeeded", "status": str(succeeded)}]
    batch = (CLUSTER_GROUP_UPGRADE, "upgrades", "batch")
    stage.hub.api.put_status(batch, {"conditions": conditions})


def _unplace(stage: HubStage) -> None:
    _drop(stage, PLACEMENT, "policies", "tidegate-web")


def _undecide(stage: HubStage) -> None:
    _drop(stage, PLACEMENT_DECISION, "policies", "tidegate-web-decision-1")


_Step = Callable[[HubStage], object]
# What others do to what Tidegate wrote, or to what it needs for itself.
_OTHERS: st.SearchStrategy[_Step] = st.one_of(
    st.booleans().map(lambda marked: lambda stage: _mark(stage, marked)),
    st.booleans().map(lambda disabled: lambda stage: _disable(stage, disabled)),
    st.builds(
        lambda names, value, action: lambda stage: _point_at_kept(stage, names, value, action),
        st.sets(_clusters, min_size=1),
        _words,
        st.sampled_from(["enforce", "inform"]),
    ),
    st.builds(lambda name, end: lambda stage: _upgrade(stage, name, end), _policies, st.booleans()),
    st.just(lambda stage: _drop(stage, CLUSTER_GROUP_UPGRADE, "upgrades", "batch")),
    st.just(_unplace),
    st.just(_undecide),
    # With the scheduler at it again.
    st.just(lambda stage: stage.hub.put(PLACEMENT, "policies", "tidegate-web", spec={})),
    st.just(lambda stage: stage.bind("fleet")),
    st.sampled_from(["leave", "putBack"]).map(lambda way: lambda stage: stage.declare(onDrift=way)),
)
_STEPS: st.SearchStrategy[_Step] = st.one_of(
    _words.map(lambda value: lambda stage: stage.write(value)),
    _words.map(lambda value: lambda stage: stage.write(value, "policies")),
    _clusters.map(lambda name: lambda stage: stage.hub.put_cluster(name, {}, available=False)),
    _clusters.map(lambda name: lambda stage: stage.hub.put_cluster(name, {"env": "dev"})),
    _clusters.map(lambda name: lambda stage: stage.hub.put_cluster(name, {}, taint="unreachable")),
    _clusters.map(lambda name: lambda stage: _drop(stage, MANAGED_CLUSTER, "", name)),
    st.builds(lambda name, v: lambda stage: _point(stage, name, v), _clusters, _words),
    _clusters.map(
        lambda name: lambda stage: _drop(stage, CONFIG_MAP, "policies", pointer_map(name))
    ),
    _clusters.map(lambda name: lambda stage: _drop(stage, POLICY, name, "policies.web")),
    _words.map(lambda value: lambda stage: _spoil(stage, value)),
    _policies.map(lambda name: lambda stage: stage.declare_policy(name)),
    _policies.map(lambda name: lambda stage: _drop(stage, ROLLOUT, "policies", name)),
    _policies.map(lambda name: lambda stage: _drop(stage, PLACEMENT_BINDING, "policies", name)),
    _policies.map(
        lambda name: (
            lambda stage: stage.hub.put(POLICY_SET, "policies", "all", spec={"policies": [name]})
        )
    ),
    st.just(lambda stage: stage.hub.put(PLACEMENT, "policies", "fleet", spec={})),
    st.booleans().map(lambda paused: lambda stage: stage.declare(paused=paused)),
    _OTHERS,
    st.just(lambda stage: stage.pass_time(30)),
    # What happened is forgotten: every watch has to read anew.
    st.just(lambda stage: stage.hub.api.forget()),
)


_Read = dict[str, tuple[PolicyView, list[Target]] | str]


def _plain(shelves: HubShelves) -> _Read:
    """Every policy, from nothing."""
    found: _Read = {}
    for name, rollout in shelves.declared().items():
        try:
            view = view_of(shelves, rollout) if not isinstance(rollout, UserError) else rollout
            if isinstance(view, UserError):
                raise view
            found[name] = (view, [view.report(each) for each in sorted(view.clusters)])
        except UserError as error:
            found[name] = str(error)
    return found


def _kept(shelves: HubShelves, views: PolicyViews) -> _Read:
    """Every policy, with what is known of it already."""
    found: _Read = {}
    for name, rollout in shelves.declared().items():
        try:
            if isinstance(rollout, UserError):
                raise rollout
            view = views.of(rollout)
            found[name] = (view, list(views.reports(view, sorted(view.clusters))))
        except UserError as error:
            found[name] = str(error)
    return found


def _lose(stage: HubStage) -> None:
    _drop(stage, POLICY, "dev-1", "policies.web")


def _unpoint(stage: HubStage) -> None:
    _drop(stage, CONFIG_MAP, "policies", pointer_map("dev-1"))


def _forget(stage: HubStage) -> None:
    stage.hub.api.forget()


@example(steps=[(_lose, "look")], adopted=True)
@example(steps=[(_unpoint, "look")], adopted=True)
@example(steps=[(_unplace, "look"), (_undecide, "look"), (_forget, "work")], adopted=True)
@example(
    steps=[
        (lambda stage: _upgrade(stage, "db", False), "look"),
        (lambda stage: _upgrade(stage, "web", False), "look"),
        (lambda stage: _upgrade(stage, "web", True), "look"),
        (lambda stage: _mark(stage, True), "look"),
        (lambda stage: _mark(stage, False), "look"),
    ],
    adopted=True,
)
@example(
    # Most clusters are pointed at what the root was not made for, one by one, and no more.
    steps=[
        *(
            (partial(_point_at_kept, clusters=[e], value="3", action="inform"), "look")
            for e in CLUSTERS
        ),
        *(
            (partial(_point_at_kept, clusters=[e], value="1", action="enforce"), "look")
            for e in CLUSTERS
        ),
    ],
    adopted=True,
)
@example(steps=[(_lose, "nothing"), (_unpoint, "nothing"), (_forget, "look")], adopted=True)
@given(
    st.lists(st.tuples(_STEPS, st.sampled_from(["look", "work", "nothing"])), max_size=12),
    st.booleans(),
)
def test_what_is_kept_up_is_what_a_fresh_list_says(
    steps: list[tuple[_Step, str]], adopted: bool
) -> None:
    """After every step, for every policy: the same view and the same reports, or the same error."""
    stage = HubStage()

    async def story() -> None:
        worker = stage.start()
        if adopted:
            stage.write("1", "policies")
            stage.pass_time(30)
            await worker.fleet.adopt(PARTITION)
        live = HubShelves(stage.hub.client(), fresh_s=0.0)
        views, kept = PolicyViews(live), PolicyFleet(stage.hub.client(), fresh_s=0.0, settle_s=0.0)
        follower = asyncio.create_task(_follow(live))
        try:
            for step, then in steps:
                step(stage)
                if then == "work":
                    await asyncio.gather(worker.round(), return_exceptions=True)
                if then == "nothing":
                    continue  # so that more happens before the watches hear of it
                for _ in range(TURNS):
                    await asyncio.sleep(0)
                await live.mirror.fresh()
                fresh = HubShelves(stage.hub.client(), fresh_s=0.0)
                await fresh.mirror.fresh()
                assert not live.gaps()
                assert _kept(live, views) == _plain(fresh)
                other = PolicyFleet(stage.hub.client(), fresh_s=0.0, settle_s=0.0)
                for partition in await other.partitions():
                    assert await _observed(kept, partition) == await _observed(other, partition)
        finally:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)

    asyncio.run(story())


async def _observed(fleet: PolicyFleet, partition: str) -> PolicyObservation | str:
    try:
        return await fleet.observe(partition)
    except OutsideError as error:
        return str(error)


async def _follow(shelves: HubShelves) -> None:
    async for _ in shelves.mirror.changes():
        pass


def test_a_policy_is_looked_at_when_something_of_it_changes_and_only_then() -> None:
    """A pointer of one policy, a status of its root, a heartbeat: the other is left alone."""
    stage = HubStage()
    stage.declare_policy("db")
    heard: list[str] = []

    async def story() -> None:
        fleet = PolicyFleet(stage.hub.client(), fresh_s=0.0, settle_s=0.0)

        async def listen() -> None:
            async for partition in fleet.changes():
                heard.append(partition)  # noqa: PERF401  it never ends

        async def settled() -> list[str]:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            found, heard[:] = sorted(set(heard)), []
            return found

        task = asyncio.create_task(listen())
        try:
            assert await settled() == []
            _point(stage, "dev-1", "1")
            assert await settled() == ["policies/policies.db", "policies/policies.web"]
            _point(stage, "dev-1", "2")
            assert await settled() == ["policies/policies.web"]
            stage.write("2")
            assert await settled() == ["policies/policies.web"]
            root = (POLICY, "web-source", "web")
            stage.hub.api.put_status(root, {"compliant": "Compliant"})
            stage.hub.put_cluster("dev-1", {"env": "dev"})
            assert await settled() == []
            stage.hub.put_cluster("dev-1", {"env": "dev"}, available=False)
            assert await settled() == ["policies/policies.db", "policies/policies.web"]
            stage.declare(paused=True)
            assert await settled() == ["policies/policies.web"]
            _upgrade(stage, "web", False)
            assert await settled() == ["policies/policies.web"]
            stage.hub.api.put_status((CLUSTER_GROUP_UPGRADE, "upgrades", "batch"), {"batch": 2})
            assert await settled() == []
            _upgrade(stage, "db", False)
            assert await settled() == ["policies/policies.db", "policies/policies.web"]
            _drop(stage, CLUSTER_GROUP_UPGRADE, "upgrades", "batch")
            assert await settled() == ["policies/policies.db"]
            stage.hub.put(PLACEMENT, "policies", "tidegate-web", spec={})
            assert "policies/policies.web" in await settled()
            _unplace(stage)
            assert "policies/policies.web" in await settled()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(story())
