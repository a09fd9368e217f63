"""Which partitions there are: asked of every kind, and gone only when missing several times."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tidegate.engine.kind import Kind
from tidegate.model.errors import OutsideError

# A partition that is missing from the list this often is gone.
MISSED_MAX = 3


class Discovery:
    """The partitions of some kinds, as of the last time they were listed."""

    def __init__(
        self,
        kinds: Sequence[Kind[Any, Any, Any, Any]],
        timeout_s: float,
        report: Callable[[Exception], None],
    ) -> None:
        self._kinds = kinds
        self._timeout_s = timeout_s
        self._report = report
        # The kind of every partition that was ever found.
        self._kind_of: dict[str, Kind[Any, Any, Any, Any]] = {}
        # How often in a row a partition was not listed.
        self._missed: dict[str, int] = {}

    def kind_of(self, partition: str) -> Kind[Any, Any, Any, Any]:
        """The kind of a partition that was found."""
        return self._kind_of[partition]

    async def find(self) -> tuple[frozenset[str], bool]:
        """The partitions, and whether those are all: a kind that gives no list is reported."""
        found: set[str] = set()
        whole = True
        for kind in self._kinds:
            try:
                async with asyncio.timeout(self._timeout_s):
                    some = await kind.partitions()
            except (OutsideError, TimeoutError, OSError) as error:
                self._report(error)
                whole = False
                continue
            found.update(some)
            self._kind_of |= dict.fromkeys(some, kind)
        return frozenset(found), whole

    def gone(self, known: Iterable[str], found: frozenset[str]) -> list[str]:
        """Those that were missing some times in a row: lists may be short."""
        absent = [each for each in known if each not in found]
        for partition in absent:
            self._missed[partition] = self._missed.get(partition, 0) + 1
        self._missed = {each: n for each, n in self._missed.items() if each not in found}
        return [each for each in absent if self._missed[each] >= MISSED_MAX]
