"""A witness of policies: it watches a hub and its clusters only, and knows the rules of a rollout.

It hears of every write, in the order in which they were made: all control planes of a test keep
their objects in one etcd, so that the versions of all objects are one sequence. A watch that breaks
goes on from the version it had. A server that was started again may not know that version any more:
then all is listed, and what was written in the moment before it died is heard as it is now.

What it judges (`judge`, a pure function of what was heard):

    order      a cluster gets content only when every cluster of every earlier group has it, and has
               proved it by the stamp in its agent's message, and has soaked; but for as many that
               passed their deadline as the budget allows. Back to what it had: only in a rollback
    once       no content is given to a cluster twice, nor is a pointer written that says the same
    identity   the managed object is never deleted or replaced, and written once for each content
    replicas   no replicated policy is deleted, and none has an error of a hub template

Content is what a template wants, without its message: a policy that is taken over, or handed back,
gives no cluster anything.
"""

import json
import re
import time
import urllib.parse
from calendar import timegm
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException, HTTPSConnection
from threading import Event, Thread
from typing import Any
from urllib.error import HTTPError

from tests.real.hub import POLICIES, ROLLOUTS, until
from tests.real.kube import ADMIN, ControlPlane
from tidegate.model.counted import counted
from tidegate.model.time import SECOND, parse_duration

# After so long a watch is begun again, so that it notices that it should end.
_WATCH_S = 3
_STAMP = re.compile(r"\[rev ([0-9a-f]{12})\]")
_HUB_ERROR = "policy.open-cluster-management.io/hub-templates-error"
_POINTERS = "tidegate-pointers-"
HUB = "hub"

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Heard:
    """One write, or an object that was there when the witness began."""

    version: int
    # `hub`, or the name of a managed cluster.
    place: str
    # FOUND, ADDED, MODIFIED or DELETED.
    change: str
    document: Document

    @property
    def kind(self) -> str:
        return str(self.document["kind"])

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])


@dataclass(frozen=True)
class Law:
    """What the witness knows of a policy: its names, and its clusters group by group."""

    namespace: str
    policy: str
    groups: tuple[tuple[str, ...], ...]
    # Clusters that may lose the policy, because they left.
    leavers: frozenset[str] = frozenset()

    @property
    def replica(self) -> str:
        return f"{self.namespace}.{self.policy}"

    def earlier(self, cluster: str) -> list[str]:
        """The clusters of all groups before that of a cluster."""
        at = next(i for i, group in enumerate(self.groups) if cluster in group)
        return [each for group in self.groups[:at] for each in group]


@dataclass
class _Case:
    """What is known of one cluster while the writes are gone through."""

    # The content it was given last, when, and all it ever was given.
    content: str | None = None
    given_at: int = 0
    had: list[str] = field(default_factory=list)
    # The content that its agent has proved, and since when; "": none.
    proved: str = ""
    proved_at: int = 0
    pointed: str = ""
    uid: str = ""
    data: Any = None


@dataclass(frozen=True)
class _Limits:
    soak_s: int = 0
    deadline_s: int | None = None
    failures: int = 0
    returns: bool = False


def judge(heard: Iterable[Heard], law: Law) -> list[str]:
    """What was done that the rules do not allow; empty: nothing."""
    return list(_Trial(law).verdicts(heard))


class _Trial:
    """Goes through what was heard, in the order in which it was written."""

    def __init__(self, law: Law) -> None:
        self._law = law
        self._cases = {name: _Case() for group in law.groups for name in group}
        self._revisions: dict[str, str] = {}
        self._limits = _Limits()

    def verdicts(self, heard: Iterable[Heard]) -> Iterator[str]:
        for each in sorted(heard, key=lambda one: (one.change != "FOUND", one.version)):
            if each.place != HUB:
                yield from self._managed(each)
            elif each.kind == "Rollout":
                if each.name == self._law.policy and each.change != "DELETED":
                    self._limits = _limits(each.document["spec"])
            elif each.kind == "Policy":
                yield from self._replica(each)
            elif each.name.startswith(_POINTERS):
                yield from self._pointer(each)
            elif each.name.startswith(f"{self._law.policy}-rev-"):
                yield from self._revision(each)

    def _revision(self, heard: Heard) -> Iterator[str]:
        name, data = heard.name.rpartition("-")[2], heard.document["data"]
        bodies = [json.loads(data[key]) for key in sorted(data) if key.isdigit()]
        content = _content(bodies)
        if heard.change != "DELETED" and self._revisions.setdefault(name, content) != content:
            yield f"revision {name} was changed"

    def _pointer(self, heard: Heard) -> Iterator[str]:
        case = self._cases.get(heard.name.removeprefix(_POINTERS))
        if case is None:
            return
        data = dict(heard.document.get("data") or {})
        pointed = data.get(self._law.policy, "") if heard.change != "DELETED" else ""
        cluster = heard.name.removeprefix(_POINTERS)
        if heard.change == "MODIFIED" and data == case.data:
            yield f"{cluster}: its pointers were written again, and say the same"
        case.data, case.pointed = data, pointed
        if not pointed:
            return
        if pointed not in self._revisions:
            yield f"{cluster}: pointed at {pointed}, which there is not"
            return
        yield from self._gets(cluster, self._revisions[pointed], heard)

    def _replica(self, heard: Heard) -> Iterator[str]:
        cluster = str(heard.document["metadata"]["namespace"])
        if heard.name != self._law.replica or cluster not in self._cases:
            return
        if heard.change == "DELETED":
            if cluster not in self._law.leavers:
                yield f"{cluster}: its replicated policy was deleted"
            return
        spec = heard.document["spec"]
        definitions = [each["objectDefinition"] for each in spec["policy-templates"]]
        for each in definitions:
            error = (each["metadata"].get("annotations") or {}).get(_HUB_ERROR)
            if error:
                yield f"{cluster}: its replicated policy has an error: {error}"
                return
        yield from self._gets(cluster, _content([each["spec"] for each in definitions]), heard)
        self._hear_proof(self._cases[cluster], heard.document.get("status") or {}, len(definitions))

    def _hear_proof(self, case: _Case, status: Document, templates: int) -> None:
        """What the agent says of a revision; of another than it was given, it says nothing."""
        details = status.get("details") or ()
        said = [(each.get("history") or [{}])[0] for each in details]
        stamps = {_stamp(str(each.get("message") or "")) for each in said}
        if len(said) != templates or len(stamps) != 1:
            return
        content = self._revisions.get(stamps.pop() or "")
        if content is None or content != case.content:
            return
        if all(each.get("compliant") == "Compliant" for each in details):
            if case.proved != content:
                case.proved = content
                case.proved_at = max(_second(str(each["lastTimestamp"])) for each in said)
        elif case.proved == content and self._limits.soak_s:
            case.proved = ""

    def _gets(self, cluster: str, content: str, heard: Heard) -> Iterator[str]:
        """A cluster is given content, whichever write shows it first."""
        case = self._cases[cluster]
        if content == case.content:
            return
        at = _written_at(heard.document)
        if heard.change != "FOUND":
            returns = self._limits.returns and content in case.had
            if content in case.had and not returns:
                yield f"{cluster}: was given again what it had before"
            if not returns:
                yield from self._breaches(cluster, content, at)
        case.content, case.given_at, case.proved = content, at, ""
        case.had.append(content)

    def _breaches(self, cluster: str, content: str, at: int) -> Iterator[str]:
        limits, failures = self._limits, 0
        for name in self._law.earlier(cluster):
            earlier = self._cases[name]
            if earlier.content != content:
                yield f"{cluster}: was given what {name}, of an earlier group, does not have"
            elif earlier.proved == content:
                # Both moments are cut to seconds.
                if at - earlier.proved_at < limits.soak_s - 1:
                    yield f"{cluster}: was given what {name} has not soaked"
            elif limits.deadline_s is None or at - earlier.given_at < limits.deadline_s - 1:
                yield f"{cluster}: was given what {name}, of an earlier group, has not proved"
            else:
                failures += 1
        if failures > limits.failures:
            few = counted(failures, "cluster")
            yield f"{cluster}: was given what {few} of earlier groups failed to prove"

    def _managed(self, heard: Heard) -> Iterator[str]:
        """The managed object itself, on its cluster."""
        case = self._cases[heard.place]
        if heard.change == "DELETED":
            if heard.place not in self._law.leavers:
                yield f"{heard.place}: its {heard.kind} {heard.name} was deleted"
            return
        uid = str(heard.document["metadata"]["uid"])
        if case.uid and uid != case.uid and heard.place not in self._law.leavers:
            yield f"{heard.place}: its {heard.kind} {heard.name} is another one"
        case.uid = uid


def _limits(spec: Document) -> _Limits:
    strategy = spec["rolloutStrategy"]
    kind = str(strategy["type"])
    written = strategy.get(kind[0].lower() + kind[1:]) or {}
    deadline = written.get("progressDeadline") or "None"
    return _Limits(
        soak_s=parse_duration(written.get("minSuccessTime") or "0s") // SECOND,
        deadline_s=None if deadline == "None" else parse_duration(deadline) // SECOND,
        failures=int(written.get("maxFailures") or 0),
        returns=strategy.get("onFailure") == "rollback",
    )


def _content(bodies: Iterable[Any]) -> str:
    plain = [{k: v for k, v in body.items() if k != "customMessage"} for body in bodies]
    return json.dumps(plain, sort_keys=True)


def _stamp(message: str) -> str | None:
    found = _STAMP.search(message)
    return found[1] if found else None


def _second(moment: str) -> int:
    return timegm(time.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S"))


def _written_at(document: Document) -> int:
    """When an object was written last, by the server's own record."""
    owners = document["metadata"].get("managedFields") or ()
    return max((_second(each["time"]) for each in owners if each.get("time")), default=0)


class Witness:
    """Hears of every write from its beginning on."""

    def __init__(self, hub: ControlPlane, clusters: Mapping[str, ControlPlane], law: Law) -> None:
        self._law = law
        namespaced = f"namespaces/{law.namespace}"
        self._watches = [
            _Watch(HUB, hub, f"/api/v1/{namespaced}/configmaps", "ConfigMap"),
            _Watch(HUB, hub, f"{ROLLOUTS}/{namespaced}/rollouts", "Rollout"),
            *(
                _Watch(HUB, hub, f"{POLICIES}/namespaces/{name}/policies", "Policy", law.replica)
                for name in clusters
            ),
            *(
                _Watch(name, plane, "/api/v1/namespaces/default/configmaps", "ConfigMap", each)
                for name, plane in clusters.items()
                for each in (law.policy,)
            ),
        ]

    def __enter__(self) -> "Witness":
        for each in self._watches:
            each.begin()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._watches:
            each.end()

    def heard(self) -> list[Heard]:
        """Everything that was written by now."""
        for each in self._watches:
            each.catch_up()
        return [one for each in self._watches for one in list(each.heard)]

    def verdicts(self) -> list[str]:
        """What was done by now that the rules do not allow."""
        return judge(self.heard(), self._law)

    def of_object(self, cluster: str) -> list[Heard]:
        """What was written of the managed object on a cluster, from when the witness began."""
        return [each for each in self.heard() if each.place == cluster and each.change != "FOUND"]


class _Watch:
    """Objects of one kind in one place, by a thread of its own."""

    def __init__(
        self, place: str, plane: ControlPlane, path: str, kind: str, name: str = ""
    ) -> None:
        self._place, self._plane, self._path, self._kind = place, plane, path, kind
        self._query = {"fieldSelector": f"metadata.name={name}"} if name else {}
        self.heard: list[Heard] = []
        self._version = ""
        self._done = Event()
        self._thread = Thread(target=self._follow, daemon=True)

    def begin(self) -> None:
        self._read("FOUND", "FOUND")
        self._thread.start()

    def _read(self, new: str, changed: str) -> None:
        """Hear of everything that is there, and of what was and is no more."""
        found = self._list()
        last = {each.name: each for each in self.heard}
        for each in found["items"]:
            name, version = self._mark(each)
            known = last.pop(name, None)
            if known is None or known.version < version:
                gone = known is None or known.change == "DELETED"
                self._hear(new if gone else changed, each)
        self._version = str(found["metadata"]["resourceVersion"])
        for gone_now in last.values():
            if gone_now.change != "DELETED":
                at = {"resourceVersion": self._version}
                metadata = {**gone_now.document["metadata"], **at}
                self._hear("DELETED", {**gone_now.document, "metadata": metadata})

    def end(self) -> None:
        self._done.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def catch_up(self) -> None:
        """Until everything that is there now was heard of."""
        wanted = {self._mark(each) for each in self._list()["items"]}
        path = f"{self._place}: {self._path}"

        def is_there() -> bool:
            known: dict[str, int] = {}
            for each in list(self.heard):
                known[each.name] = max(known.get(each.name, 0), each.version)
            return all(known.get(name, 0) >= version for name, version in wanted)

        until(is_there, f"the witness has heard of everything in {path}")

    @staticmethod
    def _mark(document: Document) -> tuple[str, int]:
        return document["metadata"]["name"], int(document["metadata"]["resourceVersion"])

    def _list(self) -> dict[str, Any]:
        found: dict[str, Any] = self._plane.ask("GET", f"{self._path}?{self._words({})}")
        return found

    def _words(self, more: dict[str, str]) -> str:
        return urllib.parse.urlencode({**self._query, **more})

    def _hear(self, change: str, document: dict[str, Any]) -> None:
        version = int(document["metadata"]["resourceVersion"])
        self.heard.append(Heard(version, self._place, change, {**document, "kind": self._kind}))

    def _follow(self) -> None:
        while not self._done.is_set():
            try:
                for event in self._events():
                    document = event["object"]
                    if event["type"] == "ERROR":
                        self._read("ADDED", "MODIFIED")
                        break
                    self._version = document["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._hear(event["type"], document)
            except (HTTPException, OSError, ValueError) as error:
                if isinstance(error, HTTPError):
                    error.close()
                # The server is down, or stopped in the middle of a line.
                self._done.wait(0.1)

    def _events(self) -> Iterator[dict[str, Any]]:
        more = {
            "watch": "1",
            "allowWatchBookmarks": "1",
            "resourceVersion": self._version,
            "timeoutSeconds": str(_WATCH_S),
        }
        tls = self._plane.authority.trusting()
        patience = _WATCH_S + 10
        server = HTTPSConnection("127.0.0.1", self._plane.port, timeout=patience, context=tls)
        # Closed whatever happens: the server may be killed at any moment.
        with closing(server):
            bearer = {"Authorization": f"Bearer {self._plane.tokens[ADMIN]}"}
            server.request("GET", f"{self._path}?{self._words(more)}", headers=bearer)
            with server.getresponse() as answer:
                if answer.status == HTTPStatus.GONE:
                    yield {"type": "ERROR", "object": {}}
                elif answer.status == HTTPStatus.OK:
                    yield from map(json.loads, answer)
                else:
                    raise HTTPException(answer.status)
