"""Whether a worker that has a lease is alive: it is, if it renews it."""

import asyncio
import contextlib

from tests.engine.stage import VirtualClock
from tidegate.cli.worker.leaders import OtherLeaders
from tidegate.engine.leading.leadership import Leadership
from tidegate.model.time import SECOND, Duration, Instant, parse_instant
from tidegate.store.client.memory import MemoryStore

TERM = Duration(5 * SECOND)


def test_a_lease_that_is_renewed_has_a_leader_and_one_that_ends_has_none() -> None:
    """Until one of both is known, nothing is said of its leader."""
    clock = VirtualClock(parse_instant("2026-01-01T00:00:00Z"))
    store, said, looks = MemoryStore(), list[str](), list[set[str]]()
    for each in ("simulated/alive", "simulated/gone"):
        assert store.lease(each, each.partition("/")[2], clock.now(), TERM)
    others = OtherLeaders(store, clock, "ours", said.append)
    others.meet("simulated/alive")
    others.meet("simulated/gone")

    def looked() -> None:
        looks.append(set(others.led))
        clock.at = Instant(clock.at + 2 * SECOND)
        if clock.at < parse_instant("2026-01-01T00:00:08Z"):
            assert store.lease("simulated/alive", "alive", clock.now(), TERM)
        else:
            raise EOFError

    with contextlib.suppress(EOFError):
        asyncio.run(others.run(looked))
    assert looks == [set(), {"simulated/alive"}, {"simulated/alive"}, {"simulated/alive"}]
    assert said == [
        "simulated/alive: waits for its lease, which worker alive has until 2026-01-01T00:00:05Z",
        "simulated/gone: waits for its lease, which worker gone has until 2026-01-01T00:00:05Z",
        "simulated/alive: worker alive leads it; this one stands by",
    ]
    others.forget("simulated/alive")
    assert not others.led


def test_a_lease_that_this_worker_takes_has_no_other_leader() -> None:
    """It is seen in the journal before the worker has reported that it leads."""
    clock = VirtualClock(parse_instant("2026-01-01T00:00:00Z"))
    store, said, name = MemoryStore(), list[str](), "simulated/gone"
    assert store.lease(name, "gone", clock.now(), TERM)
    others = OtherLeaders(store, clock, "ours", said.append)
    others.meet(name)
    looks = iter(("gone", "ours"))

    def looked() -> None:
        if next(looks) == "ours":
            raise EOFError
        clock.at = Instant(clock.at + 2 * TERM)
        assert store.lease(name, "ours", clock.now(), TERM)

    with contextlib.suppress(EOFError):
        asyncio.run(others.run(looked))
    assert not others.led
    assert len(said) == 1, said


def test_a_worker_does_not_stand_by_for_itself() -> None:
    """What it has just given back, the last look still shows as its own."""
    clock = VirtualClock(parse_instant("2026-01-01T00:00:00Z"))
    name = "simulated/given"
    led = Leadership(MemoryStore(), clock, "host/1", TERM, ("*",), TERM, True)

    async def give_back() -> None:
        await led.look([name])
        lease = await led.take(name)
        await led.look([name])
        assert lease is not None
        await led.release(lease)

    asyncio.run(give_back())
    assert led.followed(name) == ""
