"""What a hub holds, read once and kept up by watches: a thousand clusters are a handful of calls.

A shelf is one kind of object, each object made small as it comes in, page by page; what changed
only in what is not looked at is no change. Where no watch runs (a single round), or one broke, the
shelf is read again. What cannot be read is a gap, never an absence.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any, Generic, TypeVar

import msgspec

from tidegate.kubernetes.port import (
    AbsentError,
    Cluster,
    ExpiredError,
    NotAllowedError,
    Object,
    ObjectEvent,
    ResourceKind,
    WatchEvent,
)
from tidegate.model.errors import OutsideError, StaleError

T = TypeVar("T")
Name = tuple[str, str]

# Without a watch, a reading is used for this long by rounds that begin at the same time.
FRESH_S = 1.0
# After a watch broke, it is begun again so much later; a kind that is missing is looked for so
# often.
AGAIN_S = 5.0
# A reading whose pages grew too old on the way is begun again, and given up after so many.
READINGS_MAX = 3
# So many objects that are gone are remembered: a late answer to a write must not bring one back.
GONE_MAX = 10_000


class ShelfChange(msgspec.Struct, Generic[T], frozen=True):
    """What differs on a shelf; None: there was, or is, no such object."""

    name: Name
    before: T | None
    after: T | None


class Shelf(Generic[T]):
    """The objects of one kind, by namespace and name."""

    def __init__(
        self,
        kind: ResourceKind,
        take: Callable[[Object], T],
        selector: str = "",
        *,
        optional: bool = False,
        hideable: bool = False,
        note: Callable[[ShelfChange[T]], None] = lambda _: None,
    ) -> None:
        self.kind = kind
        self.selector = selector
        self.items: dict[Name, T] = {}
        # Why it could not be read; None: it could.
        self.gap: str | None = "not read yet"
        # How many objects went away, of those that were there.
        self.removals = 0
        # How often anything changed that is looked at.
        self.changes = 0
        self._take = take
        # Told of every change at once: what is put together from several shelves.
        self._note = note
        self._versions: dict[Name, int] = {}
        self._gone: dict[Name, int] = {}
        # A hub without this kind has none of it.
        self._optional = optional
        # Our account need not be allowed to see this kind; then why it is not, else empty.
        self._hideable = hideable
        self.hidden = ""
        self._version = ""
        # Whether it was ever read, be it to find that there is no such kind.
        self._is_known = False
        self._read_at: float | None = None
        self._watched = False
        # Under way: it goes on, even if those that asked for it gave up.
        self._reading: asyncio.Task[list[ShelfChange[T]]] | None = None

    def put(self, found: Object) -> ShelfChange[T] | None:
        """An object as it is now: what we wrote ourselves need not come back to be known.

        An older word than the last, which a watch may still bring, changes nothing.
        """
        name, version = _name(found), int(found.version)
        return self._put(name, version, self._take(found)) if self._is_new(name, version) else None

    def drop(self, found: Object) -> ShelfChange[T] | None:
        """An object is gone."""
        name = _name(found)
        self._gone[name] = max(int(found.version or 0), self._versions.get(name, 0))
        if len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]
        return self._drop(name)

    def is_fresh(self, now_s: float, fresh_s: float) -> bool:
        """Whether it need not be read."""
        if self._watched and self.gap is None:
            return True
        if self._read_at is not None and self.gap is None and not self._version:
            fresh_s = max(fresh_s, AGAIN_S)  # a kind that is not there seldom appears
        return self._read_at is not None and now_s - self._read_at < fresh_s

    async def load(self, cluster: Cluster) -> list[ShelfChange[T]]:
        """Read all of it; what cannot be read stays as it was, with a gap.

        Two that ask at once read it once.
        """
        if self._reading is None:
            self._reading = asyncio.create_task(self._load(cluster))
            self._reading.add_done_callback(self._was_read)
        return await asyncio.shield(self._reading)

    def _was_read(self, _: object) -> None:
        self._reading = None

    async def follow(self, cluster: Cluster) -> AsyncGenerator[ShelfChange[T], None]:
        """Every change, until the watch breaks; the shelf has it by then.

        What happened while no watch ran is a change, too; the first reading is none.
        """
        known = self._is_known
        found: list[ShelfChange[T]] = []
        if not self._version or not self.is_fresh(asyncio.get_running_loop().time(), FRESH_S):
            found = await self.load(cluster)
        if self.gap is not None:
            return
        self._watched = True
        try:
            for each in found if known else ():
                yield each
            if not self._version:
                # There is no such kind: that may change, and is asked for now and then.
                await asyncio.sleep(AGAIN_S)
                return
            events = cluster.watch("", self.kind, self._version, self.selector)
            async with aclosing(events):
                async for event in events:
                    change = self._hear(event)
                    if change is not None:
                        yield change
        finally:
            self._watched = False
            self._read_at = None

    def _hear(self, event: WatchEvent) -> ShelfChange[T] | None:
        return (self.drop if event.change is ObjectEvent.DELETED else self.put)(event.object)

    async def _load(self, cluster: Cluster) -> list[ShelfChange[T]]:
        try:
            version, there = await self._read(cluster)
        except OutsideError as error:
            is_hidden = self._hideable and isinstance(error, NotAllowedError)
            if not is_hidden and not (self._optional and isinstance(error, AbsentError)):
                self.gap = str(error)
                return []
            version, there, hidden = "", {}, str(error) if is_hidden else ""
        else:
            hidden = ""
        self.changes += hidden != self.hidden
        self.gap, self._version, self.hidden, self._is_known = None, version, hidden, True
        self._read_at = asyncio.get_running_loop().time()
        return list(self._replace(version, there))

    async def _read(self, cluster: Cluster) -> tuple[str, dict[Name, tuple[int, T | None]]]:
        """What is there, and as of when; None: what is known of an object is as new."""
        for _ in range(READINGS_MAX):
            there: dict[Name, tuple[int, T | None]] = {}
            try:
                async with aclosing(cluster.pages("", self.kind, self.selector)) as pages:
                    async for page in pages:
                        for each in page.objects:
                            name, version = _name(each), int(each.version)
                            is_new = self._is_new(name, version)
                            there[name] = (version, self._take(each) if is_new else None)
                return page.version, there
            except ExpiredError as error:
                expired = error
        raise OutsideError(str(expired))

    def _replace(
        self, version: str, there: dict[Name, tuple[int, T | None]]
    ) -> Iterator[ShelfChange[T]]:
        """Have what a whole reading has, and nothing else."""
        for name, known in list(self._versions.items()):
            # What we wrote after the server made this list is not in it yet.
            if name not in there and (not version or known <= int(version)):
                change = self._drop(name)
                if change is not None:
                    yield change
        for name, (at, item) in there.items():
            if item is not None and self._is_new(name, at):
                change = self._put(name, at, item)
                if change is not None:
                    yield change

    def _is_new(self, name: Name, version: int) -> bool:
        return version > max(self._versions.get(name, 0), self._gone.get(name, 0))

    def _put(self, name: Name, version: int, after: T) -> ShelfChange[T] | None:
        self._versions[name] = version
        self._gone.pop(name, None)
        before = self.items.get(name)
        return None if before == after else self._set(ShelfChange(name, before, after))

    def _drop(self, name: Name) -> ShelfChange[T] | None:
        self._versions.pop(name, None)
        before = self.items.get(name)
        if before is None:
            return None
        self.removals += 1
        return self._set(ShelfChange(name, before, None))

    def _set(self, change: ShelfChange[T]) -> ShelfChange[T]:
        if change.after is None:
            del self.items[change.name]
        else:
            self.items[change.name] = change.after
        self.changes += 1
        self._note(change)
        return change


def _name(found: Object) -> Name:
    """A policy has the same name on a thousand clusters: it is kept once."""
    return sys.intern(found.namespace), sys.intern(found.name)


_News = tuple[Shelf[Any], ShelfChange[Any]]


class HubMirror:
    """Several shelves of one hub."""

    def __init__(self, cluster: Cluster, shelves: list[Shelf[Any]], fresh_s: float) -> None:
        self._cluster = cluster
        self._shelves = shelves
        self._fresh_s = fresh_s

    async def fresh(self) -> None:
        """Have every shelf as it is now, or with a gap."""
        now_s = asyncio.get_running_loop().time()
        old = [each for each in self._shelves if not each.is_fresh(now_s, self._fresh_s)]
        await asyncio.gather(*(each.load(self._cluster) for each in old))

    async def changes(self) -> AsyncGenerator[_News, None]:
        """Whatever changes on any shelf, for good."""
        news: asyncio.Queue[_News | None] = asyncio.Queue()
        tasks = [asyncio.create_task(self._follow(each, news)) for each in self._shelves]
        for task in tasks:
            task.add_done_callback(lambda _: news.put_nowait(None))
        try:
            while (found := await news.get()) is not None:
                yield found
            # A watch ends by a bug only, and not unseen.
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, shelf: Shelf[Any], news: "asyncio.Queue[_News | None]") -> None:
        expired_s = -AGAIN_S
        while True:
            try:
                changes = shelf.follow(self._cluster)
                async with aclosing(changes):
                    async for change in changes:
                        news.put_nowait((shelf, change))
            except ExpiredError as error:
                # The server forgot what happened since: what is read anew says it, and at once.
                now_s = asyncio.get_running_loop().time()
                if now_s - expired_s >= AGAIN_S:
                    expired_s = now_s
                    continue
                shelf.gap = str(error)
            except (OutsideError, StaleError, OSError) as error:
                shelf.gap = str(error)
            await asyncio.sleep(AGAIN_S)
