"""Notices to people: at least once, under a key, and without a round ever waiting for one.

A notice that is due waits in a bounded queue and is sent by a task of its own; that it was sent is
written to the journal of its partition by the next round, which is called for at once. The worker
that leads next reads there what was sent. A process that dies between sending and writing sends
again, under the same key. A notice that was dropped from a full queue, or could not be sent, is
still due, and comes back with a later round.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from msgspec.structs import replace

from tidegate.engine.kind import ACTOR
from tidegate.engine.round import Round, RoundResult
from tidegate.explain.notice import Notice, NoticeKind
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Mode
from tidegate.journal.facts import Told
from tidegate.model.errors import OutsideError
from tidegate.notify.port import Notifier

# How long to wait after a notice could not be sent.
REST_S = 30.0

# What happened to a notice, and why: sent, failed, dropped. For logs and metrics.
OnResult = Callable[[Notice, str, str], None]


class NoticeQueue:
    """Notices to be sent, and those that were sent and are not recorded yet."""

    def __init__(
        self,
        notifier: Notifier,
        wanted: frozenset[NoticeKind],
        queue_max: int,
        on_result: OnResult,
        rest_s: float = REST_S,
    ) -> None:
        self._notifier = notifier
        self._wanted = wanted
        self._queue_max = queue_max
        self._on_result = on_result
        self._rest_s = rest_s
        # By partition and first key: one that waits is not queued again.
        self._queue: OrderedDict[tuple[str, str], Notice] = OrderedDict()
        self._under_way: Notice | None = None
        self._sent: dict[str, set[str]] = {}
        # Partitions with a notice that could not be sent, and is still due.
        self._unsent: set[str] = set()
        self._filled = asyncio.Event()
        # Called with the partition of which a notice was sent: its next round records that.
        self.wake: Callable[[str], None] = lambda _: None

    @property
    def waiting(self) -> int:
        """How many notices wait to be sent."""
        return len(self._queue)

    async def round_ended(self, round_: Round, result: RoundResult) -> None:
        """Queue what is due, and record what was sent."""
        part, rules = round_.part, round_.part.rules
        if result.record is None or result.mode is not Mode.ACT:
            return
        name, sent = part.partition, self._sent.get(part.partition, set())
        if not result.is_new and not sent and name not in self._unsent:
            return
        self._unsent.discard(name)
        recorded, now = rules.sent(part.state), round_.clock.now()
        due = rules.notices(name, part.state, result.world, result.plan, now)
        # What is not wanted counts as sent: a choice made later is not for the past.
        silent = {
            key
            for notice in due.notices
            if notice.happening not in self._wanted
            for key in notice.keys
        }
        entry = part.next_seq - 1
        keys = tuple(sorted(key for key in sent | silent if key not in recorded))
        if keys or due.retired:
            note = JournalNote(now, ACTOR, Told(keys=keys, retired=due.retired))
            await asyncio.to_thread(part.write, [note], token=round_.lease.token)
        self._sent.pop(name, None)
        for notice in due.notices:
            if notice.happening in self._wanted:
                self._offer(replace(notice, entry=entry), sent)

    def forget(self, name: str) -> None:
        """Another worker leads a partition now, and notifies."""
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
            self._unsent.add(notice.rollout)
            self._on_result(notice, "failed", str(error))
            await asyncio.sleep(self._rest_s)
            return
        self._on_result(notice, "sent", "")
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
            self._unsent.add(oldest.rollout)
            self._on_result(oldest, "dropped", "too many notices wait to be sent")
        self._queue[place] = notice
        self._filled.set()
