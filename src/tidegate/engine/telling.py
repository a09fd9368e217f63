"""Telling people, without a round ever waiting for it: at least once, under a key.

A notice that is due waits in a bounded queue and is sent by a task of its own; that it was sent is
written to the rollout's journal by the next round, which is called for at once. Whoever leads next
reads there what was told. Between sending and writing a process may die: then it is told again,
under the same key. What was dropped from a full queue, or nobody took, is still due, and comes back
with a later round.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from tidegate.engine.acting import ACTOR
from tidegate.engine.desk import RolloutDesk
from tidegate.engine.round import Round
from tidegate.explain.notice import Happening, Notice
from tidegate.journal.chain import Note
from tidegate.journal.facts import Mode, Told
from tidegate.kinds.rollouts.core.explain.notices import due
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.notify.port import Notifier
from tidegate.store.port import Lease

# After nobody took a notice, how long until the next is tried.
REST_S = 30.0

# What became of a notice, and why: sent, failed, dropped. For logs and metrics.
Heard = Callable[[Notice, str, str], None]


class Teller:
    """The queue of notices, and what was sent and is not written down yet."""

    def __init__(
        self,
        notifier: Notifier,
        wanted: frozenset[Happening],
        queue_max: int,
        heard: Heard,
        rest_s: float = REST_S,
    ) -> None:
        self._notifier = notifier
        self._wanted = wanted
        self._queue_max = queue_max
        self._heard = heard
        self._rest_s = rest_s
        # By rollout and first key: one that waits is not queued again.
        self._queue: OrderedDict[tuple[str, str], Notice] = OrderedDict()
        self._under_way: Notice | None = None
        self._sent: dict[str, set[str]] = {}
        self._filled = asyncio.Event()
        # Called with the rollout of which something was sent: its next round writes that down.
        self.wake: Callable[[str], None] = lambda _: None

    @property
    def waiting(self) -> int:
        """How many notices wait to be sent."""
        return len(self._queue)

    async def round_ended(self, desk: RolloutDesk, lease: Lease, clock: Clock, done: Round) -> None:
        """Queue what is due, and write down what was sent."""
        decided, world, plan = done.decided, done.world, done.plan
        if decided is None or world is None or plan is None or decided.mode is not Mode.ACT:
            return
        name, told = desk.partition, desk.state.told
        now_due = due(name, decided.rollout, world, plan, told)
        # What nobody wants to hear counts as told: a choice made later is not for the past.
        silent = {
            key
            for notice in now_due.notices
            if notice.happening not in self._wanted
            for key in notice.keys
        }
        sent = self._sent.get(name, set())
        keys = tuple(sorted(key for key in sent | silent if key not in told))
        if keys or now_due.retired:
            note = Note(clock.now(), ACTOR, Told(keys=keys, retired=now_due.retired))
            await asyncio.to_thread(desk.write, [note], token=lease.token)
        self._sent.pop(name, None)
        for notice in now_due.notices:
            if notice.happening in self._wanted:
                self._offer(notice, sent)

    def forget(self, name: str) -> None:
        """Somebody else leads a rollout now, and tells."""
        for each in [each for each in self._queue if each[0] == name]:
            del self._queue[each]

    async def run(self) -> None:
        """Send what is queued, one at a time, for good."""
        while True:
            await self._filled.wait()
            while self._queue:
                _, notice = self._queue.popitem(last=False)
                self._under_way = notice
                try:
                    await self._send(notice)
                finally:
                    self._under_way = None
            self._filled.clear()

    async def _send(self, notice: Notice) -> None:
        try:
            await self._notifier.send(notice)
        except OutsideError as error:
            self._heard(notice, "failed", str(error))
            await asyncio.sleep(self._rest_s)
            return
        self._heard(notice, "sent", "")
        self._sent.setdefault(notice.rollout, set()).update(notice.keys)
        self.wake(notice.rollout)

    def _offer(self, notice: Notice, sent: set[str]) -> None:
        """Put a notice into the queue, unless it is there, under way or just sent."""
        place = (notice.rollout, notice.keys[0])
        under_way = self._under_way
        is_under_way = under_way is not None and ((under_way.rollout, under_way.keys[0]) == place)
        if place in self._queue or is_under_way or set(notice.keys) <= sent:
            return
        if len(self._queue) >= self._queue_max:
            _, oldest = self._queue.popitem(last=False)
            self._heard(oldest, "dropped", "too many wait to be sent")
        self._queue[place] = notice
        self._filled.set()
