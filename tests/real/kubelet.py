"""A kubelet that runs nothing: it binds pods, says that they run, and removes deleted ones.

Everything above the pod is then the real controllers' doing. What a pod does is reported by its
annotations and its image's tag; each ready pod answers on an address of its own with the numbers of
a reconcile loop, and has a log with a line a run, which the API server fetches from us.

    tests/ready-after: "2.5"      seconds until it is ready, 0.05 if it says nothing
    tests/does: never-ready | crash-loop | image-pull      what goes wrong
    tests/runs: ok | fail         how the runs of its loop end
    image …:broken, …:crashing, …:failing                  the same by the tag
    image …:talks                 a job of it says more than others do
"""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import aiohttp
from aiohttp import web

from tests.real.kube import ADMIN, ControlPlane
from tests.real.prometheus import free_port

NODES = 3
METRICS_PORT = 9199
_TAGS = {"broken": "image-pull", "crashing": "crash-loop"}
_STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
Pod = dict[str, Any]
# What a dry run says, and the tags that say more.
SAYS = ("['update', 'app-sre', 'bucket']", "done in 12.5s")
TALKS = frozenset(("talks",))


class Kubelet:
    """All nodes of a cluster in one task."""

    def __init__(self, plane: ControlPlane, *, metrics: bool = False, run_every_s: float = 0.2):
        self._plane = plane
        self._metrics = metrics
        self._run_every_s = run_every_s
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._bound = 0
        self._session: aiohttp.ClientSession
        # Where the API server asks for logs.
        self._port = free_port()
        # By address: the pod, and since when it has been ready.
        self.ready: dict[str, tuple[Pod, float]] = {}
        self.born: dict[str, float] = {}
        # What pods of jobs said before they ended.
        self.said: dict[tuple[str, str], list[str]] = {}

    async def run(self) -> None:
        """Until it is cancelled; what breaks is begun again, as a kubelet does."""
        headers = {"Authorization": f"Bearer {self._plane.tokens[ADMIN]}"}
        connector = aiohttp.TCPConnector(ssl=self._plane.authority.trusting(), limit=20)
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
            self._session = session
            serving = await self._serve_logs()
            try:
                while True:
                    with suppress(aiohttp.ClientError, OSError):
                        await self._register()
                        await self._follow()
                    await asyncio.sleep(0.2)
            finally:
                for task in self._tasks.values():
                    task.cancel()
                await serving.cleanup()

    async def _register(self) -> None:
        """Nodes, and the leases by which the controllers know that they live."""
        for number in range(NODES):
            name = f"node-{number}"
            await self._ask("POST", "/api/v1/nodes", {"metadata": {"name": name}}, (201, 409))
            status = {
                "conditions": [_condition("Ready", True)],
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": self._port}},
            }
            await self._ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": status})
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                # So long that nothing in a test outlives it.
                "spec": {"holderIdentity": name, "leaseDurationSeconds": 3600, "renewTime": _now()},
            }
            leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
            await self._ask("POST", leases, lease, (201, 404, 409))

    async def _follow(self) -> None:
        """Every pod there is, and every one that changes."""
        async with self._session.get(f"{self._plane.url}/api/v1/pods") as answer:
            listed = await answer.json()
        for pod in listed["items"]:
            self._see("ADDED", pod)
        params = {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
        url = f"{self._plane.url}/api/v1/pods"
        async with self._session.get(url, params=params, timeout=_LONG) as answer:
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    self._see(event["type"], event["object"])

    def _see(self, change: str, pod: Pod) -> None:
        uid = pod["metadata"]["uid"]
        ending = change == "DELETED" or pod["metadata"].get("deletionTimestamp")
        if ending and (task := self._tasks.pop(uid, None)) is not None:
            task.cancel()
        if change == "DELETED":
            self.ready.pop(_address(uid), None)
        elif ending:
            self._tasks[uid] = asyncio.create_task(self._remove(pod))
        elif uid not in self._tasks and "phase" in pod["status"]:
            self._tasks[uid] = asyncio.create_task(self._run(pod))

    async def _run(self, pod: Pod) -> None:
        """One pod from its binding to its end."""
        if not pod["spec"].get("nodeName"):
            self._bound += 1
            target = {"apiVersion": "v1", "kind": "Node", "name": f"node-{self._bound % NODES}"}
            body = {"metadata": {"name": pod["metadata"]["name"]}, "target": target}
            await self._ask("POST", f"{_path(pod)}/binding", body, (201, 404, 409))
        does = _told(pod, "does", _TAGS)
        if does == "image-pull":
            return await self._report(pod, waiting="ImagePullBackOff")
        if does == "crash-loop":
            return await self._report(pod, waiting="CrashLoopBackOff", restarts=3)
        if _is_of_job(pod):
            return await self._end(pod)
        await self._report(pod, running=True)
        if does == "never-ready":
            return None
        await asyncio.sleep(float(_annotation(pod, "ready-after") or 0.05))
        await self._report(pod, running=True, ready=True)
        self.ready[_address(pod["metadata"]["uid"])] = (pod, time.monotonic())
        if self._metrics:
            await self._answer(pod)
        return None

    async def _end(self, pod: Pod) -> None:
        """The one run of a job's pod: what it says, and how it ends."""
        tag = _tag(pod)
        failed = _told(pod, "runs", {"failing": "fail"}) == "fail"
        stamp = datetime.now(UTC)
        lines = [f"[{stamp:%Y-%m-%d %H:%M:%S}] [INFO] [DRY-RUN] - {each}" for each in SAYS]
        lines += [f"[{stamp:%Y-%m-%d %H:%M:%S}] [INFO] - ['delete', '{tag}']"] * (tag in TALKS)
        self.said[_names(pod)] = lines
        await asyncio.sleep(0.1)
        ended = {
            "exitCode": int(failed),
            "reason": "Error" if failed else "Completed",
            "startedAt": _now(),
            "finishedAt": _now(),
        }
        status = {
            "phase": "Failed" if failed else "Succeeded",
            "conditions": [_condition(x, False) for x in ("Ready", "ContainersReady")],
            "containerStatuses": [
                {
                    "name": each["name"],
                    "image": each["image"],
                    "imageID": "",
                    "ready": False,
                    "restartCount": 0,
                    "state": {"terminated": ended},
                }
                for each in pod["spec"]["containers"]
            ],
        }
        await self._ask("PATCH", f"{_path(pod)}/status", {"status": status}, (200, 404))

    async def _report(
        self,
        pod: Pod,
        *,
        running: bool = False,
        ready: bool = False,
        waiting: str = "",
        restarts: int = 0,
    ) -> None:
        state = {"running": {"startedAt": _now()}} if running else {"waiting": {"reason": waiting}}
        containers = [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": f"sha256:{abs(hash(container['image'])):064x}",
                "ready": ready,
                "started": running,
                "restartCount": restarts,
                "state": state,
            }
            for container in pod["spec"]["containers"]
        ]
        status = {
            "phase": "Running" if running else "Pending",
            "podIP": _address(pod["metadata"]["uid"]),
            "podIPs": [{"ip": _address(pod["metadata"]["uid"])}],
            "startTime": _now(),
            "conditions": [_condition(x, ready) for x in ("Ready", "ContainersReady")],
            "containerStatuses": containers,
        }
        await self._ask("PATCH", f"{_path(pod)}/status", {"status": status}, (200, 404))

    async def _remove(self, pod: Pod) -> None:
        uid = pod["metadata"]["uid"]
        self.ready.pop(_address(uid), None)
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        await self._ask("DELETE", _path(pod), body, (200, 404, 409))

    async def _answer(self, pod: Pod) -> None:
        """Serve the pod's numbers until its task is cancelled."""
        app = web.Application()
        address = _address(pod["metadata"]["uid"])

        async def told(_: web.Request) -> web.Response:
            return web.Response(text=self.numbers(address))

        app.router.add_get("/metrics", told)
        runner = web.AppRunner(app)
        await runner.setup()
        # asyncio loses the socket of a server whose start is cancelled.
        starting = asyncio.ensure_future(web.TCPSite(runner, address, METRICS_PORT).start())
        try:
            await asyncio.shield(starting)
            await asyncio.Event().wait()
        finally:
            await asyncio.wait([starting])
            await runner.cleanup()

    async def _serve_logs(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._log)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        issued = self._plane.authority.issue("server", serves=True)
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(issued.certificate, issued.key)
        await web.TCPSite(runner, "127.0.0.1", self._port, ssl_context=tls).start()
        return runner

    async def _log(self, request: web.Request) -> web.StreamResponse:
        """A line a run since the pod was ready, and on while it is, if it is followed."""
        wanted = request.match_info["namespace"], request.match_info["pod"]
        if wanted in self.said:
            return web.Response(text="".join(f"{line}\n" for line in self.said[wanted]))
        address = next((a for a, (pod, _) in self.ready.items() if _names(pod) == wanted), None)
        if address is None:
            waits = f'container "int" in pod "{wanted[1]}" is waiting to start: ContainerCreating'
            return web.Response(status=400, text=waits)
        query, every_s = request.query, self._run_every_s
        _, since = self.ready[address]
        begun = self._born(address)
        last = int((time.monotonic() - since) / every_s)
        first = max(0, last + 1 - int(query.get("tailLines", last + 1)))
        if "sinceTime" in query:
            asked = datetime.fromisoformat(query["sinceTime"]).timestamp()
            first = max(first, int((asked - begun) / every_s))
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(OSError):
            run = first
            while address in self.ready:
                if time.monotonic() - since < run * every_s:
                    if "follow" not in query:
                        break
                    await asyncio.sleep(0.02)
                    continue
                at = datetime.fromtimestamp(self._born(address) + run * every_s, UTC)
                stamp = f"{at:%Y-%m-%dT%H:%M:%S.%f}Z " if "timestamps" in query else ""
                await response.write(f"{stamp}run {run}\n".encode())
                run += 1
        return response

    def _born(self, address: str) -> float:
        """By the wall clock, and always the same."""
        return self.born.setdefault(address, time.time())

    def numbers(self, address: str) -> str:
        """What a reconcile loop exports: how its last run ended, and how many there were."""
        pod, since = self.ready[address]
        failing = _told(pod, "runs", {"failing": "fail"}) == "fail"
        runs = int((time.monotonic() - since) / self._run_every_s)
        return (
            f"qontract_reconcile_last_run_status {int(failing)}\n"
            f"qontract_reconcile_execution_counter_total {runs}\n"
        )

    async def _ask(
        self, method: str, path: str, body: object, fine: tuple[int, ...] = (200, 201)
    ) -> None:
        headers = _STRATEGIC if method == "PATCH" else {"Content-Type": "application/json"}
        url, data = self._plane.url + path, json.dumps(body)
        for pause_s in (0.2, 0.5, 1.0, 2.0, None):
            try:
                async with self._session.request(method, url, data=data, headers=headers) as answer:
                    status, text = answer.status, await answer.text()
            except (aiohttp.ClientError, OSError) as error:
                status, text = 503, str(error)
            # A server that is busy, or just starting again, is asked again, as a kubelet does.
            if status in fine or (status != 429 and status < 500) or pause_s is None:
                break
            await asyncio.sleep(pause_s)
        assert status in fine, f"{method} {path}: {status} {text[:500]}"


_LONG = aiohttp.ClientTimeout(total=None, sock_read=None)


@asynccontextmanager
async def kubelet(plane: ControlPlane, *, metrics: bool = False) -> AsyncIterator[Kubelet]:
    """A kubelet for a while."""
    running = Kubelet(plane, metrics=metrics)
    task = asyncio.create_task(running.run())
    try:
        yield running
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        # Connections that were cut say goodbye to the server in their own time.
        await asyncio.sleep(0.25)


def _annotation(pod: Pod, name: str) -> str:
    found: str = (pod["metadata"].get("annotations") or {}).get(f"tests/{name}", "")
    return found


def _is_of_job(pod: Pod) -> bool:
    return any(each["kind"] == "Job" for each in pod["metadata"].get("ownerReferences") or ())


def _tag(pod: Pod) -> str:
    tag: str = pod["spec"]["containers"][0]["image"].rpartition(":")[2]
    return tag


def _told(pod: Pod, name: str, tags: dict[str, str]) -> str:
    """What an annotation says, or else the tag of the first image."""
    return _annotation(pod, name) or tags.get(_tag(pod), "")


def _names(pod: Pod) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _address(uid: str) -> str:
    """An address on loopback that no other pod is likely to have."""
    digits = uid.replace("-", "")
    return "127." + ".".join(str(int(digits[at : at + 2], 16) % 254 + 1) for at in (0, 2, 4))


def _condition(kind: str, holds: bool) -> dict[str, str]:
    status = "True" if holds else "False"
    return {"type": kind, "status": status, "lastTransitionTime": _now()[:19] + "Z"}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
