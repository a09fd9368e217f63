"""Keeps the evidence of health gates fresh, without a round ever waiting for who is slow.

Each question is asked in the background, at most every so often, and one at a time: a round waits
a moment for what comes at once, and takes what was last known of the rest. Whoever does not answer
leaves his old evidence in place, which grows too old by the gate's own measure: it is never good
for longer than it says.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.gates.health import Evidence, HealthGate
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.prometheus.port import EvidenceSource, Probe

# Told that evidence has come which no round has seen yet.
Wake = Callable[[], None]


class Pace(msgspec.Struct, frozen=True):
    """How often is asked, and how long anybody waits."""

    # The same is not asked again sooner.
    every: Duration = Duration(15 * SECOND)
    # How long an answer may take at all.
    timeout_s: float = 45.0
    # How long a round waits for it.
    patience_s: float = 0.5
    # Of how much the last answer is kept; beyond that, what was longest not asked for is forgotten.
    kept_max: int = 2000


class _Matter(msgspec.Struct):
    """One probe about one change: what is known, and what is under way."""

    # None: nothing yet.
    evidence: Evidence | None = None
    wanted_at: Instant = Instant(0)
    # None: never.
    asked_at: Instant | None = None
    # None: nothing is under way.
    task: asyncio.Task[Evidence] | None = None
    # Why the last question came to nothing; empty: it did not.
    trouble: str = ""
    # None: the last question ended as questions may.
    bug: BaseException | None = None
    wakes: list[Wake] = []


_Key = tuple[Probe, str | None, Instant]


class Gatherer:
    """Fills the evidence of health gates in, from whatever their probes last saw."""

    def __init__(self, source: EvidenceSource, pace: Pace | None = None) -> None:
        self._source = source
        self._pace = pace or Pace()
        self._matters: dict[_Key, _Matter] = {}

    async def fill(
        self,
        brakes: Brakes,
        probes: Mapping[str, Probe],
        revision: str | None,
        since: Instant | None,
        now: Instant,
        wake: Wake | None = None,
    ) -> Brakes:
        """The brakes with the newest evidence there is of a revision.

        `probes` are by the name of their gate; a gate without one is left as it is. `since`: when
        the revision began to roll out; None: it has not, and there is nothing to be seen of it.
        `wake` is called when an answer comes after this has returned.
        """
        if since is None:
            return brakes
        wanted = {
            gate.name: self._matter((probes[gate.name], revision, since), now)
            for gate in brakes.health
            if gate.name in probes
        }
        await self._wait(wanted.values())
        for matter in wanted.values():
            if matter.bug is not None:  # not a thing to live with, in whose round it may be
                error, matter.bug = matter.bug, None
                raise error
            if matter.task is not None and wake is not None and wake not in matter.wakes:
                matter.wakes.append(wake)
        self._forget()
        return self.known(brakes, probes, revision, since)

    def known(
        self,
        brakes: Brakes,
        probes: Mapping[str, Probe],
        revision: str | None,
        since: Instant | None,
    ) -> Brakes:
        """The brakes with the evidence that is there already; asks nobody, from any thread."""
        if since is None:
            return brakes
        health = tuple(
            _filled(gate, self._matters.get((probes[gate.name], revision, since)))
            if gate.name in probes
            else gate
            for gate in brakes.health
        )
        return msgspec.structs.replace(brakes, health=health)

    def troubles(
        self, probes: Mapping[str, Probe], revision: str | None, since: Instant | None
    ) -> dict[str, str]:
        """Why the last question of a gate came to nothing, by the gate's name."""
        if since is None:
            return {}
        known = {
            name: self._matters.get((probe, revision, since)) for name, probe in probes.items()
        }
        return {name: each.trouble for name, each in known.items() if each and each.trouble}

    async def close(self) -> None:
        """Give up whatever is under way, and close the source."""
        tasks = [matter.task for matter in self._matters.values() if matter.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._matters.clear()
        await self._source.close()

    # A matter is replaced or dropped whole, on the loop: a thread that reads finds one or none.
    def _matter(self, key: _Key, now: Instant) -> _Matter:
        """What is known; a question is sent if it is time."""
        matter = self._matters.get(key) or _Matter()
        self._matters[key] = matter
        matter.wanted_at = now
        asked = matter.asked_at
        # A clock that was set back must not keep us from asking.
        due = asked is None or not 0 <= now - asked < self._pace.every
        if due and matter.task is None:
            matter.asked_at = now
            matter.task = asyncio.create_task(self._ask(key, now))
            matter.task.add_done_callback(lambda task: _note(matter, task))
        return matter

    async def _ask(self, key: _Key, now: Instant) -> Evidence:
        probe, revision, since = key
        try:
            async with asyncio.timeout(self._pace.timeout_s):
                return await self._source.gather(probe, revision, since, now)
        except TimeoutError:
            raise OutsideError(f"no answer in {self._pace.timeout_s:g} s") from None

    async def _wait(self, matters: Iterable[_Matter]) -> None:
        tasks = [matter.task for matter in matters if matter.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._pace.patience_s)
            await asyncio.sleep(0)  # what has come is noted by callbacks

    def _forget(self) -> None:
        many = len(self._matters) - self._pace.kept_max
        if many <= 0:
            return
        idle = [key for key, matter in self._matters.items() if matter.task is None]
        for key in sorted(idle, key=lambda key: self._matters[key].wanted_at)[:many]:
            del self._matters[key]


def _note(matter: _Matter, task: asyncio.Task[Evidence]) -> None:
    """An answer has come, or none has."""
    matter.task = None
    wakes, matter.wakes = matter.wakes, []
    if task.cancelled():
        return
    error = task.exception()
    match error:
        case None:
            matter.evidence, matter.trouble = task.result(), ""
        case OutsideError() | OSError():
            matter.trouble = str(error) or type(error).__name__
        case _:
            matter.bug = error
    for wake in wakes:
        wake()


def _filled(gate: HealthGate, matter: _Matter | None) -> HealthGate:
    """What a probe saw takes the place of what the document says; nothing seen takes none."""
    if matter is None or matter.evidence is None:
        return gate
    return msgspec.structs.replace(gate, evidence=matter.evidence)
