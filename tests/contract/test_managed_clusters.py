"""What every way to an OpenShift Cluster Manager keeps: over HTTP, and inside, for virtual time."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from tests.unit.test_simulated_ocm import world
from tidegate.kinds.upgrades.app.read.survey import Survey, survey
from tidegate.kinds.upgrades.ocm.client.client import ClusterManagerClient
from tidegate.kinds.upgrades.ocm.client.http import OcmLimits
from tidegate.kinds.upgrades.ocm.client.token import ServiceAccount
from tidegate.kinds.upgrades.ocm.documents import LogEntry
from tidegate.kinds.upgrades.ocm.port import (
    LabelOwner,
    LabelType,
    ManagedClusters,
    OcmRefusedError,
    Upgradable,
)
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.server import ManagerServer
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.state import OcmState
from tidegate.kinds.upgrades.ocm.simulated.tokens import Tokens
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant, format_instant, parse_duration, parse_instant
from tidegate.simulation.fast_loop import SimulatedClock
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually

PREFIX = "sre-capabilities.aus."
A, PLANE = Upgradable("a-id"), Upgradable("h-id", hosted=True)
POOL = Upgradable("h-id", pool="np")


class Ground(msgspec.Struct, frozen=True):
    """Where a story happens."""

    manager: ManagedClusters
    state: OcmState
    clock: SimulatedClock

    def ahead(self, duration: str = "10m") -> str:
        """A moment from now, on a whole second."""
        return format_instant(self.clock.now() // 10**9 * 10**9 + parse_duration(duration))


Story = Callable[[Ground], Awaitable[None]]
Play = Callable[..., None]


def over_http(story: Story, document: dict[str, Any] | None = None) -> None:
    """With the client, against a server."""

    async def played() -> None:
        read = read_world(document or world())
        clock = SimulatedClock(SystemClock(), read.now)
        server = ManagerServer(found(read), clock, Tokens(()), FaultDraw(OcmFaults()))
        with socket.create_server(("127.0.0.1", 0)) as ear:
            serving = asyncio.create_task(server.serve(ear))
            url = f"http://127.0.0.1:{ear.getsockname()[1]}"
            account = ServiceAccount(f"{url}/token", "tidegate", "simulated")
            client = ClusterManagerClient(url, account, OcmLimits(page=2))
            try:
                await story(Ground(client, server.state, clock))
            finally:
                await client.close()
                server.stop()
                await serving

    asyncio.run(played())


def inside(story: Story, document: dict[str, Any] | None = None) -> None:
    """With the state itself."""
    read = read_world(document or world())
    clock, state = SimulatedClock(SystemClock(), read.now), found(read)

    async def played() -> None:
        await story(Ground(SimulatedClusters(state, clock), state, clock))

    asyncio.run(played())


@pytest.fixture(params=[over_http, inside])
def play(request: pytest.FixtureRequest) -> Play:
    """Each way in turn."""
    way: Play = request.param
    return way


def test_both_ways_read_the_same(play: Play) -> None:
    """Every list, with its states."""

    async def story(ground: Ground) -> None:
        manager = ground.manager
        made = await manager.create_policy(A, "4.16.4", ground.ahead())
        seen = await survey(manager)
        assert seen.complete
        assert len(seen.labels) == 3
        assert {each.id for each in seen.clusters} == {"a-id", "h-id"}
        (policy,) = seen.details["a-id"].policies
        assert (policy.id, policy.state and policy.state.value) == (made.id, "pending")
        assert [each.id for each in seen.details["h-id"].pools] == ["np"]
        one = await manager.cluster("a-id")
        assert one is not None
        assert "stable-4.17" in (one.version.available_channels or ())
        assert await manager.cluster("nobody's") is None
        assert [each.id for each in (await manager.organizations(["o2"])).items] == ["o2"]
        found_ = await manager.subscriptions(["a-sub"], organizations=["o1", "o2"])
        assert sorted(each.id for each in found_.items) == ["a-sub", "h-sub"]
        assert (await manager.clusters([])).items == ()
        assert (await manager.account()).id
        assert manager.calls()["GET"] > 0

    play(story)


def test_who_was_stopped_and_asks_again_gets_the_same_policy(play: Play) -> None:
    """What stands in the way is ours; what is another's is a refusal, in their words."""

    async def story(ground: Ground) -> None:
        manager, moment = ground.manager, ground.ahead()
        first = await manager.create_policy(A, "4.16.4", moment)
        assert (await manager.create_policy(A, "4.16.4", moment)).id == first.id
        with pytest.raises(OcmRefusedError, match="already an upgrade policy") as caught:
            await manager.create_policy(A, "4.16.4", ground.ahead("2h"))
        assert (caught.value.status, caught.value.code) == (400, "CLUSTERS-MGMT-400")
        await manager.delete_policy(A, first.id)
        await manager.delete_policy(A, first.id)
        assert (await manager.policies(A)).items == ()

    play(story)


def test_hosted_control_planes_and_their_pools_have_policies_with_states(play: Play) -> None:
    """The three kinds of policies are asked for with what each needs, and read with states."""

    async def story(ground: Ground) -> None:
        manager = ground.manager
        for of in (PLANE, A, POOL):
            made = await manager.create_policy(of, "4.16.4", ground.ahead())
            (read,) = (await manager.policies(of)).items
            assert (read.id, read.state and read.state.value) == (made.id, "pending")
            ground.clock.skip(parse_duration("2h"))
        types = [each.body.get("upgrade_type") for each in ground.state.writes]
        assert types == ["ControlPlane", None, "NodePool"]
        (pool,) = (await manager.node_pools("h-id")).items
        assert pool.version.raw_id == "4.16.4"
        assert (await manager.switch_channel("a-id", "stable-4.17")).channel == "stable-4.17"
        with pytest.raises(OcmRefusedError, match=r"stable-9\.9"):
            await manager.switch_channel("a-id", "stable-9.9")

    play(story)


def test_labels_are_set_anew_changed_and_deleted(play: Play) -> None:
    """Whether they were there or not."""

    async def story(ground: Ground) -> None:
        manager, owner = ground.manager, LabelOwner(LabelType.ORGANIZATION, "o1")
        for value in ("a", "b"):
            await manager.set_label(owner, f"{PREFIX}sector-deps.x", value)
            found_ = (await manager.labels(f"{PREFIX}sector-deps.")).items
            assert [each.value for each in found_] == [value]
        await manager.delete_label(owner, f"{PREFIX}sector-deps.x")
        await manager.delete_label(owner, f"{PREFIX}sector-deps.x")
        found_ = (await manager.labels(PREFIX, LabelType.ORGANIZATION, ["o1"])).items
        assert [each.key for each in found_] == [f"{PREFIX}blocked-versions"]

    play(story)


def test_the_labels_of_one_subscription_are_read_alone(play: Play) -> None:
    """By its id, and of no other holder."""

    async def story(ground: Ground) -> None:
        manager = ground.manager
        owner = LabelOwner(LabelType.SUBSCRIPTION, "a-sub")
        await manager.set_label(owner, f"{PREFIX}mutexes", "m")
        every = (await manager.labels(PREFIX, LabelType.SUBSCRIPTION)).items
        mine = (await manager.labels(PREFIX, LabelType.SUBSCRIPTION, subscription="a-sub")).items
        assert {each.subscription_id for each in mine} == {"a-sub"}
        assert len(mine) < len(every)
        assert f"{PREFIX}mutexes" in {each.key for each in mine}
        assert not (await manager.labels(PREFIX, subscription="nowhere")).items

    play(story)


def test_agreements_logs_and_plans_are_made_once(play: Play) -> None:
    """The same again is the same; a log of yesterday is reported again."""

    async def story(ground: Ground) -> None:
        manager, since = ground.manager, ground.clock.now()
        first = await manager.agree("a-id", "g")
        assert (await manager.agree("a-id", "g")).id == first.id
        with pytest.raises(OcmRefusedError, match="404"):
            await manager.agree("a-id", "no such gate")
        entry = LogEntry("a-uuid", "tidegate", "it's", "a 'b'\n- c")
        assert await manager.tell(entry, since) is not None
        assert await manager.tell(entry, since) is None
        ground.clock.skip(parse_duration("25h"))
        assert await manager.tell(entry, Instant(since + parse_duration("24h"))) is not None
        ours = LogEntry("a-uuid", "tidegate", "errors", "- in our words", known="- it's theirs")
        theirs = LogEntry("a-uuid", "tidegate", "errors", "- it's theirs")
        now = ground.clock.now()
        assert await manager.tell(theirs, now) is not None
        assert await manager.tell(ours, now) is None, "its owner knows it in other words"
        other = msgspec.structs.replace(ours, summary="errors of another kind")
        assert await manager.tell(other, now) is not None
        (installed,) = (await manager.installed_addons("h-id")).items
        (newest,) = (await manager.addons()).items
        assert (installed.addon_version.id, newest.version.id) == ("1.0.0", "1.1.0")
        moment = ground.ahead()
        plan = await manager.create_addon_plan("h-id", "log", "1.1.0", moment)
        again = await manager.create_addon_plan("h-id", "log", "1.1.0", moment)
        assert again.id == plan.id
        assert [each.id for each in (await manager.addon_plans("h-id")).items] == [plan.id]
        await manager.delete_addon_plan("h-id", plan.id)

    play(story)


def test_one_malformed_cluster_is_excluded_and_the_others_are_used(play: Play) -> None:
    """It is shown which, and why."""

    async def story(ground: Ground) -> None:
        reading = await ground.manager.clusters(["a-sub", "h-sub"])
        assert [each.id for each in reading.items] == ["h-id"]
        assert reading.complete
        (aside,) = reading.unreadable
        assert (aside.kind, aside.id, aside.of) == ("Cluster", "a-id", "a-sub")
        assert "channel" in aside.why

    broken = world()
    broken["clusters"][0]["omit"] = ["channel"]
    play(story, broken)


def _wanted(seen: Survey) -> list[tuple[Upgradable, str]]:
    """Whom a simple mind would upgrade now: pools that are behind, then all that can go on."""
    found_: list[tuple[Upgradable, str]] = []
    for cluster in seen.clusters:
        details = seen.details[cluster.id]
        if details.error or details.policies or any(details.pool_policies.values()):
            continue
        version = cluster.version
        behind = [each.id for each in details.pools if each.version.raw_id != version.raw_id]
        if behind:
            found_.append((Upgradable(cluster.id, pool=behind[0]), version.raw_id))
        elif version.available_upgrades:
            newest = version.available_upgrades[-1]
            found_.append((Upgradable(cluster.id, cluster.hosted), newest))
    return found_


@pytest.mark.parametrize("seed", range(3))
def test_two_months_of_upgrades_pass_in_virtual_time_under_faults(seed: int) -> None:
    """In the end every target has the newest patch, pools too; none ever had two policies."""
    patches = [
        {"version": f"4.16.{4 + i}", "released_at": f"2026-03-{3 + 7 * i:02d}T12:00:00Z"}
        for i in range(4)
    ]
    document = world(versions=[{"version": "4.16.3"}, *patches])
    document["clusters"] += [
        {"name": f"c{i}", "org": "o1", "version": "4.16.3", "labels": {"soak-days": "0"}}
        for i in range(10)
    ]
    read = read_world(document)
    state = found(read)
    shares = {OcmFault.LOST: 20, OcmFault.CUT: 10, OcmFault.ERROR: 10}
    luck = FaultDraw(OcmFaults(shares, latency_s=0.02), seed)

    async def live(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop)
        manager = SimulatedClusters(state, clock, luck)
        until = parse_instant("2026-05-01T00:00:00Z")
        while clock.now() < until:
            try:
                for of, version in _wanted(await survey(manager)):
                    moment = format_instant(clock.now() // 10**9 * 10**9 + parse_duration("10m"))
                    await manager.create_policy(of, version, moment)
            except OutsideError:
                pass  # the next round looks again
            policies = (
                documents
                for path, documents in state.collections.items()
                if path.endswith("/upgrade_policies")
            )
            assert all(len(documents) <= 1 for documents in policies)
            await asyncio.sleep(3 * 3600)

    run_virtually(live, read.now)
    versions = {each["version"]["raw_id"] for each in state.collections[_CLUSTERS].values()}
    assert versions == {"4.16.7"}
    pool = state.collections[f"{_CLUSTERS}/h-id/node_pools"]["np"]
    assert pool["version"]["raw_id"] == "4.16.7"
    assert luck.met["lost"] > 50


_CLUSTERS = "/api/clusters_mgmt/v1/clusters"
