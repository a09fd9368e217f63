"""Law: no order of events between two requests shows a busy cluster as idle.

OpenShift Cluster Manager answers one request after another, and goes on in between: upgrades start,
finish and disappear, owners ask for upgrades of their own. Whatever a reading shows as idle, on the
versions it shows, was so at one moment while it was read; and so was every upgrade it shows, beside
the version it shows. Readings with a fault are planted, and found.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.planted import assert_found
from tests.rounds import Hands
from tidegate.kinds.upgrades.app.read import survey as reading
from tidegate.kinds.upgrades.app.read.survey import CHANGED, ClusterDetails, Survey
from tidegate.kinds.upgrades.app.read.worlds import world_of
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import gather
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import Organisation, UpgradeWorld
from tidegate.kinds.upgrades.ocm.documents import OcmCluster, OcmPolicyState
from tidegate.kinds.upgrades.ocm.port import Upgradable
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.state import ALL_CLUSTERS, OcmState
from tidegate.kinds.upgrades.ocm.simulated.upgrades import live
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Instant, format_second, parse_instant

START = parse_instant("2026-03-02T08:00:00Z")
NAMES = ("a", "b", "c")
OVER = ("completed", "cancelled")
# Shorter than a phase of an upgrade, as long as several, and longer than all of it.
MINUTES = (1, 2, 5, 9, 11, 31, 95)
# A reading of three clusters takes 12 to 21 requests where nothing changes meanwhile.
REQUESTS_MAX = 22
Truth = tuple[str, tuple[tuple[str, str], ...]]
"""The version of a cluster that is idle, and of each of its node pools."""
Moment = tuple[str, str, str]
"""The version of a cluster, and an upgrade of it by its id with its state."""


def _policies(state: OcmState, name: str) -> Iterator[dict[str, Any]]:
    below = f"{ALL_CLUSTERS}/{name}-id/"
    for path, documents in state.collections.items():
        if path.startswith(below) and path.endswith("/upgrade_policies"):
            yield from documents.values()


def _is_over(policy: dict[str, Any]) -> bool:
    return policy["state"]["value"] in OVER


def _truth(state: OcmState, name: str) -> Truth | None:
    """What an idle cluster runs; None: something is under way on it, or its pools are behind."""
    if not all(map(_is_over, _policies(state, name))):
        return None
    version = str(state.cluster(f"{name}-id")["version"]["raw_id"])
    pools = state.collections.get(f"{ALL_CLUSTERS}/{name}-id/node_pools", {})
    found_ = tuple(sorted((each["id"], each["version"]["raw_id"]) for each in pools.values()))
    return None if any(each != version for _, each in found_) else (version, found_)


class Restless(SimulatedClusters):
    """An environment in which time passes, and owners act, between any two requests."""

    def __init__(self, state: OcmState, clock: Hands, steps: Iterator[tuple[int, str]]) -> None:
        super().__init__(state, clock)
        self._hands = clock
        self._steps = steps
        self.idle: dict[str, set[Truth]] = {name: set() for name in NAMES}
        self.moments: dict[str, set[Moment]] = {name: set() for name in NAMES}
        self.acted = False

    async def _ask(self, *asked: Any, **more: Any) -> tuple[int, Any]:
        await self._pass()
        return await super()._ask(*asked, **more)

    def _state_of(self, path: str, policy: str) -> OcmPolicyState | None:
        """The client asks for it apart, so time passes before."""
        minutes, _ = next(self._steps, (0, ""))
        self._skip(minutes)
        return super()._state_of(path, policy)

    async def _pass(self) -> None:
        minutes, owner = next(self._steps, (0, ""))
        self._skip(minutes)
        if owner and not self.acted:
            self.acted = True
            await owner_asks(self.state, self._hands, owner)
            self._note()

    def _skip(self, minutes: int) -> None:
        self._note()
        for _ in range(minutes):
            self._hands.at = Instant(self._hands.at + 60 * SECOND)
            live(self.state, self._hands.at)
            self._note()

    def _note(self) -> None:
        for name in NAMES:
            if (truth := _truth(self.state, name)) is not None:
                self.idle[name].add(truth)
            version = str(self.state.cluster(f"{name}-id")["version"]["raw_id"])
            for each in _policies(self.state, name):
                self.moments[name].add((version, each["id"], each["state"]["value"]))


async def owner_asks(state: OcmState, clock: Hands, name: str) -> None:
    """The owner of a cluster has it upgraded, if that can be asked for."""
    document = state.cluster(f"{name}-id")
    upgrades = document["version"]["available_upgrades"]
    if upgrades:
        of = Upgradable(f"{name}-id", bool(document["hypershift"]["enabled"]))
        at = format_second(Instant(clock.at + 6 * 60 * SECOND))
        try:
            await SimulatedClusters(state, clock).create_policy(of, upgrades[-1], at)
        except OutsideError:
            return


def _cluster(name: str) -> dict[str, Any]:
    labels = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *", "mutexes": "m"}
    return {"name": name, "org": "o", "version": "4.16.3", "labels": labels}


def _document(clusters: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "now": format_second(START),
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": clusters,
        "versions": [{"version": each} for each in ("4.16.2", "4.16.3", "4.16.4", "4.16.5")],
        "pace": {"pending": "1m", "takes": "5m", "pool_takes": "4m", "kept": "1m"},
    }


@st.composite
def _worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Three clusters that share a mutex, of which one or two are on their way."""
    clusters = []
    busy = draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=2))
    for name in NAMES:
        hosted = draw(st.booleans())
        cluster = _cluster(name)
        if hosted:
            pools = draw(st.lists(st.sampled_from(("4.16.3", "4.16.2")), min_size=1, max_size=2))
            cluster |= {
                "product": "rosa",
                "hypershift": True,
                "node_pools": [{"id": f"p{i}", "version": each} for i, each in enumerate(pools)],
            }
        if name in busy:
            begun = draw(st.sampled_from(("pending", "scheduled", "started")))
            ahead = draw(st.sampled_from((1, 3, 7)))
            policy = {
                "id": f"{name}-p",
                "version": "4.16.4",
                "state": begun,
                "next_run": format_second(Instant(START + ahead * 60 * SECOND)),
            }
            cluster["upgrade_policies"] = [policy]
        clusters.append(cluster)
    return _document(clusters)


def _steps(owners: tuple[str, ...]) -> st.SearchStrategy[list[tuple[int, str]]]:
    """Time passes between a few requests; before each of the others nothing happens.

    Were it to pass before most of them, every upgrade would be over before its cluster is read.
    """
    jumps = st.dictionaries(
        st.integers(0, REQUESTS_MAX - 1),
        st.tuples(st.sampled_from(MINUTES), st.sampled_from(owners)),
        min_size=1,
        max_size=3,
    )
    return jumps.map(lambda some: [some.get(at, (0, "")) for at in range(REQUESTS_MAX)])


STEPS = _steps(("", "", "", *NAMES))
QUIET = _steps(("",))


def _survey(manager: Restless) -> Survey:
    read = asyncio.run(reading.survey(manager))
    manager._note()
    return read


def _read(manager: Restless) -> UpgradeWorld:
    return world_of(_survey(manager), [Organisation("o", "O")], manager._hands.now())


def _restless(document: dict[str, Any], steps: list[tuple[int, str]]) -> Restless:
    world = read_world(document)
    return Restless(found(world), Hands(world.now), iter(steps))


@settings(max_examples=100)
@given(_worlds(), STEPS)
def test_what_is_read_as_idle_was_idle(
    document: dict[str, Any], steps: list[tuple[int, str]]
) -> None:
    """With the versions that are shown, at one moment of the reading."""
    manager = _restless(document, steps)
    world = _read(manager)
    (fleet,) = gather(world, world.now)
    for member in fleet.members:
        if member.progress.occupies:
            continue
        cluster = member.cluster
        pools = tuple(sorted((each.id, each.version) for each in cluster.node_pools))
        assert (cluster.version, pools) in manager.idle[cluster.name], cluster.name


@settings(max_examples=100)
@given(_worlds(), STEPS)
def test_an_upgrade_is_shown_beside_the_version_of_its_moment(
    document: dict[str, Any], steps: list[tuple[int, str]]
) -> None:
    """None is shown as under way beside the version that it reached since."""
    manager = _restless(document, steps)
    read = _survey(manager)
    for cluster in read.clusters:
        details = read.details[cluster.id]
        every = (details.policies, *details.pool_policies.values())
        for policy in (each for some in every for each in some if not details.error):
            if policy.state is not None:
                moment = (cluster.version.raw_id, policy.id, policy.state.value)
                assert moment in manager.moments[cluster.name]


@settings(max_examples=120)
@given(_worlds(), QUIET)
def test_no_order_of_requests_starts_a_peer(
    document: dict[str, Any], steps: list[tuple[int, str]]
) -> None:
    """Owners apart: nothing starts while another cluster with the mutex is under way, and nothing
    asks for the version that a cluster has already.
    """
    manager = _restless(document, steps)
    world = _read(manager)
    plan = decide(world, world.now)
    members = {each.cluster.uuid: each.cluster for each in plan.members}
    for action in plan.actions:
        step, mine = action.change, members[action.target]
        assert isinstance(step, UpgradeStep)
        for name in set(NAMES) - {mine.name}:
            beside = f"{mine.name} starts beside {name}"
            if step.doing is StepKind.UPGRADE:
                assert _truth(manager.state, name) is not None, beside
            elif step.doing is StepKind.POOL:  # of several that are half upgraded, one goes on
                assert all(map(_is_over, _policies(manager.state, name))), beside
        if step.doing is StepKind.UPGRADE:
            there = manager.state.cluster(mine.ident)["version"]["raw_id"]
            assert there != step.revision, f"{mine.name} is on {there} already"


def test_what_keeps_changing_counts_as_under_way() -> None:
    """A cluster that is another one each time it is read is not read, and its peers wait."""
    clusters = [_cluster("a"), _cluster("b"), _cluster("c")]
    clusters[0]["available_upgrades"] = ["4.16.4", "4.16.5"]
    manager = _restless(_document(clusters), [])
    moves = iter(("4.16.4", "4.16.5", "4.16.4", "4.16.5"))
    read_one = manager.cluster

    async def cluster(ident: str) -> OcmCluster | None:
        if ident == "a-id":
            manager.state.cluster(ident)["version"]["raw_id"] = next(moves)
        return await read_one(ident)

    manager.cluster = cluster  # type: ignore[method-assign,assignment]
    world = _read(manager)
    assert world.unread == {"a-uuid": CHANGED}
    assert not decide(world, world.now).actions


def test_what_finished_in_between_is_read_again() -> None:
    """And then shown as it is: on its version, idle; another cluster with its mutex may start."""
    policy = {"id": "p", "version": "4.16.5", "state": "started"}
    clusters = [{**_cluster("a"), "upgrade_policies": [policy]}, _cluster("b"), _cluster("c")]
    manager = _restless(_document(clusters), [(0, "")] * 5 + [(9, "")])
    world = _read(manager)
    assert {each.name: each.version for each in world.clusters}["a"] == "4.16.5"
    assert not world.unread
    plan = decide(world, world.now)
    assert [each.target for each in plan.actions] == ["b-uuid"]


# Planted faults


async def versions_once(
    manager: Restless, cluster: OcmCluster, *more: Any
) -> tuple[OcmCluster, ClusterDetails]:
    """Versions are read before policies, and not again."""
    return cluster, await reading._details(manager, cluster, *more)


async def versions_again_before(
    manager: Restless, cluster: OcmCluster, *more: Any
) -> tuple[OcmCluster, ClusterDetails]:
    """Versions are read twice, and both times before policies."""
    return await versions_once(manager, await _cluster_of(manager, cluster), *more)


async def versions_after(
    manager: Restless, cluster: OcmCluster, *more: Any
) -> tuple[OcmCluster, ClusterDetails]:
    """Versions are read after policies, and not held against those before."""
    details = await reading._details(manager, cluster, *more)
    return await _cluster_of(manager, cluster), details


async def policies_once(
    manager: Restless, cluster: OcmCluster, *more: Any
) -> tuple[OcmCluster, ClusterDetails]:
    """Where the version changed, it is read until it stays; policies are not read again."""
    details = await reading._details(manager, cluster, *more)
    again = await _cluster_of(manager, cluster)
    while again.version.raw_id != cluster.version.raw_id:
        cluster, again = again, await _cluster_of(manager, cluster)
    return again, details


async def _cluster_of(manager: Restless, cluster: OcmCluster) -> OcmCluster:
    again = await manager.cluster(cluster.id)
    assert again is not None
    return again


@pytest.mark.parametrize(
    "law, fault",
    [
        (test_what_is_read_as_idle_was_idle, versions_once),
        (test_what_is_read_as_idle_was_idle, versions_again_before),
        (test_no_order_of_requests_starts_a_peer, versions_once),
        (test_no_order_of_requests_starts_a_peer, versions_again_before),
        (test_an_upgrade_is_shown_beside_the_version_of_its_moment, versions_after),
        (test_an_upgrade_is_shown_beside_the_version_of_its_moment, policies_once),
    ],
)
def test_faults_of_readings_are_found(
    law: Callable[[], None], fault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by a law that shows what follows from it."""
    monkeypatch.setattr(reading, "_read", fault)
    assert_found(law, monkeypatch)
