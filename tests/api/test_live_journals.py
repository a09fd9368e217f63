"""A process that answers again and again decides what moved, and nothing else."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.api.stage import PARTITION, copied, rollout_journal
from tests.engine.stage import VirtualClock
from tidegate.api.live.live_journals import LiveJournals
from tidegate.api.live.refresh import Refresh
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Asked, Braked, Verb
from tidegate.journal.lease import Look
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Duration, Instant, format_instant
from tidegate.store.archive_port import Archive
from tidegate.wiring import open_store


class CountingRules(RolloutRules):
    """Counts decisions."""

    def __init__(self) -> None:
        self.decisions = 0

    def decide(self, world: RolloutWorld, now: Instant) -> RolloutPlan:
        """One more."""
        self.decisions += 1
        return super().decide(world, now)


class LiveStage:
    """Live journals over an archive, under a clock that is moved by hand."""

    def __init__(self, archive: Archive, *, follows: bool = False) -> None:
        self.archive = archive
        self.clock = VirtualClock(SystemClock().now())
        self.rules = CountingRules()
        self.live = LiveJournals(archive, lambda _: self.rules, self.clock, follows=follows)

    def led(self) -> None:
        """A worker looks at the rollout, at this moment."""
        look, now = Look(by="w", acts=True, at=self.clock.at), self.clock.at
        lease = self.archive.lease(PARTITION, "w", now, Duration(600 * SECOND), look)
        assert lease is not None

    def later(self, seconds: float) -> None:
        self.clock.at = Instant(self.clock.at + round(seconds * SECOND))

    def write(self, partition: str, fact: Fact) -> None:
        self.archive.append(partition, [JournalNote(self.clock.at, "user:ada", fact)])

    def hold(self, name: str, target: str, **more: str) -> None:
        document: dict[str, Any] = {"name": name, "owner": "sre", "reason": "an incident", **more}
        document["scope"] = {"targets": [target]}
        self.write(BRAKES, Braked(brake="hold", name=name, document=document))

    def seen(self) -> Decision:
        def read(journals: Journals) -> Decision:
            (one,) = journals.all()
            return one

        return self.live.ask(read)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rollout_journal(tmp_path_factory.mktemp("live"))


@pytest.fixture(params=[False, True], ids=["read", "followed"])
def stage(kept: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LiveStage]:
    with closing(open_store(str(copied(kept, tmp_path)))) as archive:
        found = LiveStage(archive, follows=request.param)
        yield found
        found.live.close()


def test_what_nothing_moves_is_decided_once(stage: LiveStage) -> None:
    """However often it is asked for, and though the moment it is shown for goes on."""
    stage.led()
    first = stage.seen()
    stage.later(5)
    stage.led()
    last = stage.seen()
    assert stage.rules.decisions == 1
    assert last.now - first.now == 5 * SECOND
    assert last.rows == first.rows


def test_time_that_changes_a_verdict_decides_again(stage: LiveStage) -> None:
    """At the moment that the plan itself names."""
    ends = Instant(stage.clock.at + 60 * SECOND)
    stage.hold("near", "dev-1", expires=format_instant(ends))
    stage.led()
    assert stage.seen().view.recheck_at == ends
    stage.clock.at = Instant(ends - 1)
    stage.led()
    stage.seen()
    assert stage.rules.decisions == 1
    stage.clock.at = Instant(ends + SECOND)
    stage.led()
    stage.seen()
    assert stage.rules.decisions == 2


def test_an_entry_decides_again_at_once(stage: LiveStage) -> None:
    """Whichever process wrote it."""
    assert not stage.seen().view.paused
    stage.write(PARTITION, Asked(verb=Verb.PAUSE))
    assert stage.seen().view.paused
    assert stage.rules.decisions == 2


def test_a_brake_decides_again_only_where_it_covers_something(stage: LiveStage) -> None:
    """A hold on another rollout's target costs this one nothing; one on its own is seen."""
    stage.seen()
    stage.hold("far", "elsewhere")
    assert stage.seen().holds == set()
    assert stage.rules.decisions == 1
    stage.hold("near", "prod-1")
    stage.seen()
    assert stage.rules.decisions == 2


def test_a_refresh_ends_before_the_thread_that_it_works_in(stage: LiveStage) -> None:
    """Nothing is left that would begin something in a pool that is gone."""

    async def play() -> set["asyncio.Task[Any]"]:
        refresh = Refresh(stage.live)
        refresh.begin()
        await asyncio.sleep(0)
        running = asyncio.all_tasks() - {asyncio.current_task()}
        assert len(running) == 1
        refresh.close()
        await refresh.closed()
        stage.live.close()
        refresh.begin()
        return asyncio.all_tasks() - {asyncio.current_task()}

    stage.seen()
    assert stage.live.is_listed
    assert asyncio.run(play()) == set()


def test_what_lists_show_is_decided_beside_them(stage: LiveStage) -> None:
    """After a list was asked for, and for some seconds: then none has to wait for it."""
    stage.seen()
    stage.write(PARTITION, Asked(verb=Verb.PAUSE))
    stage.later(0.7)
    assert stage.live.is_listed
    assert stage.live.refresh(60) is False
    before = stage.rules.decisions
    assert stage.seen().view.paused
    assert stage.rules.decisions == before == 2
