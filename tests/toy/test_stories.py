"""Lamps under faults, in virtual time: all that a kind adds to have stories of its own."""

import random
from functools import partial
from typing import Any

import pytest

from tests.sim.story import run
from tests.sim.story.ending import check_journal
from tests.sim.story.life import Life
from tests.sim.story.missing import Missing, find, never_asks
from tests.sim.story.scene import Happening, Scene, in_order
from tests.sim.story.witness import Witness
from tests.toy.lamps import LampRules, Lamps
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.execute import _Wave
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.gates.brakes import Brakes
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Braked, Lifted
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import SECOND, Duration, Instant, parse_instant
from tidegate.model.verdict import verdict
from tidegate.simulation.faults import CallFault, Faults
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop
from tidegate.store.port import Store

HALL = "lamps/hall"
HOLD = {"name": "dark", "scope": {"everything": True}, "owner": "ada", "reason": "night"}
# So long a worker may act on what the journal said: its answers are slow now and then.
WITHIN = 5 * SECOND


class LampWitness(Witness):
    """Sees every lamp that is lit, and every hold."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__(loop)
        self.keys: dict[str, str] = {}
        # Since when everything is held; None: it is not.
        self.held_at: Instant | None = None

    def is_watched(self, partition: str) -> bool:
        """Whether it is the room."""
        return partition == HALL

    def lights(self, life: Life, lit: dict[str, bool], task: Any) -> None:
        """A lamp is about to be lit: in its turn, once, and by the worker that leads."""
        self.seen["lit"] += 1
        self.claim_led(life, HALL, WITHIN, f"lights {task.target}")
        dark = [name for name in lit if name < task.target and not lit[name]]
        self.claim(not dark, f"{task.target} is lit before {dark}")
        again = self.keys.setdefault(task.target, task.key) != task.key
        self.claim(not again, f"{task.target} is lit twice")
        held = self.held_at is not None and self.held_at < self.loop.now() - WITHIN
        self.claim(not held, f"{task.target} is lit although everything is held")


class MortalLamps(Lamps):
    """The lamps as one life of a worker sees them."""

    def __init__(self, life: Life, witness: LampWitness, lit: dict[str, bool]) -> None:
        super().__init__(lit)
        self._life, self._witness = life, witness

    async def observe(self, partition: str) -> dict[str, bool]:
        """A point to die at, before and after."""
        self._life.step()
        seen = await super().observe(partition)
        self._life.call()
        return seen

    async def act(self, partition: str, state: Any, task: Any) -> str:
        """The same; the witness sees it first."""
        self._life.step()
        self._witness.lights(self._life, self.lit, task)
        answer = await super().act(partition, state, task)
        self._life.call()
        return answer


class LampScene(Scene):
    """A room in which lamps are added, and people who want it dark for a while."""

    start = parse_instant("2026-01-01T00:00:00Z")
    freezes_s = (5, 20, 60)
    calls_max = 150
    poll_s = 30.0
    polls_max = 100
    partitions = (HALL,)

    witness: LampWitness

    def __init__(self, seed: int, loop: VirtualLoop, store: Store) -> None:
        super().__init__(seed, loop, store, random.Random(f"lamps/{seed}"))
        self.witness = LampWitness(loop)
        self.lit = dict.fromkeys("abcd", False)
        self.trouble_s, self.workers, self.off_max = 300.0, 2, 3 * SECOND
        until = Instant(self.start + round(self.trouble_s) * SECOND)
        store_faults = (CallFault.GONE_BEFORE, CallFault.GONE_AFTER, CallFault.OVERTAKEN)
        permille = dict.fromkeys(store_faults, 10)
        self.faults = Faults(seed, VirtualClock(loop), permille, until)

    def kind(self, life: Life) -> Lamps:
        """The lamps."""
        return MortalLamps(life, self.witness, self.lit)

    def settings(self, holder: str) -> WorkerSettings:
        """Of a worker that acts."""
        lease = Duration(15 * SECOND)
        return WorkerSettings(
            holder=holder, act=("*",), lease_term=lease, listen_s=1.0, resync_s=10.0
        )

    def add(self) -> None:
        """A lamp is added at the end."""
        self.lit[f"e{len(self.lit):03}"] = False

    def hold(self) -> None:
        """Nothing is to be lit."""
        fact = Braked(brake="hold", name="dark", document=HOLD)
        self.store.append(BRAKES, [JournalNote(self.now(), "user:ada", fact)])
        self.witness.held_at = self.witness.held_at or self.now()

    def lift(self) -> None:
        """It may go on."""
        fact = Lifted(brake="hold", name="dark")
        self.store.append(BRAKES, [JournalNote(self.now(), "user:ada", fact)])
        self.witness.held_at = None

    def happenings(self) -> list[Happening]:
        """A dozen things, and workers that are started again."""
        doings = [*self.accidents(), self.add, self.add, self.add, self.hold, self.lift]
        drawn = [self.rng.choice(doings) for _ in range(24)] + [self.restart] * 20
        return in_order((self.rng.uniform(0, self.trouble_s), each) for each in drawn)

    def calm_down(self) -> None:
        """One worker is left, and nothing is held."""
        for life in self.living():
            life.die()
        self.start_worker(mortal=False)
        self.lift()

    def is_at_rest(self) -> bool:
        """Whether all lamps are lit."""
        return all(self.lit.values())

    def check_end(self) -> None:
        """The journal holds, and nothing is left to do."""
        _, state = check_journal(self, HALL, LampRules())
        assert not state.pending


def live_through(seed: int) -> run.Told:
    """The story of a room."""
    again = f"tests.toy.test_stories.live_through({seed})"
    return run.live_through(partial(LampScene, seed), LampScene.start, again)


def test_lamps_are_lit_in_order_whatever_goes_wrong() -> None:
    """Ten rooms; the same seed tells the same story."""
    told = [live_through(seed) for seed in range(10)]
    seen = sum((each.seen for each in told[1:]), told[0].seen)
    wanted = ("lit", "deaths", f"fault: {CallFault.GONE_AFTER.value}")
    assert all(seen[each] for each in wanted), seen
    assert live_through(3).ends == told[3].ends


def no_order(*_: Any) -> Any:
    """Every lamp may be lit at once."""
    return (verdict(ProgressReason.FirstInOrder),)


MISSING = {
    "order": Missing(LampRules, "_verdicts", no_order, "is lit before|is lit twice"),
    "lease": Missing(_Wave, "_refused", never_asks, "without asking whether it still leads"),
    "hold": Missing(BrakeBook, "read", lambda *_: Brakes(), "although everything is held"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one rule out, and some story breaks, in words that say which."""
    find(MISSING[name], live_through, monkeypatch, 20)
