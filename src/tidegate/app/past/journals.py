"""Partitions of every kind as they were at a moment of the past, decided again for it.

Facts, brakes and claims are those that were recorded by then; the rules are today's (`replay` says
whether they decide the same). What a compaction dropped is not known, and said to be so.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import Lock
from typing import TypeVar

from tidegate.app.partitions.journals import Journals, RulesOf
from tidegate.app.partitions.kept_states import KeptStates
from tidegate.engine.past.states import Checkpoints, PastBook, PastStates
from tidegate.engine.past.store import PastMoment, PastStore
from tidegate.gates.claims import Claim
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem
from tidegate.model.time import (
    DIGITS_MAX,
    SECOND,
    Duration,
    Instant,
    format_second,
    parse_moment,
)
from tidegate.store.archive_port import Archive

T = TypeVar("T")
# A page and its map ask for the same moment, and a film for the next one.
MOMENTS_KEPT = 2
# An entry that is written now is dated after this: a survey takes some minutes at most.
SETTLED = Duration(3600 * SECOND)


class PastJournals(Journals):
    """Reads partitions of all kinds from one store, as they were."""

    is_now = False

    def __init__(self, store: PastStore, rules_of: RulesOf, states: PastStates) -> None:
        at = store.moment.at
        kept = KeptStates(store, PastBook(store), states)
        super().__init__(store, rules_of, at, at, kept=kept)
        self.moment = store.moment
        # The journal up to the moment.
        self.then = store
        self._states = states

    def unknown(self) -> tuple[str, ...]:
        """Partitions whose entries of this moment were dropped."""
        for _ in self.all():
            pass
        then = self.then
        gone = {each for each in then.dropped() if not then.end(each)} | self._states.unknown
        return tuple(sorted(each for each in gone if self.is_unlimited or self._is_shown(each)))


def past_journals(
    archive: Archive, rules_of: RulesOf, moment: PastMoment, checkpoints: Checkpoints
) -> PastJournals:
    """The journals of a moment."""

    def claims() -> Iterator[Claim]:
        for name in store.partitions():
            if "/" in name:
                rules = rules_of(name)
                brakes = rules.under_way(states.of(rules)(name)).brakes
                yield from () if brakes is None else brakes.claims

    store = PastStore(archive, moment, claims)
    states = PastStates(store, checkpoints)
    return PastJournals(store, rules_of, states)


def past_moment(journals: Journals, text: str) -> PastMoment:
    """A moment as people write it: RFC 3339, how long ago (2h), or ENTRY/ROLLOUT (17/simulated/x).

    UserError if it is none, or to come; NotFoundError if the caller sees no such entry.
    """
    number, _, name = text.partition("/")
    if name and number.isdecimal() and len(number) <= DIGITS_MAX:
        return _of_entry(journals, int(number), name)
    try:
        at = parse_moment(text, journals.now, -1)
    except ValueError as error:
        raise UserError((Problem("at", f'"{text}" is {error}, or an entry: 17/ROLLOUT'),)) from None
    if at > journals.now:
        remedy = "`tidegate when` says what is expected"
        raise UserError((Problem("at", f"{format_second(at)} is to come", remedy),))
    return PastMoment(at)


def _of_entry(journals: Journals, seq: int, name: str) -> PastMoment:
    one = journals.find(name)
    entry = next(iter(journals.store.read(one.partition, after=seq - 1, limit=1)), None)
    if entry is None or entry.seq != seq:
        last = journals.store.head(one.partition).seq
        raise NotFoundError("entry", str(seq), f"{one.partition} has {last}; some may be dropped")
    return PastMoment(entry.at, one.partition, seq)


class PastReader:
    """Answers questions about the past, for a process that is asked again and again."""

    def __init__(self, archive: Archive, rules_of: RulesOf) -> None:
        self._archive = archive
        self._rules_of = rules_of
        self._checkpoints = Checkpoints()
        self._lock = Lock()
        # By the moment, and by how many entries there were unless it is settled.
        self._kept: OrderedDict[tuple[PastMoment, int], PastJournals] = OrderedDict()

    def ask(self, moment: PastMoment, now: Instant, question: Callable[[PastJournals], T]) -> T:
        """The answer to a question; decisions are shared by those who ask for the same moment."""
        with self._lock:
            return question(self._journals(moment, now))

    def _journals(self, moment: PastMoment, now: Instant) -> PastJournals:
        settled = now - moment.at > SETTLED
        key = (moment, 0 if settled else sum(self._archive.heads().values()))
        found = self._kept.get(key)
        if found is None:
            found = past_journals(self._archive, self._rules_of, moment, self._checkpoints)
            self._kept[key] = found
            if len(self._kept) > MOMENTS_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return found
