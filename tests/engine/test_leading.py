"""Two that think they lead: the fenced one does nothing."""

import asyncio

import pytest

from tests.engine.stage import PARTITION, TERM, Process, Tripwire, live, rollout_part, set_up
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Mode, Verb
from tidegate.model.errors import StaleError
from tidegate.model.time import Instant
from tidegate.store.client.memory import MemoryStore


def test_a_worker_whose_lease_was_taken_over_does_nothing() -> None:
    """The old leader wakes up after its lease ran out: not a write, not an action."""
    stage = set_up(MemoryStore(), Tripwire())
    old, new = Process(stage), Process(stage)
    stale = stage.store.lease(PARTITION, old.name, stage.clock.now(), TERM)
    assert stale is not None
    stage.clock.at = Instant(stage.clock.at + TERM)
    asyncio.run(new.round())
    done, head = dict(stage.fleet.done), stage.store.head(PARTITION)
    # It has not looked at its clock: only the token can stop it.
    forever = type(stale)(stale.partition, stale.holder, stale.token, Instant(2**62))
    with pytest.raises(StaleError):
        asyncio.run(old.make(forever).run())
    assert stage.fleet.done == done
    assert stage.store.head(PARTITION) == head


def test_a_lease_is_handed_over_without_a_second_act() -> None:
    """One leads half of the rollout, another the rest: every target is started once."""
    stage = set_up(MemoryStore(), Tripwire())
    first = Process(stage)
    asyncio.run(first.round())
    assert first.lease is not None
    stage.store.release(first.lease)
    asyncio.run(live(stage))
    assert sorted(task.target for task in stage.fleet.done.values()) == ["a", "b", "c", "d"]


def test_a_pause_between_deciding_and_acting_is_respected() -> None:
    """What was decided and not yet begun is dropped when a person pauses in between."""
    stage = set_up(MemoryStore(), Tripwire())
    process = Process(stage)
    asyncio.run(process.round(Mode.OBSERVE))
    note = JournalNote(stage.clock.now(), "user:ada", Asked(verb=Verb.PAUSE, reason="incident"))
    original = process.part.confirm

    def confirm(token: int) -> None:
        if not process.part.state.rollout.paused:
            stage.store.append(PARTITION, [note])
        original(token)

    process.part.confirm = confirm  # type: ignore[method-assign]
    asyncio.run(process.round())
    assert not stage.fleet.done
    assert not process.part.state.pending
    assert process.part.state.rollout.paused


def test_what_was_staged_and_not_written_never_happened() -> None:
    """The write that was to carry the news failed: the next round notices them again, once."""
    stage = set_up(MemoryStore(), Tripwire())
    process = Process(stage)
    note = JournalNote(stage.clock.now(), "user:ada", Asked(verb=Verb.PAUSE, reason="incident"))
    seen: list[tuple[bool, int]] = []
    for step in (lambda: process.part.stage([note]), process.part.catch_up):
        step()
        seen.append((process.part.state.rollout.paused, process.part.next_seq))
    assert seen == [(True, 2), (False, 1)]
    asyncio.run(process.round())
    kinds = [entry.kind for entry in stage.store.read(PARTITION)]
    assert kinds == ["declared", "observed", "decided", "acted"]
    assert rollout_part(stage.store).state == process.part.state
