"""The client of OpenShift Cluster Manager against the simulated one, over HTTP, with faults."""

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from tests.patience import PATIENCE_S
from tests.unit.test_simulated_ocm import world
from tidegate.kinds.upgrades.app.read.survey import survey
from tidegate.kinds.upgrades.ocm.client.client import ClusterManagerClient
from tidegate.kinds.upgrades.ocm.client.http import OcmLimits
from tidegate.kinds.upgrades.ocm.client.token import (
    AccessToken,
    Credentials,
    OfflineToken,
    ServiceAccount,
)
from tidegate.kinds.upgrades.ocm.documents import LogEntry
from tidegate.kinds.upgrades.ocm.port import LabelOwner, LabelType, OcmRefusedError, Upgradable
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.server import ManagerServer
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.tokens import DEFAULT_CREDENTIALS, Tokens
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import OutsideError
from tidegate.model.time import format_instant, parse_duration
from tidegate.simulation.fast_loop import SimulatedClock

PREFIX = "sre-capabilities.aus."
# Everything goes wrong, and passes at once.
STORM = OcmFaults(
    {OcmFault.TOO_MANY: 60, OcmFault.ERROR: 60, OcmFault.CUT: 60, OcmFault.LOST: 120},
    retry_after_s=0,
)
PATIENT = OcmLimits(tries_max=10, pause_s=0.001, timeout_s=60, page=7)
Story = Callable[[str, ManagerServer], Awaitable[None]]
# The client of a story; closed at its end.
_OPEN: list[ClusterManagerClient] = []


def play(
    story: Story,
    document: dict[str, Any] | None = None,
    troubles: OcmFaults = OcmFaults(),  # noqa: B008  it is frozen
    token_lasts_s: float = 900,
) -> None:
    """A story played on a simulation that is served."""

    async def played() -> None:
        read = read_world(document or world())
        server = ManagerServer(
            found(read),
            SimulatedClock(SystemClock(), read.now),
            Tokens(read.credentials, token_lasts_s),
            FaultDraw(troubles),
        )
        with socket.create_server(("127.0.0.1", 0)) as ear:
            serving = asyncio.create_task(server.serve(ear))
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await story(f"http://127.0.0.1:{ear.getsockname()[1]}", server)
            finally:
                while _OPEN:
                    await _OPEN.pop().close()
                server.stop()
                await serving

    asyncio.run(played())


def client(
    url: str, credentials: Credentials | None = None, limits: OcmLimits = PATIENT, addons: int = 2
) -> ClusterManagerClient:
    """A client of a simulation."""
    usual = ServiceAccount(f"{url}/token", "tidegate", "simulated")
    made = ClusterManagerClient(url, credentials or usual, limits, addons)
    _OPEN.append(made)
    return made


def many(number: int, **more: Any) -> dict[str, Any]:
    """A world of many clusters of one organisation, with ids as long as real ones."""
    clusters = [
        {
            "name": f"c{i:04d}-" + "x" * 21,
            "org": "o1",
            "version": "4.16.3",
            "labels": {"soak-days": "0", "workloads": "w"},
            **more,
        }
        for i in range(number)
    ]
    return world(clusters=clusters)


def ahead(server: ManagerServer, duration: str = "10m") -> str:
    """A moment of the simulation, on a whole second."""
    now = server.clock.now() // 10**9 * 10**9
    return format_instant(now + parse_duration(duration))


@pytest.mark.parametrize("troubles", [OcmFaults(), STORM], ids=["calm", "storm"])
def test_everything_is_read_as_it_is_there(troubles: OcmFaults) -> None:
    """In pages of seven, whatever goes wrong meanwhile."""

    async def story(url: str, server: ManagerServer) -> None:
        ours = client(url)
        labels = await ours.labels(PREFIX, LabelType.SUBSCRIPTION)
        assert len(labels.items) == 100
        assert labels.complete
        subscriptions = await ours.subscriptions({each.subscription_id for each in labels.items})
        assert len(subscriptions.items) == 50
        clusters = await ours.clusters([each.id for each in subscriptions.items], ready=True)
        assert {each.id for each in clusters.items} == set(server.state.declared)
        assert clusters.items[0].version.available_channels is None
        one = await ours.cluster(clusters.items[0].id)
        assert one is not None
        assert one.version.available_channels
        assert await ours.cluster("nobody's") is None
        (org,) = (await ours.organizations(["o1"])).items
        assert org.id == "o1"
        of_org = await ours.labels(PREFIX, LabelType.ORGANIZATION, ["o1", "o2"])
        assert [each.key for each in of_org.items] == [f"{PREFIX}blocked-versions"]
        assert {each.label for each in (await ours.gates()).items} == {"api.openshift.com/gate-ocp"}
        assert {each.raw_id for each in (await ours.versions()).items} >= {"4.16.3", "4.17.0"}
        assert (await ours.account()).id

    play(story, many(50), troubles)


@pytest.mark.parametrize("seed", range(3))
def test_a_lost_answer_never_makes_a_second_of_anything(seed: int) -> None:
    """Policies, plans, agreements, logs and labels: each once, however often it was asked for."""

    async def story(url: str, server: ManagerServer) -> None:
        server.luck = FaultDraw(STORM, seed)
        ours = client(url, limits=OcmLimits(tries_max=25, pause_s=0.001, timeout_s=60))
        moment, since = ahead(server), server.clock.now()
        keys = sorted(server.state.declared)

        async def all_of(key: str) -> None:
            name = server.state.declared[key].name
            policy = await ours.create_policy(Upgradable(key), "4.16.4", moment)
            assert (policy.version, policy.next_run) == ("4.16.4", moment)
            await ours.agree(key, "g")
            entry = LogEntry(f"{name}-uuid", "tidegate", "it's", "a 'b'\n- c")
            await ours.tell(entry, since)
            assert await ours.tell(entry, since) is None
            owner = LabelOwner(LabelType.SUBSCRIPTION, f"{name}-sub")
            assert (await ours.set_label(owner, f"{PREFIX}sector", "x/y")).value == "x/y"
            assert (await ours.create_addon_plan(key, "log", "1.1.0", moment)).addon_id == "log"

        await asyncio.gather(*map(all_of, keys))
        made = Counter(each.path for each in server.state.writes if each.status == 201)
        logs = made.pop("/api/service_logs/v1/cluster_logs")
        assert logs == len(keys)
        assert set(made.values()) == {1}
        assert len(made) == 4 * len(keys)
        assert server.luck.met["lost"] > 5

    play(story, many(12, addons=[{"id": "log", "version": "1.0.0"}]))


@pytest.mark.parametrize("service", [1, 2])
def test_addons_are_upgraded_by_either_service(service: int) -> None:
    """Found, planned, and called off."""

    async def story(url: str, server: ManagerServer) -> None:
        ours = client(url, addons=service)
        (addon,), (installed,) = (
            (await ours.addons()).items,
            (await ours.installed_addons("h-id")).items,
        )
        assert (addon.version.id, installed.addon_version.id) == ("1.1.0", "1.0.0")
        plan = await ours.create_addon_plan("h-id", "log", "1.1.0", ahead(server))
        (read,) = (await ours.addon_plans("h-id")).items
        assert (read.id, read.state and read.state.value) == (plan.id, "pending")
        await ours.delete_addon_plan("h-id", plan.id)
        assert (await ours.addon_plans("h-id")).items == ()

    play(story)


def test_a_long_text_is_reported_once_though_no_address_holds_it() -> None:
    """What was reported is compared here then."""

    async def story(url: str, server: ManagerServer) -> None:
        ours, since = client(url), server.clock.now()
        entry = LogEntry("a-uuid", "tidegate", "errors", "- it's wrong\n" * 1000)
        assert await ours.tell(entry, since) is not None
        assert await ours.tell(entry, since) is None
        other = LogEntry("a-uuid", "tidegate", "errors", entry.description + "!")
        assert await ours.tell(other, since) is not None
        new = LogEntry("a-uuid", "tidegate", "errors", "- in few words", known=entry.description)
        assert await ours.tell(new, since) is None

    play(story)


def test_many_ids_are_asked_for_in_pieces_that_fit() -> None:
    """The simulation refuses lines beyond 8,190 bytes, as proxies do."""

    async def story(url: str, server: ManagerServer) -> None:
        ours = client(url, limits=OcmLimits())
        wanted = [f"{each.name}-sub" for each in server.state.declared.values()]
        assert len((await ours.clusters(wanted)).items) == 600
        assert ours.calls()["GET"] == 3

    play(story, many(600))


def test_all_who_need_a_token_ask_for_one_together() -> None:
    """One token for fifty calls; another early, and after one was refused."""

    async def story(url: str, server: ManagerServer) -> None:
        ours = client(url)
        await asyncio.gather(*(ours.gates() for _ in range(50)))
        assert server.tokens.number == 1
        # As if a person had taken it back.
        server.tokens = Tokens(())
        await asyncio.gather(*(ours.gates() for _ in range(50)))
        assert server.tokens.number == 1

    play(story)


def test_a_token_that_ends_is_renewed_before() -> None:
    """Nothing is refused in between."""

    async def story(url: str, server: ManagerServer) -> None:
        ours = client(url)
        await ours.gates()
        # Both measure by the time of the loop.
        loop = asyncio.get_running_loop()
        usual = loop.time
        loop.time = lambda: usual() + 145  # type: ignore[method-assign]
        await ours.gates()
        # Nothing was asked twice: two tokens, two questions.
        assert ours.calls() == {"POST": 2, "GET": 2}
        assert server.tokens.number == 2

    play(story, token_lasts_s=170)


def test_a_person_sees_their_own_organisation() -> None:
    """With an offline token, or one that is used as it is."""

    async def story(url: str, server: ManagerServer) -> None:
        for credentials in (OfflineToken(f"{url}/token", "own"), AccessToken("own")):
            ours = client(url, credentials)
            account = await ours.account()
            assert account.organization is not None
            assert account.organization.id == "o2"
            labels = (await ours.labels(PREFIX)).items
            assert {each.subscription_id for each in labels} == {"h-sub"}

    play(story, world(credentials=[{"token": "own", "org": "o2"}]))


def test_secrets_are_in_no_text() -> None:
    """Not in what stands for an object, not in an error, not where the other side repeats them."""

    async def story(url: str, server: ManagerServer) -> None:
        wrong = ServiceAccount(f"{url}/token", "tidegate", "s3cret-wrong")
        for credentials in (
            wrong,
            OfflineToken(f"{url}/token", "s3cret-off"),
            AccessToken("s3cret"),
        ):
            ours = client(url, credentials)
            assert "s3cret" not in f"{ours!r} {credentials!r} {credentials}"
            with pytest.raises(OutsideError, match=r"40[13]") as caught:
                await ours.labels("it said s3cret")
            assert "s3cret" not in str(caught.value)
            assert "check" in str(caught.value)

    play(story)


def test_a_survey_asks_only_what_can_matter() -> None:
    """Classic clusters have no pools, patches no gates; each cluster is read again in the end."""

    async def story(url: str, server: ManagerServer) -> None:
        ours = client(url, limits=OcmLimits())
        seen = await survey(ours)
        assert seen.complete
        assert set(seen.details) == {"a-id", "h-id"}
        assert all(not each.error for each in seen.details.values())
        # Labels, gates, versions, subscriptions, clusters; the policies of two clusters and one
        # node pool, one list of pools, and each cluster again.
        assert ours.calls() == {"POST": 1, "GET": 11}
        assert "stable-4.17" in seen.details["a-id"].channels
        await ours.switch_channel("a-id", "stable-4.17")
        await ours.create_policy(Upgradable("h-id", hosted=True), "4.16.4", ahead(server))
        server.clock.skip(parse_duration("3h"))
        before = ours.calls()["GET"]
        seen = await survey(ours)
        # Also: the agreements of the one.
        assert ours.calls()["GET"] - before == 12
        assert seen.details["a-id"].agreements == ()
        assert seen.details["h-id"].agreements is None
        assert seen.details["h-id"].pool_policies == {"np": ()}
        assert {
            each.organization_id for each in (await survey(ours, PREFIX, ["o1"])).subscriptions
        } == {"o1"}

    play(story)


def test_a_survey_in_a_storm_is_the_same_as_in_calm() -> None:
    """Whatever goes wrong, what is read is what is there."""
    seen: list[Any] = []

    async def story(url: str, server: ManagerServer) -> None:
        ours = client(url)
        seen.append(await survey(ours))

    play(story, many(20))
    play(story, many(20), STORM)
    assert seen[0] == seen[1]


def test_an_outage_begins_and_ends_on_request() -> None:
    """Nothing is had in between, and everything afterwards; clusters change their states too."""

    async def story(url: str, server: ManagerServer) -> None:
        ours = client(url, limits=OcmLimits(tries_max=2, pause_s=0.001))

        async def told(**asked: Any) -> int:
            post = aiohttp.request("POST", f"{url}/simulation", json=asked)
            async with post as response:
                return response.status

        assert await told(faults={"500": 1000}) == 200
        with pytest.raises(OutsideError, match="no token"):
            await ours.gates()
        assert await told(faults={}, clusters={"a-id": "hibernating"}, latency="1ms") == 200
        assert (await ours.gates()).items
        ready = await ours.clusters(["a-sub", "h-sub"], ready=True)
        assert [each.id for each in ready.items] == ["h-id"]
        with pytest.raises(OcmRefusedError, match="hibernating"):
            await ours.create_policy(Upgradable("a-id"), "4.16.4", ahead(server))
        for wrong in ({"skip": "soon"}, {"clusters": {"x": "ready"}}, {"faults": {"no": 1}}):
            assert await told(**wrong) == 400

    play(story)


def test_two_services_never_give_the_same_token() -> None:
    """A token that a former one refused must not look like the one that is good now."""
    form = {"grant_type": "client_credentials", "client_id": DEFAULT_CREDENTIALS.client_id}
    form["client_secret"] = DEFAULT_CREDENTIALS.client_secret
    given = [Tokens(()).give(form, 0.0).body for _ in range(2)]
    assert given[0] != given[1]
