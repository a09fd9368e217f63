"""Carries out an act once: on the plan that its caller saw, and under the key that it was given.

A write is prepared, held against the plan it names, and appended behind the end of the chain it was
prepared on; if the chain moved meanwhile, all of it is done again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from threading import Lock
from weakref import WeakKeyDictionary

import msgspec

from tidegate.access.four_eyes import four_eyes_refusal
from tidegate.access.roles import Caller, refusal
from tidegate.access.tokens import PARTITION as ACCESS
from tidegate.api.live.live_journals import LiveJournals
from tidegate.api.problem import (
    RequestError,
    forbidden,
    plan_moved,
    plan_needed,
    under_four_eyes,
)
from tidegate.api.request_keys import RequestKeys
from tidegate.api.route import ActRoute, PreparedAct, RouteAct, RouteBody
from tidegate.app.partitions.journals import Journals
from tidegate.app.partitions.lookup import called
from tidegate.app.partitions.plan_tag import difference, tag_of
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Requested
from tidegate.model.document import Document
from tidegate.model.errors import StaleError, TidegateError
from tidegate.store.port import Head

# A worker writes a few times a second at most; who loses this often has another problem.
ATTEMPTS = 10
# Rows of plans that were read, for differences; a plan of 10,000 targets has as many.
ROWS_MAX = 200_000
# If-Match of a caller that wants it on whatever plan there is.
ANY = "*"


class RecordedAnswer(msgspec.Struct, frozen=True):
    """What an act is answered with."""

    body: bytes
    tag: str
    # Whether it was carried out before, under the same key.
    repeated: bool = False


class _AskedAct(msgspec.Struct, frozen=True):
    """An act as a caller asks for it."""

    route: ActRoute
    caller: Caller
    name: str
    body: RouteBody
    # The plans that it names; none: it names no plan.
    match: tuple[str, ...] = ()
    # Under which it is carried out once; empty: every time.
    key: str = ""

    @property
    def digest(self) -> str:
        """One number for what is asked: two under one key must have the same."""
        said = [self.route.path, self.caller.actor, self.name, self.body]
        return sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()[:32]


class _ReadyAct(msgspec.Struct, frozen=True):
    """An act that only has to be written down."""

    prepared: PreparedAct
    notes: tuple[JournalNote, ...]
    # The end of the chain that it was prepared on.
    head: Head
    answer: bytes
    tag: str


class SeenPlans:
    """The plans that were read last, by their tags."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._plans: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._rows = 0

    def keep(self, rows: dict[str, str]) -> str:
        """Remember a plan; its tag."""
        tag = tag_of(rows)
        with self._lock:
            if tag in self._plans:
                self._plans.move_to_end(tag)
                return tag
            self._plans[tag] = rows
            self._rows += len(rows)
            while self._rows > ROWS_MAX and len(self._plans) > 1:
                _, dropped = self._plans.popitem(last=False)
                self._rows -= len(dropped)
        return tag

    def find(self, tag: str) -> dict[str, str] | None:
        """A plan that was read; None: too long ago, or by another process."""
        with self._lock:
            return self._plans.get(tag)


class Recorder:
    """Prepares and records acts."""

    def __init__(self, live: LiveJournals, seen: SeenPlans) -> None:
        self._live = live
        self._seen = seen
        self._keys = RequestKeys(live.seen)
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    def dry_run(
        self, route: ActRoute, caller: Caller, name: str, body: RouteBody
    ) -> RecordedAnswer:
        """What an act would reach, and the tag of the plan it would be carried out on."""
        with self._live.writing() as (journals, _):
            prepared = self._prepared(_AskedAct(route, caller, name, body), journals)
            return RecordedAnswer(encoded(prepared.reach), self._seen.keep(prepared.rows))

    async def record(
        self,
        route: ActRoute,
        caller: Caller,
        name: str,
        body: RouteBody,
        *,
        match: tuple[str, ...],
        key: str,
    ) -> RecordedAnswer:
        """Carry an act out; RequestError 412 if the plan it names is no more."""
        asked = _AskedAct(route, caller, name, body, match, key)
        # One after the other: of those prepared on the same end of a chain, one would be written.
        async with self._queue():
            for _ in range(ATTEMPTS):
                ready = await self._live.turn_seen(self._ready, asked)
                if isinstance(ready, RecordedAnswer):
                    return ready
                # No reader waits for the disk meanwhile.
                if ready is not None and await asyncio.to_thread(self._append, ready):
                    await self._live.turn_seen(self._live.forget, ready.prepared.partition)
                    return RecordedAnswer(ready.answer, ready.tag)
                await self._live.looked()
        raise StaleError(f"{route.verb} {name}: it is written to all the time; ask again")

    def _queue(self) -> asyncio.Lock:
        """Where the writes of this event loop queue."""
        return self._queues.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    def _append(self, ready: _ReadyAct) -> bool:
        """Write an act down; whether its chain still ended where it was prepared."""
        prepared = ready.prepared
        try:
            self._live.append(prepared.partition, ready.notes, ready.head, prepared.places)
        except StaleError:
            return False
        return True

    def _ready(self, asked: _AskedAct) -> "RecordedAnswer | _ReadyAct | None":
        """An act that can be written down, or what was answered to it before; None: it moved."""
        with self._live.writing() as (journals, heads):
            return self._made(asked, journals, heads)

    def _made(
        self, asked: _AskedAct, journals: Journals, heads: Mapping[str, int]
    ) -> "RecordedAnswer | _ReadyAct | None":
        route, caller, key = asked.route, asked.caller, asked.key
        try:
            prepared = self._prepared(asked, journals)
        except TidegateError:
            # What was done cannot always be done again: a hold is lifted once.
            if known := self._answered_before(asked, journals):
                return RecordedAnswer(known, "", repeated=True)
            raise
        head = self._live.seen.head(prepared.partition)
        if head.seq != heads.get(prepared.partition, 0):
            return None  # it may have been decided without the last entry
        tag = self._seen.keep(prepared.rows)
        if known := self._repeated(prepared.partition, asked):
            # Of the plan that it was done on, not of this one: no tag to act on.
            return RecordedAnswer(known, "", repeated=True)
        self._check(route, asked.match, tag, prepared)
        answer = encoded(prepared.answer)
        if not prepared.facts:
            return RecordedAnswer(answer, tag)  # nothing would change by it
        said = Requested(
            act=f"{route.verb}/{asked.name}".rstrip("/"),
            via=caller.via,
            key=key,
            digest=asked.digest if key else "",
            answer=msgspec.Raw(answer.rstrip() if key else b"null"),
        )
        notes = [JournalNote(journals.now, caller.actor, each) for each in prepared.facts]
        notes.append(JournalNote(journals.now, caller.actor, said))
        return _ReadyAct(prepared, tuple(notes), head, answer, tag)

    def _prepared(self, asked: _AskedAct, journals: Journals) -> PreparedAct:
        """What an act reaches; RequestError 403 if its caller may not."""
        route, caller = asked.route, asked.caller
        seen = seen_by(caller, journals)
        prepared = route.prepare(RouteAct(seen, journals, caller, asked.name, asked.body))
        if why := refusal(caller, route.right, prepared.reached, route.verb):
            raise forbidden(why)
        if prepared.approval is not None:
            if why := four_eyes_refusal(caller, prepared.approval, prepared.reached or ()):
                raise under_four_eyes(why)
        return prepared

    def _check(
        self, route: ActRoute, match: tuple[str, ...], tag: str, prepared: PreparedAct
    ) -> None:
        if not match:
            if prepared.frees or not route.stops:
                raise plan_needed(tag)
            return
        if ANY in match or tag in match:
            return
        known = (self._seen.find(each) for each in match)
        # One without rows is known, too: nothing followed from it.
        before = next((rows for rows in known if rows is not None), None)
        moved = None if before is None else difference(before, prepared.rows)
        raise plan_moved(tag, moved)

    def _answered_before(self, asked: _AskedAct, journals: Journals) -> bytes:
        """What was answered to this key, wherever the act was written; empty: it is new."""
        seen = called(seen_by(asked.caller, journals).names(), asked.name) if asked.key else []
        found = (self._repeated(each, asked) for each in (BRAKES, ACCESS, *seen))
        return next(filter(None, found), b"")

    def _repeated(self, partition: str, asked: _AskedAct) -> bytes:
        """What was answered to this key; empty: it is new."""
        key = asked.key
        fact = self._keys.find(partition, asked.caller.actor, key) if key else None
        if fact is None:
            return b""
        if fact.digest != asked.digest:
            detail = f"Idempotency-Key {key} was used for another request: {fact.act}"
            raise RequestError(422, "key-used", "The key is used", detail)
        return bytes(fact.answer) + b"\n"


def seen_by(caller: Caller, journals: Journals) -> Journals:
    """The journals that a caller may see."""
    return journals.limited(caller)


def encoded(document: Document) -> bytes:
    """A document as it is sent."""
    return msgspec.json.encode(document) + b"\n"
