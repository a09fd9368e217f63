"""Every test runs once, groups stay together, and no process waits while another has work."""

from itertools import count
from types import SimpleNamespace

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]

from tests.strips import StripScheduling

LONGER = [f"tests/cli/test_{at}.py::test" for at in range(30)]
SHORT = [f"tests/unit/test_{at}.py::test" for at in range(20)]
WAITING = [f"tests/kills/test_{at}.py::test" for at in range(4)]
GROUP = [f"tests/api/test_schema.py::test[{at}]@schema" for at in range(5)]
TESTS = [*LONGER[:15], *GROUP, *LONGER[15:25], *WAITING, *LONGER[25:], *SHORT]


class Process:
    """A process of tests, as far as a schedule knows one."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.waiting: list[int] = []
        self.done: list[str] = []

    def send_runtest_some(self, places: list[int]) -> None:
        """Tests to run after those before."""
        assert not self.shutting_down
        self.waiting += places

    def shutdown(self) -> None:
        """End after these."""
        self.shutting_down = True


class Run:
    """Tests on three processes."""

    def __init__(self) -> None:
        option = SimpleNamespace(loadscopereorder=True)
        config = SimpleNamespace(getvalue=lambda name: ["3*popen"], option=option)
        self.schedule = StripScheduling(config, Producer("", enabled=False))
        self.processes = [Process(name) for name in "abc"]
        self.order: list[str] = []
        for process in self.processes:
            self.join(process)
        self.schedule.schedule()

    def join(self, process: Process) -> None:
        """A process that has collected the tests."""
        self.schedule.add_node(process)
        self.schedule.add_node_collection(process, TESTS)

    def step(self, process: Process) -> None:
        """One test, if it has one."""
        if process.waiting:
            place = process.waiting.pop(0)
            process.done.append(TESTS[place])
            self.order.append(TESTS[place])
            self.schedule.mark_test_complete(process, place)

    def finish(self, processes: list[Process]) -> None:
        """All that is left."""
        while any(process.waiting for process in processes):
            for process in processes:
                self.step(process)


@pytest.mark.parametrize("slow", [1, 2, 20, 200])
def test_every_test_runs_once_however_slow_a_process_is(slow: int) -> None:
    """The others take what it has not begun; and all know when it is over."""
    run = Run()
    turns = count(1)
    while any(process.waiting for process in run.processes):
        some = run.processes if next(turns) % slow == 0 else run.processes[1:]
        for process in some:
            run.step(process)
    assert sorted(run.order) == sorted(TESTS)
    assert run.schedule.tests_finished
    assert not run.schedule.has_pending
    assert all(process.shutting_down for process in run.processes)


def test_a_group_stays_in_one_process_in_its_order() -> None:
    """What its module makes is made once."""
    run = Run()
    run.finish(run.processes)
    (whole,) = [found for each in run.processes if (found := [t for t in each.done if t in GROUP])]
    assert whole == GROUP


def test_processes_begin_apart_and_short_tests_come_last() -> None:
    """Neighbours are run by one process, and all processes end at about the same time."""
    run = Run()
    run.finish(run.processes)
    assert [each.done[0] for each in run.processes] == [WAITING[0], LONGER[9], LONGER[19]]
    begun = {test: at for at, test in enumerate(run.order)}
    assert max(begun[test] for test in LONGER) < min(begun[test] for test in SHORT) + len(GROUP)
    third = run.processes[2].done
    assert third[:5] == LONGER[19:24]


def test_one_process_begins_with_all_that_wait() -> None:
    """The others calculate meanwhile; its own share comes afterwards."""
    run = Run()
    run.finish(run.processes)
    assert run.processes[0].done[: len(WAITING) + len(GROUP)] == [*WAITING, *GROUP]


def test_what_a_process_leaves_that_crashed_is_run_by_the_others() -> None:
    """And by the one that is started in its place."""
    run = Run()
    lost, *others = run.processes
    for _ in range(7):
        run.step(lost)
    crashed = run.schedule.remove_node(lost)
    assert crashed == TESTS[lost.waiting[0]]
    another = Process("d")
    run.join(another)
    run.schedule.schedule()
    run.finish([another, *others])
    assert sorted(run.order) == sorted(TESTS)
    assert run.schedule.tests_finished
