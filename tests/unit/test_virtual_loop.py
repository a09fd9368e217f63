"""Virtual time: hours in no time, one thread, the same order every time."""

import asyncio
import threading

import pytest

from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.virtual_loop import VirtualClock, VirtualLoop, run_virtually

START = Instant(1_000 * SECOND)


def test_time_jumps_to_the_next_timer() -> None:
    """A day of waiting takes no time, and the clock shows a day."""

    async def main(loop: VirtualLoop) -> Instant:
        await asyncio.sleep(86_400)
        return VirtualClock(loop).now()

    assert run_virtually(main, START) == START + 86_400 * SECOND


@pytest.mark.parametrize("years", [0.54, 2, 40])
def test_timers_end_however_late_it_is(years: float) -> None:
    """Where floats no longer tell nanoseconds apart, too."""

    async def main(loop: VirtualLoop) -> float:
        await asyncio.sleep(years * 365 * 86_400)
        before = loop.time()
        for i in range(100):
            await asyncio.sleep(i + 1 / 3)
        return loop.time() - before

    assert run_virtually(main, START) == pytest.approx(99 * 50 + 100 / 3)


def test_timers_end_in_the_order_of_their_moments() -> None:
    """What waits less is first, in any order."""

    async def main(_: VirtualLoop) -> list[int]:
        woken: list[int] = []

        async def wait(seconds: int) -> None:
            await asyncio.sleep(seconds)
            woken.append(seconds)

        await asyncio.gather(*(wait(seconds) for seconds in (30, 10, 20)))
        return woken

    assert run_virtually(main, START) == [10, 20, 30]


def test_a_timeout_is_a_timer() -> None:
    """What takes longer than it may is given up at that very moment."""

    async def main(loop: VirtualLoop) -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.sleep(10)
        return loop.time()

    assert run_virtually(main, START) == pytest.approx(5)


def test_calls_to_threads_are_made_here_in_their_turn() -> None:
    """By the one thread there is; others get on meanwhile, and errors come back."""

    async def main(_: VirtualLoop) -> int:
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        return await asyncio.to_thread(threading.get_ident)

    assert run_virtually(main, START) == threading.get_ident()


def test_a_slow_call_is_done_although_nothing_waits_for_it_any_more() -> None:
    """As with a thread: giving up waiting does not undo it."""
    done: list[float] = []

    async def main(loop: VirtualLoop) -> None:
        loop.pace = lambda: 60.0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.to_thread(lambda: done.append(loop.time()))
        assert not done
        await asyncio.sleep(60)

    run_virtually(main, START)
    assert done == [pytest.approx(60)]


def test_an_answer_may_come_later_than_the_deed() -> None:
    """A call that blocks has done its work when its answer is still on the way."""

    async def main(loop: VirtualLoop) -> tuple[float, float]:
        def slow() -> float:
            loop.block(7)
            return loop.time()

        return await asyncio.to_thread(slow), loop.time()

    done_s, answered_s = run_virtually(main, START)
    assert (done_s, round(answered_s)) == (0, 7)


def test_clocks_can_be_wrong_and_jump() -> None:
    """Each by itself, forwards and backwards."""

    async def main(loop: VirtualLoop) -> list[int]:
        right, wrong = VirtualClock(loop), VirtualClock(loop, Duration(-5 * SECOND))
        shown = [wrong.now() - right.now()]
        wrong.jump(Duration(60 * SECOND))
        return [*shown, wrong.now() - right.now()]

    assert run_virtually(main, START) == [-5 * SECOND, 55 * SECOND]


def test_waiting_for_ever_is_an_error() -> None:
    """Nothing is ready and no timer is set: in virtual time that is a deadlock."""

    async def main(_: VirtualLoop) -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="wait for ever"):
        run_virtually(main, START)
