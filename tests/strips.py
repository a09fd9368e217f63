"""Which process runs which test: each has a strip of neighbours, and takes from others at the end.

Tests that wait (for a lease, for a server) are neighbours in the tree. Where all processes walk
through it side by side, all of them wait at once and the cores are idle; and what a module makes
for its tests is made in each of them. One process begins with all that do little but wait, while
the others calculate. Tests of milliseconds come last, so that all end together.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any

from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

# They wait for two thirds of their time or more, a minute and a half in all.
WAITING = (
    "tests/kills/",
    "tests/test_bench.py",
    "tests/cli/test_idle_worker.py",
    "tests/cli/test_policies.py",
)
# Thousands of tests, half a minute of all: what is left over for the end.
SHORT = ("tests/golden/", "tests/scenarios/", "tests/unit/", "tests/vectors/")


class StripScheduling(LoadGroupScheduling):  # type: ignore[misc]
    """`--dist loadgroup`, in this order. A unit is a test, or all tests of a group."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        self._strips: dict[Any, deque[str]] = {}
        self._places: dict[str, int] = {}

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget units that are done: those of a process are counted after each test."""
        units = self.assigned_work[node]
        test = self.registered_collections[node][item_index]
        unit = units[self._split_scope(test)]
        unit[test] = True
        if all(unit.values()):
            del units[self._split_scope(test)]
        self._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        if not self._places:
            self._places = {test: at for at, test in enumerate(self.collection or ())}
        name = self._next(node)
        unit = self.assigned_work[node][name] = self.workqueue.pop(name)
        node.send_runtest_some([self._places[test] for test, done in unit.items() if not done])

    def _next(self, node: Any) -> str:
        """The next unit of a strip; of an empty one, of the second half of the longest."""
        if not any(self._strips.values()):
            self._cut()
        strip = self._strips.setdefault(node, deque())
        if not strip:
            longest = max(self._strips.values(), key=len)
            half = [longest.pop() for _ in range((len(longest) + 1) // 2)]
            strip.extend(reversed(half))
        return strip.popleft()

    def _cut(self) -> None:
        """Cut what is left into strips, one for each process: the short tests after all others."""
        units, nodes = self.workqueue, self.nodes
        waiting = [name for name in units if _are(WAITING, units[name])]
        longer = [name for name in units if not _are(WAITING + SHORT, units[name])]
        left = longer or [name for name in units if name not in waiting]
        for at, node in enumerate(nodes):
            begin, end = (len(left) * each // len(nodes) for each in (at, at + 1))
            self._strips[node] = deque(left[begin:end])
        self._strips[nodes[0]].extendleft(reversed(waiting))


def _are(kind: tuple[str, ...], tests: Iterable[str]) -> bool:
    return all(test.startswith(kind) for test in tests)
