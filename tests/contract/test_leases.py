"""What a process may rely on that leads by a lease: one holder, growing tokens, no common clock."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.contract.clusters import EVERY, Stage, stage_of
from tests.patience import PATIENCE_S
from tidegate.journal.lease import Lease
from tidegate.kubernetes.leases_port import Leases
from tidegate.model.time import SECOND, Duration, Instant, parse_instant

START = parse_instant("2026-11-15T10:00:00Z")
TERM = Duration(15 * SECOND)

Open = Callable[[], Leases]
Story = Callable[[Open], Awaitable[None]]


@pytest.fixture(params=EVERY)
def stage(request: pytest.FixtureRequest) -> Stage:
    """A simulated cluster, one over HTTP, and a real one."""
    return stage_of(request.param, request)


def play(stage: Stage, story: Story) -> None:
    """A story of several processes."""
    namespace = stage.namespace()
    opened: list[Leases] = []

    def open_() -> Leases:
        opened.append(stage.leases(namespace))
        return opened[-1]

    async def played() -> None:
        async with stage.serving():
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await story(open_)
            finally:
                for each in opened:
                    await each.close()

    asyncio.run(played())


def at(seconds: float) -> Instant:
    """So many seconds after the start, by whosever clock."""
    return Instant(START + int(seconds * SECOND))


async def got(leases: Leases, holder: str, now: Instant) -> Lease:
    """A lease that no other holds."""
    lease = await leases.lease("leader", holder, now, TERM)
    assert lease is not None
    return lease


def test_a_lease_is_handed_over_a_term_after_it_was_last_seen_to_change(stage: Stage) -> None:
    """Its holder dies; another waits a whole term by its own clock, however wrong that is."""

    async def story(open_: Open) -> None:
        one, two = open_(), open_()
        first = await got(one, "w1", at(0))
        assert first == Lease("leader", "w1", 1, at(15))
        # Its clock is a day ahead.
        day = 86400
        assert await two.lease("leader", "w2", at(day), TERM) is None
        assert await two.lease("leader", "w2", at(day + 14.9), TERM) is None
        second = await got(two, "w2", at(day + 15))
        assert second.token == 2
        assert await one.lease("leader", "w1", at(14), TERM) is None, "it lost it meanwhile"

    play(stage, story)


def test_a_renewed_lease_stays(stage: Stage) -> None:
    """Under its token; what waits begins to wait anew."""

    async def story(open_: Open) -> None:
        one, two = open_(), open_()
        await got(one, "w1", at(0))
        assert await two.lease("leader", "w2", at(1), TERM) is None
        again = await got(one, "w1", at(10))
        assert (again.token, again.until) == (1, at(25))
        assert await two.lease("leader", "w2", at(16), TERM) is None
        assert await two.lease("leader", "w2", at(30.9), TERM) is None
        assert (await got(two, "w2", at(31))).token == 2

    play(stage, story)


def test_a_holder_that_came_late_gets_a_new_token(stage: Stage) -> None:
    """After the end of a lease even its last holder is a new one."""

    async def story(open_: Open) -> None:
        one = open_()
        await got(one, "w1", at(0))
        assert (await got(one, "w1", at(15))).token == 2

    play(stage, story)


def test_another_process_of_the_same_name_is_another_holder(stage: Stage) -> None:
    """A name that two have by mistake does not make them one."""

    async def story(open_: Open) -> None:
        one, two = open_(), open_()
        await got(one, "w1", at(0))
        assert await two.lease("leader", "w1", at(1), TERM) is None
        assert (await got(one, "w1", at(2))).token == 1

    play(stage, story)


def test_a_lease_given_back_is_free_at_once(stage: Stage) -> None:
    """The next holder need not wait, and has a larger token; an old lease gives nothing back."""

    async def story(open_: Open) -> None:
        one, two = open_(), open_()
        first = await got(one, "w1", at(0))
        await one.release(first)
        assert (await got(two, "w2", at(0))).token == 2
        await one.release(first)
        assert await one.lease("leader", "w1", at(1), TERM) is None

    play(stage, story)


def test_of_many_who_ask_one_gets_it(stage: Stage) -> None:
    """When no one holds it, and when it has just been given back."""

    async def story(open_: Open) -> None:
        many = [open_() for _ in range(8)]

        async def race() -> list[Lease]:
            asked = (each.lease("leader", f"w{i}", at(0), TERM) for i, each in enumerate(many))
            return [lease for lease in await asyncio.gather(*asked) if lease is not None]

        (first,) = await race()
        assert first.token == 1
        await many[int(first.holder[1:])].release(first)
        (second,) = await race()
        assert second.token == 2

    play(stage, story)


def test_leases_are_apart(stage: Stage) -> None:
    """Who holds one says nothing of another."""

    async def story(open_: Open) -> None:
        one, two = open_(), open_()
        await got(one, "w1", at(0))
        other = await two.lease("other", "w2", at(0), TERM)
        assert other is not None
        assert other.token == 1

    play(stage, story)
