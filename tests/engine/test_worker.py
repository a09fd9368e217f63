"""A worker says how it is, who leads, and does not outlive a bug."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from tests.engine.stage import DEMO, PARTITION
from tests.patience import PATIENCE_S
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.round import RoundResult
from tidegate.engine.vitals import Led
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Braked, Verb
from tidegate.journal.lease import Look
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.simulated.port import Fault, SimulatedFleet
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Duration
from tidegate.store.client.memory import MemoryStore

Told = list[tuple[str, RoundResult | Led | Exception]]


def make(
    told: Told,
    fault: Fault | None = None,
    store: MemoryStore | None = None,
    kind: type[RolloutKind] = RolloutKind,
    **more: Any,
) -> Worker:
    """A worker over one simulated rollout."""
    clock = SystemClock()
    fleet = SimulatedFleet(clock, fault)
    fleet.add(PARTITION, read_scenario(DEMO))
    settings = WorkerSettings(
        holder="w", act=("*",), lease_term=Duration(300 * SECOND), discover_s=0.05, listen_s=0.01
    )
    settings = replace(settings, **more)
    return Worker(
        store or MemoryStore(),
        (kind(fleet),),
        clock,
        Executor(Limits(), Breaker()),
        settings,
        lambda partition, outcome: told.append((partition, outcome)),
    )


async def seen(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  nothing in there tells when it is
            await asyncio.sleep(0.005)


async def until(worker: Worker, told: Told, rounds: int) -> None:
    """Let a worker go until so many rounds are reported."""
    running = asyncio.create_task(worker.run())
    await seen(
        lambda: running.done() or sum(isinstance(each, RoundResult) for _, each in told) >= rounds
    )
    worker.stop()
    await running


def test_leading_is_reported_when_it_begins_and_when_it_ends() -> None:
    """First that we lead, last that we do not; every round says how long it took."""
    told: Told = []
    worker = make(told)
    asyncio.run(until(worker, told, 2))
    assert told[0] == (PARTITION, Led(True))
    assert told[-1] == (PARTITION, Led(False))
    assert all(outcome.took_s > 0 for _, outcome in told if isinstance(outcome, RoundResult))
    assert not worker.vitals().led


def test_vitals_tell_what_is_led_and_read() -> None:
    """Before: nothing. Under way: who is led, that the journal answers, and nothing is behind."""
    told: Told = []
    store = MemoryStore()

    async def look() -> None:
        worker = make(told, store=store)
        before = worker.vitals()
        assert (before.led, before.discovered, before.journal_at) == (frozenset(), False, None)
        running = asyncio.create_task(worker.run())
        await seen(
            lambda: (
                bool(told)
                and isinstance(told[-1][1], RoundResult)
                and not worker.vitals().behind
                and not worker.vitals().under_way
            )
        )
        vitals = worker.vitals()
        assert vitals.led == vitals.running == {PARTITION}
        assert vitals.discovered
        assert vitals.journal_at is not None
        assert (vitals.waiting, vitals.under_way) == (0, 0)
        worker.stop()
        await running

    asyncio.run(look())


def test_what_others_write_is_behind_until_a_round_has_seen_it() -> None:
    """An approval written by another process is taken into account, and then nothing is behind."""
    told: Told = []
    store = MemoryStore()

    async def look() -> None:
        worker = make(told, store=store)
        running = asyncio.create_task(worker.run())
        await seen(lambda: any(isinstance(outcome, RoundResult) for _, outcome in told))
        note = JournalNote(SystemClock().now(), "user:ada", Asked(verb=Verb.PAUSE))
        seq = store.append(PARTITION, [note]).seq
        await seen(lambda: worker._seen.get(PARTITION, 0) >= seq)
        worker.stop()
        await running
        assert worker.vitals().behind == 0

    asyncio.run(look())


def test_a_brake_makes_rounds_only_where_it_covers_something() -> None:
    """A hold elsewhere is taken note of between two rounds; one on a target here makes a round."""
    told: Told = []
    store = MemoryStore()

    def hold(name: str, target: str) -> None:
        document = {"name": name, "scope": {"targets": [target]}, "owner": "sre", "reason": "why"}
        fact = Braked(brake="hold", name=name, document=document)
        store.append(BRAKES, [JournalNote(SystemClock().now(), "user:ada", fact)])

    def rounds() -> int:
        return sum(isinstance(outcome, RoundResult) for _, outcome in told)

    async def look() -> None:
        worker = make(told, store=store)
        running = asyncio.create_task(worker.run())

        def rests_under() -> set[str]:
            part = worker._resting.get(PARTITION)
            if part is None or part.basis is None or worker._wakes[PARTITION].is_set():
                return set()
            return {"rests", *(each.name for each in part.basis.brakes.holds)}

        await seen(lambda: bool(rests_under()) and not worker.vitals().behind)
        before = rounds()
        hold("far", "elsewhere")
        await seen(lambda: "far" in rests_under())
        assert rounds() == before
        hold("near", "b")
        await seen(lambda: "near" in rests_under())
        assert rounds() > before
        worker.stop()
        await running

    asyncio.run(look())


def test_a_bug_ends_the_worker_and_is_raised() -> None:
    """Whatever is no error of ours must not end a rollout's rounds unseen."""

    def fault(where: str) -> None:
        if where == "observe":
            raise ZeroDivisionError("a bug")

    told: Told = []
    with pytest.raises(ZeroDivisionError):
        asyncio.run(until(make(told, fault), told, 1))
    assert told[-1] == (PARTITION, Led(False)), "the lease is given back all the same"


def test_a_rollout_that_is_gone_is_no_longer_managed() -> None:
    """Not listed three times in a row: its lease is given back, and it can come again."""
    told: Told = []
    store = MemoryStore()
    worker = make(told, store=store)
    listed = [PARTITION]

    def left() -> bool:
        look = store.leases()[PARTITION].look
        return look is not None and look.left

    async def partitions() -> list[str]:
        return list(listed)

    worker._kinds[0].partitions = partitions  # type: ignore[method-assign]

    async def look() -> None:
        running = asyncio.create_task(worker.run())
        await seen(lambda: worker.vitals().led == {PARTITION})
        listed.clear()
        await seen(lambda: not worker.vitals().running and not worker.vitals().led)
        await seen(left)
        listed.append(PARTITION)
        await seen(lambda: worker.vitals().led == {PARTITION})
        assert not left()
        worker.stop()
        await running

    asyncio.run(look())
    led = [outcome.leads for _, outcome in told if isinstance(outcome, Led)]
    assert led == [True, False, True, False]


def test_the_journal_tells_when_a_worker_last_looked_and_whether_it_acts() -> None:
    """While it leads, and after it stopped: readers need not know how long its leases last."""
    told: Told = []
    store = MemoryStore()
    before = SystemClock().now()
    asyncio.run(until(make(told, store=store), told, 2))
    (record,) = store.leases().values()
    assert record.look is not None
    assert (record.look.by, record.look.acts) == ("w", True)
    assert record.look.at is not None
    assert before < record.look.at <= SystemClock().now()
    assert not record.runs(SystemClock().now())


def test_a_fleet_that_does_not_answer_is_not_looked_at() -> None:
    """The lease is renewed, and the last look stays when it was."""
    told: Told = []
    store = MemoryStore()

    def fault(call: str) -> None:
        if call == "observe":
            raise OutsideError("it does not answer")

    worker = make(told, fault, store)

    async def story() -> None:
        running = asyncio.create_task(worker.run())
        await seen(lambda: any(isinstance(each, Exception) for _, each in told))
        worker.stop()
        await running

    asyncio.run(story())
    (record,) = store.leases().values()
    assert record.look == Look(
        by="w", acts=True, at=None, trouble="it does not answer", every=Duration(30 * SECOND)
    )


class _Counting(MemoryStore):
    """Counts how often a state is read from its beginning."""

    loads = 0

    def load(self, partition: str) -> tuple[int, bytes] | None:
        """As ever."""
        self.loads += 1
        return super().load(partition)


def test_what_is_known_is_not_folded_again_because_a_fleet_does_not_answer() -> None:
    """A reading that failed changed nothing: with a long journal that would be most of the work."""
    told: Told = []
    store = _Counting()
    failures = iter(range(3))

    def fault(call: str) -> None:
        if call == "observe" and told and next(failures, None) is not None:
            raise OutsideError("it does not answer")

    worker = make(told, fault, store, backoff_first_s=0.001)
    asyncio.run(until(worker, told, 1))
    assert sum(isinstance(each, OutsideError) for _, each in told) == 3
    assert store.loads == 1


def test_a_second_worker_says_that_it_stands_by() -> None:
    """Once, and which worker leads; it takes over when that one is gone."""
    one: Told = []
    two: Told = []
    store = MemoryStore()

    async def story() -> None:
        first = make(one, store=store)
        running = asyncio.create_task(first.run())
        await seen(lambda: bool(store.leases()))
        second = make(two, store=store, holder="second", follow_s=0.02)
        following = asyncio.create_task(second.run())
        await seen(lambda: bool(two))
        await asyncio.sleep(0.2)
        assert two == [(PARTITION, Led(False, "w"))]
        first.stop()
        await running
        await seen(lambda: (PARTITION, Led(True)) in two)
        second.stop()
        await following

    asyncio.run(story())


class _Deaf(RolloutKind):
    """A kind whose changes survive a first cancellation, as those of a library may."""

    async def changes(self) -> AsyncIterator[str]:
        """Changes of nothing."""
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()
        yield ""


def test_a_worker_ends_although_a_cancellation_was_lost() -> None:
    """One that waited for such a part for ever would keep its leases from the next worker."""
    told: Told = []
    worker = make(told, kind=_Deaf, cancel_s=0.01)

    async def story() -> None:
        async with asyncio.timeout(60):
            await until(worker, told, 1)

    asyncio.run(story())
    assert told[-1] == (PARTITION, Led(False))
