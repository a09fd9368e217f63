"""Workloads of a simulated cluster: whatever is wished in whatever order, it ends.

Never more pods than allowed on the way, never fewer available than promised, and the status says
what is there.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kubernetes.port import (
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    POD,
    STATEFUL_SET,
    ObjectEvent,
    ObjectRefusedError,
    ResourceKind,
)
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.behaviour_doc import Behaviour, BehaviourRule, ContainerStart
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.fields import unflatten
from tidegate.kubernetes.simulated.life.nodes import Nodes
from tidegate.model.time import SECOND, Duration, parse_instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually

START = parse_instant("2026-11-15T10:00:00Z")
GOOD = ("good-1", "good-2", "slow")
BAD = {
    "stuck": ContainerStart.NEVER_READY,
    "crashing": ContainerStart.CRASH_LOOP,
    "missing": ContainerStart.NO_IMAGE,
}
BEHAVIOUR = Behaviour(
    rules=(
        BehaviourRule({"ready_after": Duration(150 * SECOND)}, tag="slow"),
        *(BehaviourRule({"start": start}, tag=tag) for tag, start in BAD.items()),
    )
)
DEADLINE_S, LONG_S = 300, 7200
SHARES = st.sampled_from([0, 1, 2, "25%", "50%", "100%"])
TAGS = st.sampled_from([*GOOD, *BAD])
# How long is waited, and what is wished then: replicas and a tag.
WISHES = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 6), TAGS), min_size=1, max_size=5)


def workload(kind: ResourceKind, replicas: int, tag: str, **fields: Any) -> dict[str, Any]:
    """A workload of one container."""
    labels = {"app": "a"}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"namespace": "ns", "name": "a"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "int", "image": f"registry.test/a:{tag}"}]},
            },
            **fields,
        },
    }


class Witness:
    """Hears of everything that happens, and remembers how many pods there were at each birth."""

    def __init__(self, api: SimulatedApi) -> None:
        self._api = api
        self.staying: set[str] = set()
        self.replicas = 0
        # Pods that stay, and replicas that were wished, whenever a pod was made.
        self.births: list[tuple[int, int]] = []
        # Of every status: whether its pods were wished so, how many were, and how many available.
        self.available: list[tuple[int, int]] = []

    async def watch(self) -> None:
        """Until it is cancelled."""
        async for key, change, record in self._api.happened(1):
            document = unflatten(record.fields)
            if key[0] == POD:
                ending = document["metadata"].get("deletionTimestamp")
                if change is ObjectEvent.DELETED or ending:
                    self.staying.discard(key[2])
                else:
                    self.staying.add(key[2])
                if change is ObjectEvent.ADDED:
                    self.births.append((len(self.staying), self.replicas))
            elif key[0] in (DEPLOYMENT, STATEFUL_SET):
                self.replicas = document["spec"]["replicas"]
                available = document.get("status", {}).get("availableReplicas", 0)
                self.available.append((self.replicas, available))


class Ending:
    """What is there in the end."""

    def __init__(self, api: SimulatedApi, kind: ResourceKind, witness: Witness) -> None:
        record = api.records[kind, "ns", "a"]
        document = unflatten(record.fields)
        self.generation, self.status = record.generation, document["status"]
        self.revision = document["spec"]["template"]["spec"]["containers"][0]["image"]
        self.pods = [unflatten(each.fields) for _, each in api.listed(POD, "ns")]
        self.witness = witness
        self.version = api.version

    @property
    def images(self) -> set[str]:
        """What the pods run."""
        return {pod["spec"]["containers"][0]["image"] for pod in self.pods}

    def condition(self, kind: str) -> dict[str, str]:
        """One of its conditions."""
        (found,) = (each for each in self.status["conditions"] if each["type"] == kind)
        return dict(found)


def live(kind: ResourceKind, wishes: Sequence[tuple[int, int, str]], **fields: Any) -> Ending:
    """Make wishes one after the other, and wait."""

    async def story(loop: VirtualLoop) -> Ending:
        clock = VirtualClock(loop)
        api = SimulatedApi("c", clock=clock)
        api.namespaces.add("ns")
        us, witness = SimulatedCluster(api), Witness(api)
        tasks = [
            asyncio.create_task(Nodes(api, clock, BEHAVIOUR).run()),
            asyncio.create_task(witness.watch()),
        ]
        for wait_s, replicas, tag in wishes:
            await asyncio.sleep(wait_s)
            await us.apply(workload(kind, replicas, tag, **fields))
        await asyncio.sleep(LONG_S)
        ending = Ending(api, kind, witness)
        for task in tasks:
            assert not task.done(), task.exception()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        return ending

    return run_virtually(story, START)


def share(value: int | str, of: int, *, up: bool) -> int:
    """Worked out once more, in whole numbers."""
    if isinstance(value, int):
        return value
    part = of * int(value.rstrip("%"))
    return -(-part // 100) if up else part // 100


def rolling(surge: int | str, missing: int | str) -> dict[str, Any]:
    """The fields of a Deployment that say how it moves."""
    return {
        "strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": missing}},
        "progressDeadlineSeconds": DEADLINE_S,
    }


@given(WISHES, SHARES, SHARES)
def test_a_deployment_ends_and_its_status_says_which(
    wishes: Sequence[tuple[int, int, str]], surge: int | str, missing: int | str
) -> None:
    """All pods are new and available; or it is too late, and the condition says so."""
    ending = live(DEPLOYMENT, wishes, **rolling(surge, missing))
    _, replicas, tag = wishes[-1]
    status = ending.status
    assert status["observedGeneration"] == ending.generation
    assert status.get("replicas", 0) == len(ending.pods), "nothing is still stopping"
    if tag in BAD and replicas:
        late = ending.condition("Progressing")
        if late["reason"] == "NewReplicaSetAvailable":
            # As with the real one: none of it was all of it once, and more of it is no rollout.
            assert (0, tag) in [wish[1:] for wish in wishes]
            assert status.get("availableReplicas", 0) == 0
            return
        assert (late["status"], late["reason"]) == ("False", "ProgressDeadlineExceeded")
        assert status.get("availableReplicas", 0) <= replicas
        return
    counts = [status.get(f"{name}Replicas", 0) for name in ("updated", "ready", "available")]
    assert counts == [replicas] * 3
    assert len(ending.pods) == replicas
    assert ending.images <= {f"registry.test/a:{tag}"}
    assert ending.condition("Progressing")["reason"] == "NewReplicaSetAvailable"
    assert ending.condition("Available")["status"] == "True"


@given(WISHES, SHARES, SHARES)
def test_a_deployment_never_has_more_pods_than_allowed(
    wishes: Sequence[tuple[int, int, str]], surge: int | str, missing: int | str
) -> None:
    """A pod is made only where the wish and its surge have room for it."""
    ending = live(DEPLOYMENT, wishes, **rolling(surge, missing))
    for staying, replicas in ending.witness.births:
        assert staying <= replicas + share(surge, replicas, up=True)


@given(st.integers(1, 6), st.lists(TAGS, max_size=4), SHARES, SHARES)
def test_a_deployment_that_was_available_stays_so(
    replicas: int, tags: Sequence[str], surge: int | str, missing: int | str
) -> None:
    """Whatever images it is given, as many pods serve as were promised."""
    wishes = [(0, replicas, "good-1"), *((200, replicas, tag) for tag in tags)]
    ending = live(DEPLOYMENT, wishes, **rolling(surge, missing))
    most, fewer = share(surge, replicas, up=True), share(missing, replicas, up=False)
    least = replicas - (fewer or (0 if most else 1))
    seen = [available for _, available in ending.witness.available]
    first = seen.index(replicas)
    assert all(available >= least for available in seen[first:])


@given(WISHES, st.sampled_from(["OrderedReady", "Parallel"]))
def test_a_stateful_set_has_each_number_once(
    wishes: Sequence[tuple[int, int, str]], manner: str
) -> None:
    """Never more pods than wished, and in the end all of them new, if none got stuck."""
    ending = live(STATEFUL_SET, wishes, podManagementPolicy=manner)
    assert all(staying <= replicas for staying, replicas in ending.witness.births)
    _, replicas, tag = wishes[-1]
    if any(each in BAD for _, _, each in wishes):
        return
    names = sorted(pod["metadata"]["name"] for pod in ending.pods)
    assert names == [f"a-{number}" for number in range(replicas)]
    assert ending.images <= {f"registry.test/a:{tag}"}
    assert ending.status["observedGeneration"] == ending.generation
    assert ending.status["availableReplicas"] == replicas
    assert ending.status["currentRevision"] == ending.status["updateRevision"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=3,
)


@given(st.sampled_from([DEPLOYMENT, STATEFUL_SET, JOB, CRON_JOB, POD]), st.data())
def test_whatever_is_applied_is_refused_or_lived_with(
    kind: ResourceKind, data: st.DataObject
) -> None:
    """Any value in the place of any other: the server says no, or the controllers go on."""
    document = full(kind)
    places = list(_places(document["spec"]))
    *way, last = data.draw(st.sampled_from(places))
    node: Any = document["spec"]
    for step in way:
        node = node[step]
    node[last] = data.draw(JSON)

    async def story(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop)
        api = SimulatedApi("c", clock=clock)
        api.namespaces.add("ns")
        running = asyncio.create_task(Nodes(api, clock, BEHAVIOUR).run())
        with suppress(ObjectRefusedError):
            await SimulatedCluster(api).apply(document)
        await asyncio.sleep(LONG_S)
        assert not running.done(), running.exception()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    run_virtually(story, START)


def full(kind: ResourceKind) -> dict[str, Any]:
    """A workload with every field that is looked at."""
    whole = workload(kind, 1, "good-1", minReadySeconds=1, revisionHistoryLimit=1)
    spec = whole["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    container |= {"env": [{"name": "SHARD_ID", "value": "1"}], "ports": [{"containerPort": 1}]}
    spec["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    spec |= rolling(1, "25%")
    job = {"template": spec["template"], "backoffLimit": 1, "ttlSecondsAfterFinished": 1}
    cron: dict[str, Any] = {
        "schedule": "*/10 * * * *",
        "jobTemplate": {"metadata": {"labels": {}}, "spec": job},
    }
    cron["successfulJobsHistoryLimit"] = 1
    specs = {JOB: job, CRON_JOB: cron, POD: spec["template"]["spec"]}
    return {**whole, "spec": specs.get(kind, spec)}


def _places(value: Any, *way: Any) -> Iterator[tuple[Any, ...]]:
    steps: Iterable[Any] = ()
    if isinstance(value, dict):
        steps = value
    elif isinstance(value, list):
        steps = range(len(value))
    for step in steps:
        yield (*way, step)
        yield from _places(value[step], *way, step)
