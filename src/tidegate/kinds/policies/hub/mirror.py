"""What a hub holds, read once and kept up by watches: a thousand clusters are a handful of calls.

A shelf is one kind of object, each object made small as it comes in. Where no watch runs (a single
round), or one broke, the shelf is read again. What cannot be read is a gap, never an absence.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Generic, TypeVar

from tidegate.kubernetes.port import (
    AbsentError,
    Cluster,
    NotAllowedError,
    Object,
    ObjectEvent,
    ResourceKind,
)
from tidegate.model.errors import OutsideError, StaleError

T = TypeVar("T")
Name = tuple[str, str]

# Without a watch, a reading is used for this long by rounds that begin at the same time.
FRESH_S = 1.0
# After a watch broke, it is begun again so much later.
AGAIN_S = 5.0


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
    ) -> None:
        self.kind = kind
        self.selector = selector
        self.items: dict[Name, T] = {}
        # Why it could not be read; None: it could.
        self.gap: str | None = "not read yet"
        # How many objects went away, of those that were there.
        self.removals = 0
        self._take = take
        self._versions: dict[Name, int] = {}
        # A hub without this kind has none of it.
        self._optional = optional
        # Our account need not be allowed to see this kind; then why it is not, else empty.
        self._hideable = hideable
        self.hidden = ""
        self._version = ""
        self._read_at: float | None = None
        self._watched = False

    def put(self, found: Object) -> None:
        """An object as it is now: what we wrote ourselves need not come back to be known.

        An older word than the last, which a watch may still bring, changes nothing.
        """
        name, version = (found.namespace, found.name), int(found.version)
        if version > self._versions.get(name, 0):
            self.items[name], self._versions[name] = self._take(found), version

    def drop(self, found: Object) -> None:
        """An object is gone."""
        name = (found.namespace, found.name)
        self.removals += self.items.pop(name, None) is not None
        self._versions.pop(name, None)

    def is_fresh(self, now_s: float, fresh_s: float) -> bool:
        """Whether it need not be read."""
        if self._watched and self.gap is None:
            return True
        if self._read_at is not None and self.gap is None and not self._version:
            fresh_s = max(fresh_s, AGAIN_S)  # a kind that is not there seldom appears
        return self._read_at is not None and now_s - self._read_at < fresh_s

    async def load(self, cluster: Cluster) -> None:
        """Read all of it; what cannot be read stays as it was, with a gap."""
        try:
            reading = await cluster.read("", [self.kind], self.selector)
        except OutsideError as error:
            is_hidden = self._hideable and isinstance(error, NotAllowedError)
            if not is_hidden and not (self._optional and isinstance(error, AbsentError)):
                self.gap = str(error)
                return
            self.hidden = str(error) if is_hidden else ""
            self.removals += len(self.items)
            self.items, self._versions, self._version, self.gap = {}, {}, "", None
        else:
            self._version, self.gap, self.hidden = reading.versions[self.kind.name], None, ""
            there = {(each.namespace, each.name) for each in reading.objects}
            for name, version in list(self._versions.items()):
                # What we wrote after the server made this list is not in it yet.
                if name not in there and version <= int(self._version):
                    del self.items[name], self._versions[name]
                    self.removals += 1
            for each in reading.objects:
                self.put(each)
        self._read_at = asyncio.get_running_loop().time()

    async def follow(self, cluster: Cluster) -> AsyncGenerator[Object, None]:
        """Every object that changes, until the watch breaks; the shelf has it by then."""
        await self.load(cluster)
        if self.gap is not None or not self._version:
            return
        self._watched = True
        try:
            events = cluster.watch("", self.kind, self._version, self.selector)
            async with aclosing(events):
                async for event in events:
                    (self.drop if event.change is ObjectEvent.DELETED else self.put)(event.object)
                    yield event.object
        finally:
            self._watched = False
            self._read_at = None


class HubMirror:
    """Several shelves of one hub."""

    def __init__(self, cluster: Cluster, shelves: list[Shelf[Any]], fresh_s: float) -> None:
        self._cluster = cluster
        self._shelves = shelves
        self._fresh_s = fresh_s
        self._reading = asyncio.Lock()

    async def fresh(self) -> None:
        """Have every shelf as it is now, or with a gap."""
        async with self._reading:
            now_s = asyncio.get_running_loop().time()
            old = [each for each in self._shelves if not each.is_fresh(now_s, self._fresh_s)]
            await asyncio.gather(*(each.load(self._cluster) for each in old))

    async def changes(self) -> AsyncGenerator[tuple[Shelf[Any], Object], None]:
        """Whatever changes on any shelf, for good."""
        news: asyncio.Queue[tuple[Shelf[Any], Object]] = asyncio.Queue()
        tasks = [asyncio.create_task(self._follow(each, news)) for each in self._shelves]
        try:
            while True:
                yield await news.get()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(
        self, shelf: Shelf[Any], news: "asyncio.Queue[tuple[Shelf[Any], Object]]"
    ) -> None:
        while True:
            try:
                changes = shelf.follow(self._cluster)
                async with aclosing(changes):
                    async for found in changes:
                        news.put_nowait((shelf, found))
            except (OutsideError, StaleError, OSError) as error:
                shelf.gap = str(error)
            await asyncio.sleep(AGAIN_S)
