"""A stage for policies: a simulated hub, virtual time, and a worker that can be started anew."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tests.engine.stage import TERM, VirtualClock
from tests.patience import PATIENCE_S
from tests.policies import body, spec, template
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.journal import Journal
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import Round, RoundContext, RoundResult
from tidegate.journal.facts import Mode
from tidegate.kinds.policies.fleet import PolicyFleet
from tidegate.kinds.policies.kind import PolicyKind
from tidegate.kinds.policies.simulated.hub import SimulatedHub
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.kubernetes.port import EVENT, PLACEMENT, PLACEMENT_BINDING, POLICY, ROLLOUT
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Instant, parse_instant
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Store

PARTITION = "policies/policies.web"
NAME = "policies.web"
OBJECT = "ConfigMap/web"
GROUPS = ("dev", "stage", "prod")
# No story here is longer.
STEPS_MAX = 600
MINUTE = 60.0


def strategy(**more: Any) -> dict[str, Any]:
    """Group after group, each success for five minutes, within twenty."""
    limits = {"minSuccessTime": "5m", "progressDeadline": "20m"}
    return {"type": "ProgressivePerGroup", "progressivePerGroup": limits, **more}


class HubStage:
    """A hub with clusters in three groups, and a policy with a rollout."""

    def __init__(
        self, each: int = 2, clock: Clock | None = None, store: Store | None = None, **rollout: Any
    ) -> None:
        self.clock = VirtualClock(parse_instant("2026-01-05T10:00:00Z"))
        self.hub = SimulatedHub(clock or self.clock)
        self.store = store or MemoryStore()
        self.lives = 0
        for env in GROUPS:
            for at in range(1, each + 1):
                self.hub.add(f"{env}-{at}", {"env": env})
        self.group(*GROUPS)
        self.bind("fleet")
        self.write("1")
        self.declare(**rollout)

    def group(self, *groups: str) -> None:
        """The author writes the placement, with these groups in this order."""
        selectors = [
            {
                "groupName": env,
                "groupClusterSelector": {"labelSelector": {"matchLabels": {"env": env}}},
            }
            for env in groups
        ]
        grouped = {"decisionStrategy": {"groupStrategy": {"decisionGroups": selectors}}}
        self.hub.put(PLACEMENT, "policies", "fleet", spec=grouped)

    def bind(self, placement: str, policy: str = "web") -> None:
        """The author binds the root to a placement."""
        self.hub.put(
            PLACEMENT_BINDING,
            "policies",
            policy,
            placementRef={
                "apiGroup": "cluster.open-cluster-management.io",
                "kind": "Placement",
                "name": placement,
            },
            subjects=[
                {"apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": policy}
            ],
        )

    def declare_policy(self, policy: str) -> None:
        """Another policy with a rollout of its own, over the same clusters."""
        self.bind("fleet", policy)
        wanted = body("1", f"{policy}-config")
        self.hub.put(POLICY, "web-source", policy, spec=spec(template(policy, wanted)))
        fields = {"policy": policy, "source": {"namespace": "web-source"}}
        self.hub.put(ROLLOUT, "policies", policy, spec={**fields, "rolloutStrategy": strategy()})

    def declare(self, **rollout: Any) -> None:
        """A person writes the Rollout."""
        fields = {
            "policy": "web",
            "source": {"namespace": "web-source"},
            "rolloutStrategy": strategy(),
            **rollout,
        }
        self.hub.put(ROLLOUT, "policies", "web", spec=fields)

    def write(self, value: str, namespace: str = "web-source", **more: Any) -> None:
        """The author writes a revision; in `policies`, as the plain root."""
        wanted = spec(template(spec=body(value)), **more)
        self.hub.put(POLICY, namespace, "web", spec=wanted)

    def status(self) -> dict[str, Any]:
        """What the Rollout object says of itself."""
        record = self.hub.api.records[ROLLOUT, "policies", "web"]
        found: dict[str, Any] = self.hub.api.document(record).get("status") or {}
        return found

    def events(self) -> list[tuple[str, str]]:
        """The Events of the Rollout object in their order: what each is about, and its words."""
        found = [self.hub.api.document(record) for _, record in self.hub.api.listed(EVENT, "")]
        found.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["reason"], each["note"]) for each in found]

    def start(self, partition: str = PARTITION) -> "Worker":
        """A worker, which knows nothing but the journal."""
        self.lives += 1
        return Worker(self, f"worker-{self.lives}", partition)

    def values(self) -> dict[str, str]:
        """What every cluster has."""
        return {
            name: str(agent.objects[OBJECT].content["data"]["value"])
            for name, agent in self.hub.agents.items()
            if OBJECT in agent.objects
        }

    def pass_time(self, seconds: float) -> None:
        """Let time pass on the hub, with no worker."""
        end = Instant(self.clock.at + int(seconds * SECOND))
        while True:
            self.hub.settle()
            due = self.hub.next_at()
            if due is None or due > end:
                break
            self.clock.at = max(due, self.clock.at)
        self.clock.at = end
        self.hub.settle()


class Worker:
    """One life of a worker."""

    def __init__(self, stage: HubStage, name: str, partition: str) -> None:
        self._stage = stage
        self._partition = partition
        self._name = name
        self.fleet = PolicyFleet(stage.hub.client(), fresh_s=0.0, settle_s=0.0)
        self.kind = PolicyKind(self.fleet)
        self.part: PartitionState[RolloutState] = PartitionState(
            stage.store, partition, RolloutRules()
        )
        self._breaker = Breaker()
        self.last: RoundResult | None = None

    async def round(self, mode: Mode = Mode.ACT) -> RoundResult:
        """One round under a lease."""
        stage = self._stage
        stage.hub.settle()
        lease = stage.store.lease(self._partition, self._name, stage.clock.now(), TERM)
        assert lease is not None
        context = RoundContext(
            BrakeBook(stage.store),
            Journal(stage.store),
            Executor(Limits(timeout_s=PATIENCE_S), self._breaker),
            stage.clock,
            OtherStates(stage.store).of(self.part.rules),
        )
        self.last = await Round(context, self.kind, self.part, lease, mode).run()
        stage.hub.settle()
        return self.last

    async def live(self, seconds: float, mode: Mode = Mode.ACT) -> RoundResult:
        """Rounds until so much time has passed, or nothing more will happen."""
        clock = self._stage.clock
        end = Instant(clock.at + int(seconds * SECOND))
        for _ in range(STEPS_MAX):
            result = await self.round(mode)
            moments = [result.recheck_at, self._stage.hub.next_at()]
            later = [each for each in moments if each is not None and each > clock.at]
            if not later and not result.done:
                return result
            step = min(later, default=clock.at)
            if step > end:
                clock.at = end
                return result
            clock.at = step
        raise AssertionError("the story does not end")

    def summary(self) -> str:
        """What the last plan says of the whole."""
        assert self.last is not None
        assert self.last.plan is not None
        word: str = self.last.plan.summary.value
        return word


Story = Callable[[HubStage, Worker], Coroutine[Any, Any, None]]


def play(story: Story, stage: HubStage | None = None) -> HubStage:
    """A story, with a worker from its beginning."""
    stage = stage or HubStage()
    worker = stage.start()
    asyncio.run(story(stage, worker))
    return stage


def first_given(stage: HubStage, value: str) -> dict[str, float]:
    """When each cluster first had a value, in minutes since the start."""
    start = min(at for agent in stage.hub.agents.values() for at, *_ in agent.applied)
    return {
        name: (at - start) / SECOND / 60
        for name, agent in stage.hub.agents.items()
        for at, _, content in reversed(agent.applied)
        if content["data"]["value"] == value
    }


def adopted(value: str = "1") -> HubStage:
    """A policy that every cluster has already, plain and enforced by its author."""
    stage = HubStage()
    stage.write(value, "policies")
    stage.pass_time(60)
    assert set(stage.values().values()) == {value}
    return stage


def snapshot(stage: HubStage) -> dict[str, tuple[int, int]]:
    """The uid and generation of the object on every cluster."""
    return {
        name: (agent.objects[OBJECT].uid, agent.objects[OBJECT].generation)
        for name, agent in stage.hub.agents.items()
    }


class Propagation:
    """Has the hub act between two calls; where nothing changed it has nothing to do."""

    def __init__(self, stage: HubStage) -> None:
        self._stage = stage
        self._still: tuple[int, int] | None = None

    def __call__(self) -> bool:
        """Whether it had to look."""
        hub, clock = self._stage.hub, self._stage.clock
        now = (hub.api.version, clock.at)
        if now == self._still:
            return False
        hub.settle()
        self._still = now if hub.api.version == now[0] else None
        return True
