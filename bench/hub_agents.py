"""The agents of all clusters of a hub: what a cluster is given it has half a second later.

One program for both sides of a comparison: replicated Policies get the compliance that the
framework add-on would write, with the message of their own template, and ManifestWorks the
conditions that the work agent would. Everything that was heard and said is kept with its time.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import msgspec

from tidegate.kinds.policies.core.names import CLUSTER_LABEL, ROOT_POLICY
from tidegate.kinds.policies.core.revision import stamp_in
from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.server import ServerLimits
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    POLICY,
    ExpiredError,
    Object,
    ObjectEvent,
    ResourceKind,
)
from tidegate.model.errors import StaleError

WORK = ResourceKind("work.open-cluster-management.io/v1", "ManifestWork", "manifestworks")
ANSWER_S = 0.5
# As the framework add-on keeps them.
HISTORY_MAX = 10
# Far more than any hub takes: agents are many, and do not wait for each other.
AGENT_LIMITS = ServerLimits(concurrency_max=64, rate_max=10_000)


class Said(msgspec.Struct, frozen=True, gc=False):
    """What one agent said of one thing, and when."""

    cluster: str
    # Of a policy its stamp; of a work the value it carries.
    revision: str
    # When the hub had given it, and when the hub had the answer; Unix time.
    heard_s: float
    said_s: float


class Agents:
    """All agents, as tasks of one event loop."""

    def __init__(self, access: ClusterAccess) -> None:
        self._hub = KubernetesCluster(access, manager="agents", limits=AGENT_LIMITS)
        self._tasks: set[asyncio.Task[None]] = set()
        # The last generation of each object that was answered, or is about to be.
        self._known: dict[tuple[str, str, str], str] = {}
        # By the kind and the name of what was given.
        self.said: dict[tuple[str, str], dict[str, Said]] = {}
        self.news = asyncio.Event()

    async def start(self, *, propagates: bool = False) -> None:
        """Answer from now on; `propagates`: for a hub without a propagator, as if it had one."""
        kinds = [(POLICY, ROOT_POLICY), (WORK, "")]
        if propagates:
            kinds = [(CONFIG_MAP, CLUSTER_LABEL)]
        for kind, selector in kinds:
            after = await self._read(kind, selector, answers=not propagates)
            self._begin(self._follow(kind, selector, after))

    async def _read(self, kind: ResourceKind, selector: str, *, answers: bool = True) -> str:
        """Hear of all there is, or only know it; the version to watch from."""
        reading = await self._hub.read("", [kind], selector)
        for found in reading.objects:
            if answers:
                self._hear(found)
            else:
                self._known |= dict(_pointers(found))
        return reading.versions[kind.name]

    async def stop(self) -> None:
        """Be silent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._hub.close()

    async def all_said(
        self, kind: ResourceKind, name: str, revision: str, clusters: list[str], patience_s: float
    ) -> None:
        """Until every cluster has said so of a revision."""
        async with asyncio.timeout(patience_s):
            while True:
                found = self.said.get((kind.name, name), {})
                if all(each in found and found[each].revision == revision for each in clusters):
                    return
                self.news.clear()
                await self.news.wait()

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.result()

    async def _follow(self, kind: ResourceKind, selector: str, after: str) -> None:
        while True:
            with suppress(ExpiredError):
                async with aclosing(self._hub.watch("", kind, after, selector)) as events:
                    async for event in events:
                        if event.change is not ObjectEvent.DELETED:
                            self._hear(event.object)
            # A server that has too much to do forgets: what is there now says the rest.
            after = await self._read(kind, selector)

    def _hear(self, found: Object) -> None:
        heard_s = time.time()
        key = (found.kind.name, found.namespace, found.name)
        if found.kind == CONFIG_MAP:
            self._hear_pointers(found, heard_s)
            return
        generation = f"{found.uid} {found.document['metadata'].get('generation')}"
        if self._known.get(key) == generation:
            return
        self._known[key] = generation
        self._begin(self._answer(found, generation, heard_s))

    def _hear_pointers(self, found: Object, heard_s: float) -> None:
        for key, revision in _pointers(found):
            if self._known.get(key) != revision:
                self._known[key] = revision
                self._begin(self._stand_in(*key[1:], revision, heard_s))

    async def _answer(self, found: Object, generation: str, heard_s: float) -> None:
        await asyncio.sleep(ANSWER_S)
        if self._known[found.kind.name, found.namespace, found.name] != generation:
            return
        is_policy = found.kind == POLICY
        status, revision = (policy_status if is_policy else work_status)(found.document)
        if status is not None:
            await self._say(found, status, revision, heard_s)

    async def _stand_in(self, cluster: str, name: str, revision: str, heard_s: float) -> None:
        await asyncio.sleep(ANSWER_S)
        found = await self._hub.get(POLICY, cluster, name)
        if found is not None and self._known[POLICY.name, cluster, name] == revision:
            message = f"Compliant; [rev {revision}] notification - configmaps found as specified"
            templates = found.document["spec"]["policy-templates"]
            names = [each["objectDefinition"]["metadata"]["name"] for each in templates]
            status = compliance(dict.fromkeys(names, message), found.document.get("status") or {})
            await self._say(found, status, revision, heard_s)

    async def _say(
        self, found: Object, status: Mapping[str, Any], revision: str, heard_s: float
    ) -> None:
        # What is gone needs no answer.
        with suppress(StaleError):
            await self._hub.write_status(found, status)
            said = Said(found.namespace, revision, heard_s, time.time())
            self.said.setdefault((found.kind.name, found.name), {})[found.namespace] = said
            self.news.set()


def _pointers(found: Object) -> Iterator[tuple[tuple[str, str, str], str]]:
    """The replicas that pointers are looked up for, each with its revision."""
    cluster = found.document["metadata"]["labels"][CLUSTER_LABEL]
    for policy, revision in (found.document.get("data") or {}).items():
        yield (POLICY.name, cluster, f"{found.namespace}.{policy}"), revision


def policy_status(document: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """All templates are compliant, as each would say it; None: the hub has not resolved them."""
    messages: dict[str, str] = {}
    for each in document["spec"]["policy-templates"]:
        definition = each["objectDefinition"]
        if not isinstance(definition.get("spec"), dict):
            return None, ""
        own = (definition["spec"].get("customMessage") or {}).get("compliant")
        default = "notification - configmaps found as specified in namespace default"
        stated = str(own).replace("{{ .DefaultMessage }}", default) if own else default
        messages[definition["metadata"]["name"]] = f"Compliant; {stated}"
    stamps = [stamp_in(each) or "" for each in messages.values()]
    return compliance(messages, document.get("status") or {}), stamps[0] if stamps else ""


def compliance(messages: Mapping[str, str], before: Mapping[str, Any]) -> dict[str, Any]:
    """The status of a replicated Policy whose templates say this now."""
    known = {each["templateMeta"]["name"]: each for each in before.get("details") or ()}
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    details = []
    for name, message in messages.items():
        entry = {"eventName": f"{name}.{time.time_ns():x}", "lastTimestamp": now}
        older = (known.get(name) or {}).get("history") or []
        details.append(
            {
                "compliant": "Compliant",
                "templateMeta": {"name": name},
                "history": [{**entry, "message": message}, *older][:HISTORY_MAX],
            }
        )
    return {"compliant": "Compliant", "details": details}


def work_status(document: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Applied, available, and no longer progressing, at the generation that was given."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    states = {"Applied": "True", "Available": "True", "Progressing": "False"}
    conditions = [
        {
            "type": kind,
            "status": state,
            "reason": "AsExpected",
            "message": "as expected",
            "observedGeneration": document["metadata"]["generation"],
            "lastTransitionTime": now,
        }
        for kind, state in states.items()
    ]
    wanted = document["spec"]["workload"]["manifests"][0]["data"]["value"]
    return {"conditions": conditions}, str(wanted)
