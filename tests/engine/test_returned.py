"""A target that failed is shown as failed after it was returned, until it is tried again."""

import asyncio

import pytest

from tests.engine.stage import PARTITION, Process, Stage, Tripwire, set_up
from tests.engine.test_telling import story
from tidegate.app.cells import CellMap
from tidegate.app.partitions.journals import Journals
from tidegate.app.past.journals import PastReader
from tidegate.engine.past.store import PastMoment
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Verb
from tidegate.kind_table import rules_of
from tidegate.store.client.memory import MemoryStore

BROKEN = {"clusters": {"c": {"fails": "no image"}}}


async def _to_rest(stage: Stage) -> None:
    """Round after round, until nothing is to come."""
    process = Process(stage)
    for _ in range(60):
        done = await process.round()
        moments = [done.recheck_at, stage.fleet.fleets[PARTITION].next_end()]
        later = [each for each in moments if each is not None and each > stage.clock.at]
        if later:
            stage.clock.at = min(later)
    assert process.lease is not None
    stage.store.release(process.lease)


def _looks(cells: CellMap) -> dict[str, str]:
    return {name: cells.kinds[at].look for name, at in zip(cells.names, cells.cells, strict=True)}


def _now(stage: Stage, store: MemoryStore) -> Journals:
    return Journals(store, rules_of, stage.clock.at)


def test_a_failed_target_stays_red_after_it_was_returned() -> None:
    """It is back on the last good revision, and still drawn and counted as failed."""
    store = MemoryStore()
    stage = set_up(store, Tripwire(), story(**BROKEN))
    asyncio.run(_to_rest(stage))
    one = _now(stage, store).find(PARTITION)
    row = next(each for each in one.view.targets if each.name == "c")
    assert (row.revision, row.state, row.returned) == ("v1", "Waiting", True)
    assert _looks(one.cells) == {"a": "stopped", "b": "stopped", "c": "failed", "d": "stopped"}
    assert (one.counts["failed"], one.item.returned) == (1, 1)


def test_a_film_shows_the_failure_from_its_entry_on() -> None:
    """Every moment from the failure on has it in red, and none before."""
    store = MemoryStore()
    stage = set_up(store, Tripwire(), story(**BROKEN))
    asyncio.run(_to_rest(stage))
    past = PastReader(store, rules_of)
    seen = [
        past.ask(
            PastMoment(each.at, PARTITION, each.seq),
            stage.clock.at,
            lambda then: _looks(then.find(PARTITION).cells).get("c", ""),
        )
        for each in store.read(PARTITION)
        if each.seq > 1
    ]
    first = seen.index("failed")
    assert 0 < first < len(seen) - 3
    assert set(seen[first:]) == {"failed"}


@pytest.mark.parametrize("verb", [Verb.RETRY, Verb.RETRY_FAILED])
def test_a_retry_takes_the_red_away(verb: Verb) -> None:
    """What is tried again has not failed yet."""
    store = MemoryStore()
    stage = set_up(store, Tripwire(), story(**BROKEN))
    asyncio.run(_to_rest(stage))
    ask = Asked(verb=verb, reason="the image is there now")
    head = store.head(PARTITION)
    store.append(PARTITION, [JournalNote(stage.clock.at, "ann", ask)], after=head)
    asyncio.run(Process(stage).round())
    assert "failed" not in _looks(_now(stage, store).find(PARTITION).cells).values()
