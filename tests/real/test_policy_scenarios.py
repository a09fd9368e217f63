"""The stories of policies on a real hub: each goes as its file expects, as in virtual time.

All of them are played side by side on one hub, by one worker, in namespaces and on clusters of
their own; a minute takes a second and a half. Scheduler, propagator and the clusters that a story
calls real are what they are; other clusters have simulated agents.

On a busy machine a round may take longer than a soak of seconds: a story that did not go as it is
written is played once more, more slowly, and that is what counts.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.command import tidegate
from tests.contract.clusters import REAL
from tests.real.hub import PLACEMENTS, POLICIES, Hub, until
from tests.real.story_stage import RealStage, SimulatedAgents, Witness
from tests.real.test_policies import asked
from tests.scenarios.policy_stories import FILES, expectation, read_story, story_id, written
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.round import RoundResult
from tidegate.engine.vitals import Led
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked
from tidegate.kinds.policies.fleet import PolicyFleet
from tidegate.kinds.policies.kind import PolicyKind
from tidegate.kinds.policies.simulated.chronicle import Chronicle, told_story
from tidegate.kinds.policies.simulated.scenario import (
    AgentManner,
    ExpectedStory,
    PolicyScenario,
    PolicyVerb,
    RehearsedPolicy,
)
from tidegate.kinds.policies.simulated.script import Script
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.server import ServerLimits
from tidegate.kubernetes.port import ROLLOUT
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Duration, parse_duration
from tidegate.store.client.memory import MemoryStore

pytestmark = REAL

ROLLOUTS = f"/apis/{ROLLOUT.api_version}"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

# So many times as fast as it is written: a real agent takes seconds to evaluate.
PACE = 40
SLOW_PACE = 10
# Between two looks at what is due.
STEP_S = 0.1
# A story that is as expected stays so for as long.
QUIET_S = 3.0
STORY_S = 240.0
_LIMITS = ServerLimits(concurrency_max=64, rate_max=10_000)
_TIMES = ("minSuccessTime", "progressDeadline")


def quickened(scenario: PolicyScenario, prefix: str, real: str, pace: int) -> PolicyScenario:
    """A story for a hub that it shares with others, in a fraction of its time."""

    def short(duration: Duration) -> Duration:
        return Duration(duration // pace)

    policies = tuple(
        msgspec.structs.replace(each, rollout=_quick(each.rollout, pace))
        for each in scenario.policies
    )
    events = tuple(
        msgspec.structs.replace(
            each,
            at=None if each.at is None else short(each.at),
            after=short(each.after),
            fields=_quick(each.fields, pace),
        )
        for each in scenario.events
    )

    def manner(each: AgentManner) -> AgentManner:
        low, high = short(each.answer_min), short(each.answer_max)
        return msgspec.structs.replace(each, answer_min=low, answer_max=high)

    return msgspec.structs.replace(
        scenario,
        policies=policies,
        events=events,
        manner=manner(scenario.manner),
        manners={name: manner(each) for name, each in scenario.manners.items()},
        namespace=f"{prefix}policies",
        source=f"{prefix}source",
        group_label=f"{prefix}group",
        prefix=prefix,
        aliases=dict.fromkeys(scenario.real, real),
    )


def _quick(fields: Any, pace: int) -> Any:
    """The fields of a Rollout with its times shortened, to whole seconds."""
    if isinstance(fields, Mapping):
        return {
            key: f"{max(1, round(parse_duration(value) / SECOND / pace))}s"
            if key in _TIMES and isinstance(value, str)
            else _quick(value, pace)
            for key, value in fields.items()
        }
    return [_quick(each, pace) for each in fields] if isinstance(fields, list) else fields


class Telling:
    """One story on the hub."""

    def __init__(
        self, path: Path, stage: RealStage, scenario: PolicyScenario, patience_s: float
    ) -> None:
        self.path = path
        self._patience_s = patience_s
        self.scenario = scenario
        self._stage = stage
        self._clock = SystemClock()
        self.store = MemoryStore()
        self.script = Script(scenario, stage, ask=self._ask, tell=self._tell)
        self.chronicles = {
            name: Chronicle(each.label, scenario.told)
            for name, each in self.script.policies.items()
        }
        self.took_s = 0.0

    @property
    def partitions(self) -> dict[str, Chronicle]:
        """The chronicle of each policy as the worker calls it."""
        return {
            each.partition: self.chronicles[name] for name, each in self.script.policies.items()
        }

    async def live(self) -> None:
        """From a hub that is ready to a story that is as expected, or has had its time."""
        begun = time.monotonic()
        scenario = self.scenario
        self._stage.open(scenario.namespace, scenario.source)
        await self.script.open()
        while not self._is_set():
            assert time.monotonic() < begun + self._patience_s, (
                f"{self.path.stem}: the stage is not set"
            )
            await asyncio.sleep(STEP_S)
        self.script.start(self._clock.now())
        await self.script.declare()
        quiet_since = time.monotonic()
        while time.monotonic() < begun + self._patience_s:
            latest = {n: each.latest for n, each in self.chronicles.items() if each.latest}
            while await self.script.play(self._clock.now(), latest):
                latest = {}
            if not self.is_as_written():
                quiet_since = time.monotonic()
            elif time.monotonic() > quiet_since + QUIET_S:
                break
            await asyncio.sleep(STEP_S)
        self.took_s = time.monotonic() - begun

    def is_as_written(self) -> bool:
        """Whether it went as its file expects, so far."""
        return expectation(self.told()) == written(self.path)

    def told(self) -> ExpectedStory:
        """The story so far."""
        lines = {name: each.lines() for name, each in self.chronicles.items()}
        return told_story(lines, self.script.had_by_policy())

    def deleted(self) -> dict[str, list[str]]:
        """What was deleted on clusters that did not leave."""
        left = {n for e in self.scenario.events if e.verb is PolicyVerb.LEAVE for n in e.names}
        found = {
            each: list(self._stage.deleted(self.scenario.own(each)))
            for each in self.script.clusters
            if each not in left
        }
        return {name: names for name, names in found.items() if names}

    def _is_set(self) -> bool:
        """Whether every cluster has what it is said to have."""
        return all(
            self._has(cluster, each)
            for each in self.scenario.policies
            if each.has
            for cluster in self.script.clusters
        )

    def _has(self, cluster: str, policy: RehearsedPolicy) -> bool:
        """One that only informs is on no cluster: it was evaluated there."""
        if policy.rollout.get("stage") != "waves":
            return self.script.had(cluster, policy.name) == [policy.has]
        staged = self.script.policies[policy.name]
        name = f"{staged.namespace}.{staged.policy}"
        return self._stage.has_evaluated(self.scenario.own(cluster), name)

    def _tell(self, policy: str, text: str) -> None:
        for name, chronicle in self.chronicles.items():
            if policy in ("", name):
                chronicle.note(text)

    def _ask(self, partition: str, asked_for: Asked) -> None:
        self.store.append(partition, [JournalNote(self._clock.now(), "story", asked_for)])


async def tell_all(hub: Hub) -> dict[Path, Telling]:
    """Play every story; once more, slowly, what a busy machine told otherwise."""
    told = await tell(hub, FILES, PACE, "s")
    again = [path for path, each in told.items() if not each.is_as_written()]
    return told | (await tell(hub, again, SLOW_PACE, "t") if again else {})


async def tell(hub: Hub, files: Sequence[Path], pace: int, letter: str) -> dict[Path, Telling]:
    """Play stories, side by side, with one worker, in places that begin with a letter."""
    store, chronicles = MemoryStore(), dict[str, Chronicle]()
    clock = SystemClock()

    def hear(partition: str, outcome: RoundResult | Led | Exception) -> None:
        if isinstance(outcome, RoundResult) and partition in chronicles:
            chronicles[partition].hear(outcome, clock.now())

    async with AsyncExitStack() as stack:
        sides = {
            name: KubernetesCluster(hub.plane.access(), manager=name, limits=_LIMITS)
            for name in ("tidegate", "author", "agents")
        }
        cluster = hub.clusters["m1"]
        seen = KubernetesCluster(cluster.plane.access(), manager="witness")
        for each in (*sides.values(), seen):
            stack.push_async_callback(each.close)
        agents, witness = SimulatedAgents(sides["agents"]), Witness(seen)
        told: dict[Path, Telling] = {}
        for at, path in enumerate(files):
            prefix = f"{letter}{at:02d}-"
            real = {"m1": (cluster, witness)}
            stage = RealStage(hub, sides["author"], agents, real, prefix)
            scenario = quickened(read_story(path), prefix, "m1", pace)
            told[path] = Telling(path, stage, scenario, STORY_S * PACE / pace)
            told[path].store = store
            chronicles.update(told[path].partitions)
        worker = Worker(
            store,
            (PolicyKind(PolicyFleet(sides["tidegate"], look_s=1.0)),),
            clock,
            Executor(Limits(), Breaker()),
            WorkerSettings(
                holder="stories", act=(f"policies/{letter}*",), discover_s=0.5, resync_s=5.0
            ),
            hear,
        )
        tasks = [asyncio.create_task(each) for each in (agents.run(), witness.run(), worker.run())]
        try:
            await asyncio.gather(*(each.live() for each in told.values()))
        finally:
            worker.stop()
            for task in tasks[:2]:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        broken = [e for e in ends if isinstance(e, Exception)]
        assert not broken, broken
    return told


@pytest.fixture(scope="module")
def told(hub: Hub) -> dict[Path, Telling]:
    """Every story, played on the hub."""
    # Another module may have defined it already.
    asked(hub.plane, "POST", _CRDS, yaml.safe_load(tidegate("policies", "crd").stdout))
    until(lambda: "items" in asked(hub.plane, "GET", f"{ROLLOUTS}/rollouts")[1], "it is served")
    return asyncio.run(tell_all(hub))


@pytest.mark.parametrize("path", FILES, ids=story_id)
def test_the_story_goes_on_a_real_hub_as_it_is_written(
    told: dict[Path, Telling], path: Path
) -> None:
    """The same lines in the same order, and what each cluster had; nothing was ever deleted."""
    story = told[path]
    assert expectation(story.told()) == written(path), f"after {story.took_s:.0f} s"
    assert story.script.left() == []
    assert story.deleted() == {}


def test_the_next_edit_is_rehearsed_on_the_hub_as_it_is(
    told: dict[Path, Telling], hub: Hub
) -> None:
    """By its own decisions, revisions and pointers; nothing on it changes by that."""
    scenario = next(each for path, each in told.items() if path.stem == "updated-policy").scenario
    name = f"{scenario.namespace}.{scenario.prefix}web"
    before = _versions(hub, scenario.namespace)
    words = ("simulate", "policies", "--hub", str(hub.plane.kubeconfig()), name, "-o", "json")
    shown = tidegate(*words)
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)["policies"][0]
    prefix = scenario.prefix
    assert [line for line in found["story"] if line[0] in "▶■"] == [
        f"▶ dev: m1, {prefix}dev-2 get next",
        f"▶ stage: {prefix}stage-1 get next",
        f"▶ prod: {prefix}prod-1, {prefix}prod-2 get next",
        "■ Succeeded",
    ]
    assert found["clusters"]["m1"] == ["now"], "a made-up edit changes no object"
    assert _versions(hub, scenario.namespace) == before


def _versions(hub: Hub, namespace: str) -> dict[str, str]:
    """The version of everything that Tidegate writes in a namespace."""
    found: dict[str, str] = {}
    for at, plural in (
        ("/api/v1", "configmaps"),
        (POLICIES, "policies"),
        (POLICIES, "placementbindings"),
        (PLACEMENTS, "placements"),
        (PLACEMENTS, "placementdecisions"),
        (ROLLOUTS, "rollouts"),
    ):
        listed: Any = hub.plane.ask("GET", f"{at}/namespaces/{namespace}/{plural}")
        for each in listed["items"]:
            metadata = each["metadata"]
            found[f"{plural}/{metadata['name']}"] = metadata["resourceVersion"]
    return found
