"""Streams of changes: the journal of one partition, and one stream for a whole page.

A stream keeps nothing for its reader: what changed meanwhile is a set of names, or is read from the
journal when the reader takes more. The server resets a reader that takes nothing for a while.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from tidegate.access.roles import Caller
from tidegate.api.live.live_journals import LiveJournals
from tidegate.api.problem import RequestError, bad_request
from tidegate.api.server import disconnected
from tidegate.app.journal.entries import entry_row
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalEntry
from tidegate.journal.selection import EntryFilter
from tidegate.model.document import Part
from tidegate.model.errors import OutsideError, TidegateError
from tidegate.model.time import DIGITS_MAX

# How often the ends of all journals are read: once for all streams.
POLL_S = 0.5
# A line goes out this often, so that a reader notices a dead connection; and so old the login of a
# reader may be.
BEAT_S = 2.0
# Fewer than the connections a server takes: probes must get through.
STREAMS_MAX = 150
# Entries that are read at once.
CHUNK = 200
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class Changed(Part, frozen=True, kw_only=True):
    """A partition has new entries, up to this number, or its worker came or fell silent.

    One of brakes concerns all.
    """

    rollout: str
    seq: int


class Feed:
    """Reads the ends of all journals, and wakes the streams."""

    def __init__(self, live: LiveJournals) -> None:
        self._live = live
        self._events: dict[str, tuple[int, bytes]] = {}
        self._streams: dict[object, Callable[[dict[str, int]], None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._heads: dict[str, int] = {}
        # The partitions that a worker leads: that one falls silent is no entry of a journal.
        self._led: frozenset[str] = frozenset()
        # Set once the ends are known that changes are counted from, or at the end.
        self._begun = asyncio.Event()
        self.closed = False

    def join(self, key: object, wake: Callable[[dict[str, int]], None]) -> None:
        """Begin to wake a stream; RequestError 429 if there are too many."""
        if len(self._streams) >= STREAMS_MAX:
            detail = f"{STREAMS_MAX} streams are open; close one"
            headers = {"Retry-After": "10"}
            raise RequestError(429, "too-many", "Too many streams", detail, headers)
        self._streams[key] = wake
        if self._task is None or self._task.done():
            self._begun.clear()
            self._task = asyncio.create_task(self._poll())

    async def is_begun(self, wait_s: float) -> bool:
        """Whether every change from now on is told; False: not within so long."""
        try:
            async with asyncio.timeout(wait_s):
                await self._begun.wait()
        except TimeoutError:
            return False
        return True

    def leave(self, key: object) -> None:
        """Wake a stream no more."""
        self._streams.pop(key, None)

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        self._begun.set()
        for wake in list(self._streams.values()):
            wake({})

    async def ended(self) -> None:
        """Read the journal no more: wait until the last look has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def event(self, partition: str, seq: int) -> bytes:
        """That a partition changed, as all streams are told; made once for all of them."""
        known = self._events.get(partition)
        if known is None or known[0] != seq:
            data = msgspec.json.encode(Changed(rollout=partition, seq=seq))
            known = self._events[partition] = (seq, b"event: changed\ndata: " + data + b"\n\n")
        return known[1]

    def _looked(self) -> tuple[dict[str, int], frozenset[str]]:
        """The ends of all journals, and the partitions that a worker leads."""
        archive, now = self._live.seen, self._live.now
        led = (name for name, each in archive.leases().items() if each.runs(now))
        return archive.heads(), frozenset(led)

    async def _poll(self) -> None:
        while self._streams and not self.closed:
            try:
                heads, led = await self._live.turn(self._looked)
            except OutsideError:
                # The journal does not answer: streams go on when it does.
                await asyncio.sleep(POLL_S)
                continue
            if not self._begun.is_set():
                self._heads, self._led = heads, led
                self._begun.set()
            turned = led ^ self._led
            moved = {
                name: seq
                for name, seq in heads.items()
                if self._heads.get(name) != seq or name in turned
            }
            self._heads, self._led = heads, led
            if moved:
                for wake in list(self._streams.values()):
                    wake(moved)
            await asyncio.sleep(POLL_S)


class EventStream:
    """An answer that goes on: events as they come, and a line now and then."""

    def __init__(self, events: AsyncIterator[bytes], close: Callable[[], None]) -> None:
        self._events = events
        self._close = close

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send until the reader leaves, is reset, or the service ends."""
        gone = asyncio.create_task(disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            async for event in self._events:
                if gone.done():
                    return
                body = {"type": "http.response.body", "body": event, "more_body": True}
                await send(body)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:
            return
        finally:
            gone.cancel()
            self._close()


class StreamLogin:
    """The login of a reader, found again as the stream goes on: it may end before."""

    def __init__(self, find: Callable[[], Awaitable[Caller]]) -> None:
        """`find` raises a TidegateError if the login is over, an OutsideError if none knows."""
        self._find = find
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + BEAT_S
        self.is_over = False

    async def is_checked(self) -> bool:
        """Whether it was found a moment ago to work, or to be over."""
        if self._clock() < self._until:
            return True
        try:
            await self._find()
        except OutsideError:
            return False
        except TidegateError:
            self.is_over = True
        self._until = self._clock() + BEAT_S
        return True

    async def events(self, made: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """What is sent while the login works; what is made while it is not known waits."""
        async for event in made:
            while not await self.is_checked():
                yield b": alive\n\n"
                await asyncio.sleep(POLL_S)
            if self.is_over:
                return
            yield event


class Streams:
    """The streams of a service."""

    def __init__(self, live: LiveJournals) -> None:
        self._live = live
        self._archive = live.seen
        self.feed = Feed(live)

    async def entries(
        self,
        request: Request,
        partition: str,
        shows: Callable[[JournalEntry], bool],
        known: Callable[[], Awaitable[Caller]],
    ) -> EventStream:
        """The entries of a partition behind Last-Event-ID or its end, and then each new one.

        RequestError 410 if entries behind that number were compacted away, or it is of another
        history. `known` finds the reader again.
        """
        last = _last_id(request)
        base, head = await self._live.turn_seen(self._ends, partition)
        if last is not None and last < base:
            detail = f"entries up to {base} of {partition} were compacted: read it anew"
            raise RequestError(410, "compacted", "The entries are gone", detail)
        if last is not None and last > head:
            # As after a restore: what is written up to that number would never be sent.
            detail = f"{partition} ends at entry {head}, before Last-Event-ID: read it anew"
            raise RequestError(410, "compacted", "The entries are gone", detail)
        wakes = asyncio.Event()

        def wake(moved: dict[str, int]) -> None:
            if not moved or partition in moved:
                wakes.set()

        self.feed.join(wakes, wake)

        async def events() -> AsyncIterator[bytes]:
            seq = head if last is None else last
            yield b": open\n\n"
            while not self.feed.closed:
                part = await self._live.turn_seen(self._behind, partition, seq)
                if part:
                    seq = part[-1].seq
                    shown = await self._live.turn_seen(_entry_events, partition, part, shows)
                    if shown:
                        yield shown
                if len(part) < CHUNK and await _beat(wakes):
                    yield b": alive\n\n"

        return EventStream(StreamLogin(known).events(events()), lambda: self.feed.leave(wakes))

    async def changes(
        self,
        caller: Caller,
        exists: Callable[[str], bool],
        known: Callable[[], Awaitable[Caller]],
    ) -> EventStream:
        """Which partitions changed, for a page; it begins with a reset."""
        wakes, moved = asyncio.Event(), dict[str, int]()

        def wake(some: dict[str, int]) -> None:
            shown = {name: seq for name, seq in some.items() if _concerns(caller, name)}
            moved.update(shown)
            if shown or not some:
                wakes.set()

        self.feed.join(wakes, wake)

        async def events() -> AsyncIterator[bytes]:
            while not await self.feed.is_begun(BEAT_S):
                yield b": alive\n\n"
            # What changed before is not known: the page reads everything once.
            yield b"event: reset\ndata: {}\n\n"
            while not self.feed.closed:
                if await _beat(wakes):
                    yield b": alive\n\n"
                taken = sorted(moved.items())
                moved.clear()
                shown = [
                    self.feed.event(name, seq)
                    for name, seq in taken
                    if name == BRAKES
                    or caller.sees_all_of(name)
                    or await self._live.turn_seen(exists, name)
                ]
                if shown:
                    yield b"".join(shown)

        return EventStream(StreamLogin(known).events(events()), lambda: self.feed.leave(wakes))

    def _ends(self, partition: str) -> tuple[int, int]:
        """How many entries were dropped, and the last number."""
        chain = next((each for each in self._archive.chains() if each.partition == partition), None)
        base = 0 if chain is None else chain.base_seq
        return base, self._archive.head(partition).seq

    def _behind(self, partition: str, seq: int) -> list[JournalEntry]:
        return list(self._archive.read(partition, after=seq, limit=CHUNK))


def _concerns(caller: Caller, partition: str) -> bool:
    """Whether a change is to be told: brakes concern every reader."""
    return partition == BRAKES or ("/" in partition and caller.sees(partition))


async def _beat(wakes: asyncio.Event) -> bool:
    """Wait for a change; whether none came in time."""
    try:
        async with asyncio.timeout(BEAT_S):
            await wakes.wait()
    except TimeoutError:
        return True
    wakes.clear()
    return False


def _entry_events(
    partition: str, entries: Sequence[JournalEntry], shows: Callable[[JournalEntry], bool]
) -> bytes:
    """The entries that are shown, as they are sent."""
    return b"".join(_entry_event(partition, each) for each in entries if shows(each))


def _entry_event(partition: str, entry: JournalEntry) -> bytes:
    data = msgspec.json.encode(entry_row(partition, entry, EntryFilter()))
    return b"id: %d\nevent: entry\ndata: %b\n\n" % (entry.seq, data)


def _last_id(request: Request) -> int | None:
    text = request.headers.get("last-event-id", "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > DIGITS_MAX:
        raise bad_request(f'"{text[:40]}" is no number of an entry', "Last-Event-ID")
    return int(text)
