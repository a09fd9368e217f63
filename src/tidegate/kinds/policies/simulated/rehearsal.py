"""Policies in virtual time: the kind that runs in production, on a simulated hub.

Rounds follow each other without a pause: the clock moves on to the next moment at which an agent
answers, a deadline or a soak ends, or a person does something. Run it on a virtual loop: the hub is
read once a round, by the time of the loop.
"""

import asyncio
from collections.abc import Callable, Mapping

from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.journal import Journal
from tidegate.engine.others import OtherStates
from tidegate.engine.partition import PartitionState
from tidegate.engine.round import Round, RoundContext, RoundResult
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Mode
from tidegate.kinds.policies.core.memory import DEPARTURE
from tidegate.kinds.policies.fleet import PolicyFleet
from tidegate.kinds.policies.kind import PolicyKind
from tidegate.kinds.policies.simulated.chronicle import Chronicle
from tidegate.kinds.policies.simulated.hub import SimulatedHub
from tidegate.kinds.policies.simulated.scenario import PolicyScenario
from tidegate.kinds.policies.simulated.script import Script
from tidegate.kinds.policies.simulated.stage import SimulatedStage
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Store

# A story of more rounds does not end.
ROUNDS_MAX = 20_000
HOLDER = "rehearsal"
# What a round takes by the time of the loop; a reading lasts for less, so that each has its own.
ROUND_S = 0.001
# No other worker is there.
TERM = Duration(10 * 365 * 24 * 3600 * SECOND)


class RehearsalClock:
    """A clock that stands until it is moved."""

    def __init__(self, at: Instant) -> None:
        self.at = at

    def now(self) -> Instant:
        """The moment it was moved to."""
        return self.at


def settle_at_once(hub: SimulatedHub) -> None:
    """Have all agents of a hub answer at once: scheduler and propagator first, then they."""
    for agent in hub.agents.values():
        agent.delay = Duration(0)
    hub.settle()
    hub.settle()


class PolicyRehearsal:
    """A simulated hub, a script, and the rounds of every policy."""

    def __init__(
        self,
        scenario: PolicyScenario,
        store: Store,
        *,
        seed: int = 0,
        on_round: Callable[[], None] = lambda: None,
    ) -> None:
        self.scenario = scenario
        self.clock = RehearsalClock(scenario.start)
        self.hub = SimulatedHub(self.clock)
        self._store = store
        self._on_round = on_round
        self.script = Script(
            scenario,
            SimulatedStage(self.hub, self.clock),
            seed=seed,
            ask=self._ask,
            tell=self.tell,
        )
        self.chronicles: dict[str, Chronicle] = {}
        self._parts: dict[str, PartitionState[RolloutState]] = {}
        self._rounds = 0
        self._breaker = Breaker()

    def tell(self, policy: str, text: str) -> None:
        """Something happened to a policy; to all, if it is empty."""
        for name, chronicle in self.chronicles.items():
            if policy in ("", name):
                chronicle.note(text)

    async def set_up(self) -> None:
        """The hub of the scenario, as it is at the start."""
        await self.script.open()
        self.settle()
        await self.script.declare()

    def settle(self) -> None:
        """Have agents answer at once."""
        settle_at_once(self.hub)

    async def run(self) -> None:
        """From the start to wherever nothing more happens."""
        for name, policy in self.script.policies.items():
            self.chronicles[name] = Chronicle(policy.label, self.scenario.told)
            self._parts[name] = PartitionState(self._store, policy.partition, RolloutRules())
        kind = PolicyKind(PolicyFleet(self.hub.client(), fresh_s=ROUND_S / 2, settle_s=0.0))
        end = Instant(self.scenario.start + self.scenario.stop_after)
        idle = False
        while self.clock.at <= end:
            moved, moments = await self._rounds_of_all(kind)
            latest = {
                name: each.latest
                for name, each in self.chronicles.items()
                if each.latest is not None
            }
            if await self.script.play(self.clock.at, latest) or moved:
                idle = False
                continue
            moments += [self.script.next_at(self.clock.at), self.hub.next_at()]
            later = [each for each in moments if each is not None and each > self.clock.at]
            if not later and idle:
                return
            # A cluster that is in no decision is missed for a while before it has left.
            idle = not later
            self.clock.at = min(later, default=Instant(self.clock.at + DEPARTURE))

    async def _rounds_of_all(self, kind: PolicyKind) -> tuple[bool, list[Instant | None]]:
        """A round of every policy: whether anything was moved, and when to look again."""
        self.hub.settle()
        moved = False
        moments: list[Instant | None] = []
        for name, part in self._parts.items():
            result = await self._round(kind, part)
            self.chronicles[name].hear(result, self.clock.at)
            if result.troubles:
                raise OutsideError("; ".join(map(": ".join, result.troubles.items())))
            moved |= bool(result.done)
            moments.append(result.recheck_at)
        return moved, moments

    async def _round(self, kind: PolicyKind, part: PartitionState[RolloutState]) -> RoundResult:
        self._rounds += 1
        if self._rounds > ROUNDS_MAX:
            raise OutsideError(f"not over after {ROUNDS_MAX} rounds; write a shorter stopAfter")
        self._on_round()
        lease = self._store.lease(part.partition, HOLDER, self.clock.at, TERM)
        assert lease is not None, "there is no other worker"
        context = RoundContext(
            BrakeBook(self._store),
            Journal(self._store),
            Executor(Limits(), self._breaker),
            self.clock,
            OtherStates(self._store).of(part.rules),
        )
        result = await Round(context, kind, part, lease, Mode.ACT).run()
        await asyncio.sleep(ROUND_S)
        return result

    def _ask(self, partition: str, asked: Asked) -> None:
        self._store.append(partition, [JournalNote(self.clock.at, HOLDER, asked)])

    def had(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """The revisions that each cluster really had, in order, by policy."""
        return self.script.had_by_policy()
