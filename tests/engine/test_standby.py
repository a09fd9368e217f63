"""A worker that leads nothing is in the journal, and says that it stands by."""

import asyncio

from tests.engine.stage import VirtualClock
from tidegate.app.workers import StandbyWorker, standbys
from tidegate.engine.leading.leadership import Leadership
from tidegate.model.time import SECOND, Duration, Instant, parse_instant
from tidegate.store.client.memory import MemoryStore

BEGINS = "2026-01-01T00:00:00Z"
TERM = Duration(5 * SECOND)


class Workers:
    """Workers on one journal, under one clock."""

    def __init__(self) -> None:
        self.clock = VirtualClock(parse_instant(BEGINS))
        self.store = MemoryStore()

    def worker(self, name: str, act: tuple[str, ...] = ("*",)) -> Leadership:
        return Leadership(self.store, self.clock, name, TERM, act, Duration(30 * SECOND), True)

    def standing(self) -> list[str]:
        return [each.name for each in standbys(self.store.leases(), self.clock.now())]


def test_workers_that_lead_nothing_are_listed_until_they_are_gone() -> None:
    """Each by its own name and mode; one that is killed is gone when its term is over."""
    workers = Workers()
    first, second = workers.worker("w1"), workers.worker("w2", ())

    async def story() -> None:
        for each in (first, second):
            await each.look(["k/a"])
            await each.stand_by()

    asyncio.run(story())
    found = standbys(workers.store.leases(), workers.clock.now())
    assert found == (
        StandbyWorker(name="w1", acts=True, seen_at=BEGINS),
        StandbyWorker(name="w2", acts=False, seen_at=BEGINS),
    )
    workers.clock.at = Instant(workers.clock.at + 3 * SECOND)
    asyncio.run(second.stand_by())
    workers.clock.at = Instant(workers.clock.at + 3 * SECOND)
    assert workers.standing() == ["w2"]


def test_a_worker_that_leads_something_stands_by_no_more() -> None:
    """Its place is given back, and the next that stands by takes it: there are never more."""
    workers = Workers()
    first, second = workers.worker("w1"), workers.worker("w2")

    async def story() -> None:
        await first.stand_by()
        await first.look(["k/a"])
        assert await first.take("k/a") is not None
        await first.stand_by()
        await second.look(["k/a"])
        await second.stand_by()

    asyncio.run(story())
    assert workers.standing() == ["w2"]
    assert sorted(workers.store.leases()) == ["k/a", "standby:0"]


def test_a_worker_that_took_over_does_not_stand_by_as_well() -> None:
    """Until it gives its place back it has both leases, and `status` must not list it twice."""
    workers = Workers()
    heir = workers.worker("w1")

    async def story() -> None:
        await heir.stand_by()
        await heir.look(["k/a"])
        assert await heir.take("k/a") is not None

    asyncio.run(story())
    assert sorted(workers.store.leases()) == ["k/a", "standby:0"]
    assert workers.standing() == []


def test_standing_by_is_no_share_of_the_work() -> None:
    """A worker that stands by is to take what is free, as one that has nothing."""
    workers = Workers()
    only = workers.worker("w1")

    async def story() -> list[str]:
        await only.stand_by()
        return await only.look(["k/a", "k/b"])

    assert asyncio.run(story()) == ["k/a", "k/b"]
