"""What the people and clusters of a rehearsal do: written on a stage, each when it is due."""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec

from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.policies.core.names import POLICY_VERSION
from tidegate.kinds.policies.core.revision import revision_of
from tidegate.kinds.policies.simulated.author import (
    binding_fields,
    objects_in,
    placement_spec,
)
from tidegate.kinds.policies.simulated.scenario import (
    OF_CLUSTERS,
    AgentManner,
    Awaited,
    PolicyEvent,
    PolicyScenario,
    PolicyVerb,
)
from tidegate.kinds.policies.simulated.stage import RehearsalStage
from tidegate.kinds.policies.simulated.staged_policy import StagedPolicy, staged_policies
from tidegate.kinds.rollouts.core.explain.table import state_word
from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kubernetes.port import PLACEMENT, PLACEMENT_BINDING, POLICY, POLICY_SET, ROLLOUT
from tidegate.model.time import Duration, Instant

_PLACEMENT = "fleet"
# Answer times are drawn in so many steps: a story with a line for every cluster is no story.
DRAWN_STEPS = 4
# Agents answer at once while the stage is set.
_QUICK = AgentManner(Duration(0), Duration(0))
_TOLD = {
    PolicyVerb.APPROVE: "approved:",
    PolicyVerb.REVOKE: "no longer approved:",
    PolicyVerb.PAUSE: "paused",
    PolicyVerb.RESUME: "resumed",
    PolicyVerb.RETRY: "retry:",
    PolicyVerb.ABORT: "aborted",
    PolicyVerb.LEAVE: "left:",
    PolicyVerb.OFFLINE: "offline:",
    PolicyVerb.ONLINE: "back online:",
    PolicyVerb.SILENCE: "silent agent:",
    PolicyVerb.ANSWER: "answers again:",
    PolicyVerb.FIX: "well again:",
}


class Script:
    """The events of a rehearsal, and the stage they happen on."""

    def __init__(
        self,
        scenario: PolicyScenario,
        stage: RehearsalStage,
        *,
        seed: int = 0,
        ask: Callable[[str, Asked], None],
        tell: Callable[[str, str], None],
    ) -> None:
        self._scenario = scenario
        self._stage = stage
        self._seed = seed
        # A command about a policy; and an event in words, and of which policy (empty: all).
        self._ask, self._tell = ask, tell
        self.policies = {each.name: each for each in staged_policies(scenario)}
        self._labels: dict[str, dict[str, str]] = {}
        self._manners: dict[str, AgentManner] = {}
        self._ahead = list(enumerate(scenario.events))
        # When what each event waits for was so.
        self._since: dict[int, Instant] = {}
        self.clusters: list[str] = []

    def own(self, cluster: str) -> str:
        """A cluster as the stage calls it."""
        return self._scenario.own(cluster)

    def start(self, now: Instant) -> None:
        """Count the times of events from now on."""
        self._scenario = msgspec.structs.replace(self._scenario, start=now)

    async def open(self) -> None:
        """Clusters, their groups, and the plain policies that they have already."""
        scenario = self._scenario
        for group in scenario.groups:
            for cluster in group.clusters:
                await self._join(cluster, group.name, group.labels)
        if scenario.groups:
            chosen = placement_spec(scenario)
            await self._stage.write(PLACEMENT, scenario.namespace, _PLACEMENT, spec=chosen)
        for each in scenario.policies:
            policy = self.policies[each.name]
            fields = binding_fields(policy.policy, _PLACEMENT, "PolicySet" if each.of else "Policy")
            await self._stage.write(PLACEMENT_BINDING, policy.namespace, policy.policy, **fields)
            await self._write_set(policy, None)
            for name, spec in (policy.specs[each.has] if each.has else {}).items():
                await self._stage.write(POLICY, policy.namespace, name, spec=dict(spec))

    async def declare(self) -> None:
        """The policies that their authors want, and their rollouts; agents behave as they do."""
        for each in self._scenario.policies:
            policy = self.policies[each.name]
            await self._revise(policy, each.wants, each.version)
            await self._declare(policy)
        await self.begin()

    def take(
        self, policies: Mapping[str, StagedPolicy], labels: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Use the policies and clusters that are on the stage already."""
        self.policies = dict(policies)
        self._labels = {name: dict(each) for name, each in labels.items()}
        self.clusters = list(labels)

    async def begin(self, silent: Collection[str] = ()) -> None:
        """Have agents behave as they do; some are silent."""
        for cluster in self.clusters:
            manner = self._drawn(cluster)
            quiet = manner.silent or cluster in silent
            await self._behave(cluster, msgspec.structs.replace(manner, silent=quiet))

    def next_at(self, now: Instant) -> Instant | None:
        """When the next event is due by time alone."""
        later = [each for each in self._moments() if each > now]
        return min(later, default=None)

    def left(self) -> list[PolicyEvent]:
        """What has not happened."""
        return [event for _, event in self._ahead]

    async def play(self, now: Instant, latest: Mapping[str, SimulatedStep]) -> bool:
        """Let the next event that is due happen; whether there was one."""
        for at, event in self._ahead:
            if not self._is_due(at, event, now, latest):
                continue
            self._ahead.remove((at, event))
            self._tell(event.policy, told_of(event))
            await self._happen(event)
            return True
        return False

    def had(self, cluster: str, name: str) -> list[str]:
        """The revisions of a policy that a cluster really had, in order."""
        policy, found = self.policies[name], list[str]()
        for content in self._stage.applied(self.own(cluster)):
            labels = [
                label
                for label, specs in policy.specs.items()
                if any(content in list(objects_in(spec)) for spec in specs.values())
            ]
            if labels and found[-1:] != labels[:1]:
                found.append(labels[0])
        return found

    def had_by_policy(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """The same of every policy and cluster."""
        return {
            name: {each: tuple(self.had(each, name)) for each in self.clusters}
            for name in self.policies
        }

    def _moments(self) -> Iterator[Instant]:
        for at, event in self._ahead:
            if event.at is not None:
                yield Instant(self._scenario.start + event.at)
            elif at in self._since:
                yield Instant(self._since[at] + event.after)

    def _is_due(
        self, at: int, event: PolicyEvent, now: Instant, latest: Mapping[str, SimulatedStep]
    ) -> bool:
        if event.at is not None:
            return now >= self._scenario.start + event.at
        if at - 1 in [other for other, _ in self._ahead]:
            return False
        if at not in self._since:
            if event.awaited is not None and not self._is_so(event.awaited, latest):
                return False
            self._since[at] = now
        return now >= self._since[at] + event.after

    def _is_so(self, awaited: Awaited, latest: Mapping[str, SimulatedStep]) -> bool:
        if awaited.what == "policy":
            step = latest.get(awaited.name)
            return step is not None and step.plan.summary.value == awaited.state
        if awaited.what == "group":
            return any(
                step.world.groups[report.group].name == awaited.name
                and report.status.value == awaited.state
                for step in latest.values()
                for report in step.plan.groups
            )
        return any(
            target.name == self.own(awaited.name)
            and state_word(step.world, step.plan, i) == awaited.state
            for step in latest.values()
            for i, target in enumerate(step.world.targets)
        )

    async def _happen(self, event: PolicyEvent) -> None:
        if event.verb in OF_CLUSTERS:
            for cluster in event.names:
                await self._happen_to(cluster, event)
            return
        policy = self.policies[event.policy]
        match event.verb:
            case PolicyVerb.REVISE:
                await self._revise(policy, event.names[0], event.version)
                return
            case PolicyVerb.ABORT:
                self._ask(policy.partition, Asked(verb=Verb.ABORT, reason="rehearsal"))
                return
            case PolicyVerb.ROLLOUT:
                _merge(policy.fields, event.fields)
            case PolicyVerb.APPROVE | PolicyVerb.REVOKE:
                _approve(policy.fields, event.names, event.verb is PolicyVerb.APPROVE)
            case PolicyVerb.PAUSE | PolicyVerb.RESUME:
                policy.fields["paused"] = event.verb is PolicyVerb.PAUSE
            case _:
                found = await self._stage.document(ROLLOUT, *policy.rollout)
                uid = (found.get("status") or {}).get("rolloutUID", "")
                failed = event.names[:1] == ("failed",)
                policy.fields["retryRollout"] = {"rolloutUID": uid, "failedOnly": failed}
        await self._declare(policy)

    async def _happen_to(self, cluster: str, event: PolicyEvent) -> None:
        known, replace = self._manners.get(cluster, _QUICK), msgspec.structs.replace
        match event.verb:
            case PolicyVerb.JOIN:
                await self._join(cluster, event.group, self._labels_of(event.group))
                await self._behave(cluster, self._drawn(cluster))
            case PolicyVerb.LEAVE:
                await self._stage.unregister(self.own(cluster))
            case PolicyVerb.OFFLINE | PolicyVerb.ONLINE:
                is_back = event.verb is PolicyVerb.ONLINE
                labels = self._labels[cluster]
                await self._behave(cluster, replace(known, silent=not is_back))
                await self._stage.reach(self.own(cluster), labels, reachable=is_back)
            case PolicyVerb.SILENCE | PolicyVerb.ANSWER:
                silent = event.verb is PolicyVerb.SILENCE
                await self._behave(cluster, replace(known, silent=silent))
            case PolicyVerb.BREAK:
                await self._behave(cluster, replace(known, broken=event.why))
            case _:
                await self._behave(cluster, replace(known, broken="", fails={}))

    async def _join(self, cluster: str, group: str, labels: Mapping[str, str]) -> None:
        scenario = self._scenario
        more = scenario.labels.get(cluster, {})
        # A cluster in no group of a name has the label as well: it is one of this story.
        mine = {**labels, **more, scenario.group_label: group or "ungrouped"}
        self._labels[cluster] = mine
        await self._stage.register(self.own(cluster), mine)
        await self._behave(cluster, _QUICK)
        if cluster not in self.clusters:
            self.clusters.append(cluster)

    def _labels_of(self, group: str) -> Mapping[str, str]:
        return next((each.labels for each in self._scenario.groups if each.name == group), {})

    def _drawn(self, cluster: str) -> AgentManner:
        """How an agent behaves, its answer drawn by the seed, its failures by every name."""
        manner = self._scenario.manner_of(cluster)
        draw = random.Random(f"{self._seed}/{cluster}")
        span = manner.answer_max - manner.answer_min
        after = Duration(manner.answer_min + span * draw.randint(0, DRAWN_STEPS) // DRAWN_STEPS)
        fails = dict(manner.fails)
        for policy in self.policies.values():
            for label, why in manner.fails.items():
                for spec in policy.specs.get(label, {}).values():
                    fails[revision_of(spec).name] = why
        return msgspec.structs.replace(manner, answer_min=after, answer_max=after, fails=fails)

    async def _behave(self, cluster: str, manner: AgentManner) -> None:
        self._manners[cluster] = manner
        await self._stage.behave(self.own(cluster), manner)

    async def _revise(self, policy: StagedPolicy, revision: str, version: str | None) -> None:
        notes = {"annotations": {POLICY_VERSION: version}} if version is not None else {}
        for name, spec in policy.specs[revision].items():
            await self._stage.write(POLICY, policy.source, name, spec=dict(spec), metadata=notes)
        if version is not None:
            await self._write_set(policy, version)

    async def _write_set(self, policy: StagedPolicy, version: str | None) -> None:
        """The PolicySet, where it is one; a version of it is that of the set."""
        notes = {"annotations": {POLICY_VERSION: version}} if version is not None else {}
        if policy.of:
            spec, place = {"policies": list(policy.of)}, (policy.namespace, policy.policy)
            await self._stage.write(POLICY_SET, *place, spec=spec, metadata=notes)

    async def _declare(self, policy: StagedPolicy) -> None:
        await self._stage.write(ROLLOUT, *policy.rollout, spec=dict(policy.fields))


def told_of(event: PolicyEvent) -> str:
    """An event in words."""
    names = ", ".join(event.names)
    match event.verb:
        case PolicyVerb.REVISE:
            version = f", version {event.version}" if event.version is not None else ""
            return f"revision {names} is written{version}"
        case PolicyVerb.ROLLOUT:
            return f"the Rollout is edited: {', '.join(event.fields)}"
        case PolicyVerb.JOIN:
            return f"{names} joined {event.group or 'no group'}"
        case PolicyVerb.BREAK:
            return f"{names} is NonCompliant: {event.why}"
        case _:
            return f"{_TOLD[event.verb]} {names}".rstrip()


def _merge(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Set fields of a spec; null takes one away."""
    for name, value in more.items():
        if value is None:
            fields.pop(name, None)
        else:
            fields[name] = value


def _approve(fields: dict[str, Any], names: tuple[str, ...], approved: bool) -> None:
    """Approve groups in the spec of a Rollout, or take that back."""
    groups = {each["groupName"]: each for each in fields.get("decisionGroups") or ()}
    for name in names:
        if name == "ungrouped":
            fields["ungrouped"] = {"rolloutApproved": approved}
        else:
            groups[name] = {"groupName": name, "rolloutApproved": approved}
    fields["decisionGroups"] = list(groups.values())
