"""What a served cluster does beside its contract: strangers, odd requests, being down."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import aiohttp
import pytest

from tests.contract.clusters import config_map, deployment
from tests.patience import patiently
from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.server import ServerLimits
from tidegate.kubernetes.port import CONFIG_MAP, ExpiredError, NotAllowedError
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.server.server import Hosted, KubeServer
from tidegate.model.errors import OutsideError

IMPATIENT = ServerLimits(tries_max=2, pause_s=0.01, total_s=5)
Story = Callable[[str, KubeServer], Awaitable[None]]


def play(story: Story, *names: str) -> None:
    """A story played on clusters that are served; their common address is handed over."""

    async def played() -> None:
        hosted = []
        for name in names or ("c",):
            api = SimulatedApi(name)
            api.namespaces.add("ns")
            hosted.append(Hosted(api, f"token-{name}"))
        server = KubeServer(hosted)
        with socket.create_server(("127.0.0.1", 0)) as ear:
            serving = asyncio.create_task(server.serve(ear))
            async with asyncio.timeout(30):
                await story(f"http://127.0.0.1:{ear.getsockname()[1]}", server)
            server.stop()
            await serving

    patiently(played())


def cluster(url: str, name: str = "c", token: str = "") -> KubernetesCluster:
    """A cluster at an address."""
    access = ClusterAccess(name=name, server=f"{url}/{name}", token=token or f"token-{name}")
    return KubernetesCluster(access, limits=IMPATIENT)


def test_every_cluster_has_objects_and_a_token_of_its_own() -> None:
    """A token of another account is refused."""

    async def story(url: str, _: KubeServer) -> None:
        one, two, stranger = cluster(url, "a"), cluster(url, "b"), cluster(url, "a", "token-b")
        await one.apply(config_map("ns", x="1"))
        assert await one.get(CONFIG_MAP, "ns", "a") is not None
        assert await two.get(CONFIG_MAP, "ns", "a") is None
        with pytest.raises(NotAllowedError, match="401"):
            await stranger.read("ns", [CONFIG_MAP])
        nowhere = cluster(url, "nowhere")
        with pytest.raises(OutsideError, match="no cluster nowhere is simulated here"):
            await nowhere.read("ns", [CONFIG_MAP])
        for each in (one, two, stranger, nowhere):
            await each.close()

    play(story, "a", "b")


def test_a_cluster_that_is_down_holds_nothing_up() -> None:
    """It does not answer; the other one does; and it comes back with all it had."""

    async def story(url: str, server: KubeServer) -> None:
        one, two = cluster(url, "a"), cluster(url, "b")
        made = (await one.apply(config_map("ns", x="1"))).object
        server.down.add("a")
        with pytest.raises(OutsideError, match="a: configmap/ns: "):
            await one.read("ns", [CONFIG_MAP])
        assert (await two.read("ns", [CONFIG_MAP])).complete
        server.down.discard("a")
        again = cluster(url, "a")
        assert await again.get(CONFIG_MAP, "ns", "a") == made
        for each in (one, two, again):
            await each.close()

    play(story, "a", "b")


def test_a_version_of_the_future_is_expired() -> None:
    """As a watcher from before a restart of the simulation has one: read anew."""

    async def story(url: str, _: KubeServer) -> None:
        found = cluster(url)
        async with aclosing(found.watch("ns", CONFIG_MAP, "999999")) as events:
            with pytest.raises(ExpiredError, match="read anew"):
                await anext(events)
        await found.close()

    play(story)


@pytest.mark.parametrize(
    "method, path, headers, body, code, words",
    [
        ("GET", "apis/apps/v1/namespaces/ns/moons", {}, None, 404, "could not find"),
        ("GET", "api/v1/namespaces/nowhere", {}, None, 404, 'namespaces "nowhere" not found'),
        ("GET", "api/v1/namespaces/ns/configmaps/x", {}, None, 404, 'configmaps "x" not found'),
        ("GET", "api/v1/namespaces/ns/pods/x/log", {}, None, 404, "could not find"),
        ("DELETE", "api/v1/namespaces/ns/configmaps/x", {}, {}, 404, "not found"),
        ("DELETE", "api/v1/namespaces/ns/configmaps", {}, {}, 405, "not simulated"),
        ("PATCH", "api/v1/namespaces/ns/configmaps/a", {}, {}, 415, "server-side apply"),
        ("POST", "api/v1/namespaces/ns/configmaps", {}, "[", 400, "no JSON"),
        ("POST", "api/v1/namespaces/ns/configmaps", {}, {"metadata": []}, 422, "metadata.name"),
        ("POST", "api/v1/namespaces/ns/configmaps", {}, {"metadata": 5}, 400, "no object"),
        ("GET", "api/v1/configmaps?limit=x", {}, None, 400, "invalid literal"),
        ("GET", "api/v1/configmaps?labelSelector=a,,", {}, None, 400, "is not a requirement"),
        ("GET", "api/v1/configmaps?watch=1&labelSelector=)", {}, None, 400, "is not a requirement"),
        ("POST", "api/v1/namespaces/ns/pods", {}, config_map("ns"), 422, "spec"),
        (
            "PATCH",
            "apis/apps/v1/namespaces/ns/deployments/a?fieldManager=x",
            {"Content-Type": "application/apply-patch+yaml"},
            config_map("ns"),
            400,
            "does not match the kind",
        ),
        (
            "PATCH",
            "apis/apps/v1/namespaces/ns/deployments/a?fieldManager=x",
            {"Content-Type": "application/apply-patch+yaml"},
            deployment("ns", replicas="many"),
            422,
            "spec.replicas: Expected int",
        ),
        (
            "PATCH",
            "api/v1/namespaces/ns/configmaps/b?fieldManager=x",
            {"Content-Type": "application/apply-patch+yaml"},
            config_map("ns"),
            400,
            "does not match",
        ),
        (
            "PATCH",
            "api/v1/namespaces/ns/configmaps/a",
            {"Content-Type": "application/apply-patch+yaml"},
            config_map("ns"),
            422,
            "fieldManager: Required value",
        ),
    ],
)
def test_what_is_not_simulated_is_refused_in_words(
    method: str, path: str, headers: dict[str, str], body: Any, code: int, words: str
) -> None:
    """With the code the real server has for it."""

    async def story(url: str, _: KubeServer) -> None:
        known = {"Authorization": "Bearer token-c", **headers}
        async with aiohttp.ClientSession(headers=known) as session:
            sent = {"data": body} if isinstance(body, str) else {"json": body}
            async with session.request(method, f"{url}/c/{path}", **sent) as answer:
                told = await answer.json()
                assert (answer.status, told["code"]) == (code, code)
                assert words in told["message"]

    play(story)


def test_the_book_of_owners_reads_as_a_real_one() -> None:
    """An entry a manager, its fields as a tree; a list of pages is of one moment."""

    async def story(url: str, _: KubeServer) -> None:
        found = cluster(url)
        await found.apply(deployment("ns", replicas=1))
        for name in ("x", "y", "z"):
            await found.apply(config_map("ns", name))
        known = {"Authorization": "Bearer token-c"}
        async with aiohttp.ClientSession(headers=known) as session:

            async def get(path: str) -> dict[str, Any]:
                async with session.get(f"{url}/c/{path}") as answer:
                    told: dict[str, Any] = await answer.json()
                    return told

            there = await get("apis/apps/v1/namespaces/ns/deployments/a")
            (entry,) = there["metadata"]["managedFields"]
            assert (entry["manager"], entry["operation"]) == ("tidegate", "Apply")
            assert entry["fieldsV1"]["f:spec"]["f:replicas"] == {}
            pod = entry["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
            assert pod["f:containers"]['k:{"name":"int"}']["f:image"] == {}
            first = await get("api/v1/configmaps?limit=2")
            await found.apply(config_map("ns", "zz"))
            token = first["metadata"]["continue"]
            second = await get(f"api/v1/configmaps?limit=2&continue={token}")
            names = [each["metadata"]["name"] for each in first["items"] + second["items"]]
            assert names == ["x", "y", "z"]
            assert first["metadata"]["remainingItemCount"] == 1
            assert (await get(f"api/v1/configmaps?continue={token}"))["code"] == 410
        await found.close()

    play(story)
