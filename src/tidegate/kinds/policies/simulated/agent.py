"""The agents of one managed cluster: they evaluate policies in their own time, and report.

What they do to objects is kept with uid and generation, and every deletion is noted: that an object
stays the same while a revision moves is what staging promises.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.policies.core.names import HUB_ERROR
from tidegate.kinds.policies.core.revision import DEFAULT_MESSAGE, Fields, stamp_in
from tidegate.model.time import SECOND, Duration, Instant, format_second

# As many entries are kept of each template's history.
HISTORY_MAX = 10
# As long as simulated agents took on a real hub.
DELAY = Duration(SECOND // 2)


class ClusterObject(msgspec.Struct):
    """An object on a managed cluster."""

    uid: int
    generation: int
    content: Any


class Agent:
    """What runs on one managed cluster."""

    def __init__(self, name: str) -> None:
        self.name = name
        # How long it takes to evaluate what is new.
        self.delay = DELAY
        # It evaluates and reports nothing.
        self.silent = False
        # Values of `data.value`, and revisions by name, that it cannot apply, and why.
        self.fails: dict[str, str] = {}
        # Why it is NonCompliant, whatever it has; empty: it is not.
        self.broken = ""
        self.objects: dict[str, ClusterObject] = {}
        # Every object that was deleted, in order.
        self.deleted: list[str] = []
        # Every content that any object had, in order.
        self.applied: list[tuple[Instant, str, Any]] = []
        self._uid = 0
        # The spec it is to evaluate for each policy, and when; and the last it evaluated.
        self._due: dict[str, tuple[Instant, Fields]] = {}
        self._done: dict[str, Fields] = {}
        self.history: dict[str, dict[str, list[dict[str, str]]]] = {}
        # What was evaluated last of each template: its spec, and what the policy makes of it.
        self._generations: dict[tuple[str, str], Any] = {}
        # How much its clock is ahead of the hub's.
        self.ahead = Duration(0)

    def see(self, policy: str, spec: Fields | None, now: Instant) -> None:
        """The policy as the hub has it; None: it is gone."""
        if self.silent:
            return
        if spec is None:
            if policy in self._done or policy in self._due:
                self._drop(policy)
            return
        due = self._due.get(policy)
        known = due[1] if due is not None else self._done.get(policy)
        if known != spec:
            self._due[policy] = (Instant(now + self.delay), spec)

    def recheck(self, now: Instant) -> None:
        """Evaluate everything again: something on the cluster changed."""
        for policy, spec in self._done.items():
            self._due.setdefault(policy, (Instant(now + self.delay), spec))

    def policies(self) -> set[str]:
        """The policies it knows of."""
        return {*self._done, *self._due}

    def evaluated(self, policy: str) -> Fields | None:
        """The spec of a policy that it evaluated last; None: none."""
        return self._done.get(policy)

    def next_at(self) -> Instant | None:
        """When it evaluates next."""
        if self.silent:
            return None
        return min((at for at, _ in self._due.values()), default=None)

    def evaluate(self, now: Instant) -> Mapping[str, Any]:
        """The statuses of policies that it evaluates now."""
        if self.silent:
            return {}
        found: dict[str, Any] = {}
        for policy, (at, spec) in list(self._due.items()):
            if at <= now:
                del self._due[policy]
                self._done[policy] = spec
                found[policy] = self._status(policy, spec, now)
        return found

    def _status(self, policy: str, spec: Fields, now: Instant) -> dict[str, Any]:
        details = []
        for template in spec["policy-templates"]:
            definition = template["objectDefinition"]
            name = definition["metadata"]["name"]
            compliant, message = self._template(definition, spec, now)
            entry = {
                "lastTimestamp": format_second(Instant(now + self.ahead)),
                "message": message,
                "eventName": f"{policy}.{now + self.ahead:016x}",
            }
            entries = self.history.setdefault(policy, {}).setdefault(name, [])
            # Another generation is another entry, whatever it says.
            generation = (definition.get("spec"), spec.get("remediationAction"))
            known = self._generations.get((policy, name))
            if not entries or entries[0]["message"] != message or known != generation:
                entries.insert(0, entry)
            self._generations[policy, name] = generation
            del entries[HISTORY_MAX:]
            details.append(
                {
                    "templateMeta": {"name": name},
                    "compliant": compliant,
                    "history": [dict(each) for each in entries],
                }
            )
        states = {each["compliant"] for each in details}
        overall = "NonCompliant" if "NonCompliant" in states else "Compliant"
        return {"compliant": overall, "details": details}

    def _template(self, definition: Fields, spec: Fields, now: Instant) -> tuple[str, str]:
        error = (definition["metadata"].get("annotations") or {}).get(HUB_ERROR)
        if error:
            return "NonCompliant", f"NonCompliant; template-error; {error}"
        body = definition["spec"]
        enforced = (spec.get("remediationAction") or body.get("remediationAction")) == "enforce"
        stamp = stamp_in((body.get("customMessage") or {}).get("compliant", "")) or ""
        if self.broken or stamp in self.fails:
            wrong = [self.broken or self.fails[stamp]]
        else:
            wrong = [
                words
                for each in body.get("object-templates") or ()
                if (words := self._object(each["objectDefinition"], enforced, now))
            ]
        state = "NonCompliant" if wrong else "Compliant"
        said = f"{state}; violation - {wrong[0]}" if wrong else f"{state}; notification - as wanted"
        own = (body.get("customMessage") or {}).get(state.lower(), "")
        message = own.replace(DEFAULT_MESSAGE, said) if own else said
        return state, message if message.startswith(f"{state}; ") else f"{state}; {message}"

    def _object(self, wanted: Fields, enforced: bool, now: Instant) -> str:
        """What is wrong with an object; empty: nothing."""
        name = f"{wanted['kind']}/{wanted['metadata']['name']}"
        there = self.objects.get(name)
        if there is not None and there.content == wanted:
            return ""
        if not enforced:
            return f"{name} differs"
        value = str((wanted.get("data") or {}).get("value"))
        if value in self.fails:
            return f"{name}: {self.fails[value]}"
        if there is None:
            self._uid += 1
            self.objects[name] = ClusterObject(self._uid, 1, wanted)
        else:
            there.content, there.generation = wanted, there.generation + 1
        self.applied.append((now, name, wanted))
        return ""

    def _drop(self, policy: str) -> None:
        """The policy is gone: what it made is deleted."""
        self._due.pop(policy, None)
        spec = self._done.pop(policy, None) or {}
        self.history.pop(policy, None)
        for template in spec.get("policy-templates") or ():
            body = template["objectDefinition"].get("spec")
            for each in body.get("object-templates") or () if isinstance(body, Mapping) else ():
                wanted = each["objectDefinition"]
                name = f"{wanted['kind']}/{wanted['metadata']['name']}"
                if self.objects.pop(name, None) is not None:
                    self.deleted.append(name)
