"""A moment of the past is what a journal that ended there would say, for every kind."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.journals import reading
from tidegate.app.documents import RolloutDetails
from tidegate.app.partitions.journals import Journals
from tidegate.app.partitions.kept_states import KeptStates
from tidegate.app.past.journals import past_journals, past_moment
from tidegate.app.rollouts import rollout_list, status, view_details
from tidegate.engine.past import states as past_states
from tidegate.engine.past.states import Checkpoints, PastBook
from tidegate.engine.past.store import PastMoment, PastStore
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalEntry, JournalNote
from tidegate.journal.facts import Braked, Lifted
from tidegate.kind_table import rules_of
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.journal.record import stands_of
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.time import SECOND, Instant, format_instant
from tidegate.store.archive_port import Archive
from tidegate.wiring import open_store

KEPT = (
    "rollout-braked",
    "loop-2",
    "loop-6",
    "integrations-shards-3",
    "upgrades-inherited",
    "upgrades-lived-2",
)
# Moments that are compared in each journal, from its beginning to its end.
COMPARED = 12


@contextmanager
def kept(name: str) -> Iterator[Archive]:
    """A journal that is kept with the tests."""
    with reading.opened("memory:") as archive:
        reading.take_in(archive, reading.export_of(name))
        yield archive


def every_entry(archive: Archive) -> list[tuple[str, JournalEntry]]:
    """All entries by time."""
    found = [(name, entry) for name in archive.partitions() for entry in archive.read(name)]
    return sorted(found, key=lambda each: (each[1].at, each[0], each[1].seq))


def shown(journals: Journals) -> dict[str, RolloutDetails]:
    """Every partition in full, with all verdicts."""
    return {each.partition: view_details(each.view) for each in journals.all()}


def ended_at(archive: Archive, ends: dict[str, int]) -> Archive:
    """A journal with the first entries of each chain, as if nothing else had been written."""
    made: Archive = open_store("memory:")
    for name, end in ends.items():
        notes = [
            JournalNote(each.at, each.actor, each.fact()) for each in archive.read(name, limit=end)
        ]
        made.append(name, notes)
    return made


def then(archive: Archive, moment: PastMoment) -> Journals:
    """The journals of a moment."""
    return past_journals(archive, rules_of, moment, Checkpoints())


@pytest.mark.parametrize("name", KEPT)
def test_what_is_written_later_changes_nothing_of_the_past(name: str) -> None:
    """States, brakes and verdicts are those of a journal that ends at the moment."""
    with kept(name) as archive:
        every = every_entry(archive)
        compared = 0
        for at in range(0, len(every), max(1, len(every) // COMPARED)):
            moment = PastMoment(every[at][1].at)
            shorter = ended_at(archive, PastStore(archive, moment).heads())
            known = KeptStates(shorter, PastBook(shorter))
            wanted = shown(Journals(shorter, rules_of, moment.at, moment.at, kept=known))
            assert shown(then(archive, moment)) == wanted
            compared += len(wanted)
            shorter.close()
        assert compared > 1


@pytest.mark.parametrize("name", [each for each in reading.names() if "rollout-" in each])
def test_the_past_decides_what_was_recorded(name: str) -> None:
    """Right before each recorded decision, every target has the verdicts of that decision."""
    with kept(name) as archive:
        compared = 0
        for partition in archive.partitions():
            for entry in archive.read(partition):
                fact = entry.fact()
                if not isinstance(fact, Decided) or not fact.changed:
                    continue
                moment = PastMoment(fact.now, partition, entry.seq - 1)
                one = then(archive, moment).read(partition)
                if one is None:
                    assert name == "rollout-compacted"
                    continue
                stands = {each.target: each for each in stands_of(one.world, one.plan)}
                assert all(stands[each.target] == each for each in fact.changed)
                compared += len(fact.changed)
        assert compared


@given(every=st.integers(1, 40), share=st.floats(0, 1), again=st.floats(0, 1))
def test_a_state_does_not_depend_on_what_is_kept(every: int, share: float, again: float) -> None:
    """Folded from the beginning or from a state on the way, in whatever order it is asked for."""
    archive, entries = braked()
    checkpoints = Checkpoints(bytes_max=200_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(past_states, "EVERY", every)
        for part in (share, again):
            _, entry = entries[round(part * (len(entries) - 1))]
            moment = PastMoment(entry.at)
            kept_one = past_journals(archive, rules_of, moment, checkpoints)
            assert shown(kept_one) == shown(then(archive, moment))
    assert checkpoints.size <= 200_000


@cache
def braked() -> tuple[Archive, list[tuple[str, JournalEntry]]]:
    """A journal with brakes, and its entries by time."""
    archive: Archive = open_store("memory:")
    reading.take_in(archive, reading.export_of("rollout-braked"))
    return archive, every_entry(archive)


def test_states_that_are_kept_take_bounded_memory() -> None:
    """The ones used least lately are dropped, and one that is too large is not kept at all."""
    kept_ones = Checkpoints(bytes_max=1000)
    for seq in range(1, 100):
        kept_ones.keep("a/b", seq, b"x" * 100)
        kept_ones.before("a/b", 1)
    assert kept_ones.size <= 1000
    assert kept_ones.before("a/b", 50) == (1, b"x" * 100)
    assert kept_ones.before("a/b", 99) == (99, b"x" * 100)
    kept_ones.keep("a/c", 1, b"x" * 300)
    assert kept_ones.before("a/c", 9) is None
    assert kept_ones.before("a/b", 0) is None


def test_an_end_is_found_by_reading_a_few_entries() -> None:
    """Whatever the moments of a chain are, a later moment never ends before an earlier one."""
    archive, entries = braked()
    moments = sorted({entry.at for _, entry in entries})
    for partition in archive.partitions():
        chain = list(archive.read(partition))
        for at in moments:
            found = PastStore(archive, PastMoment(at)).end(partition)
            assert found == sum(entry.at <= at for entry in chain)
    jumbled = open_store("memory:")
    times = [5, 3, 9, 1, 7, 7, 2, 8, 6, 10]
    facts = [JournalNote(Instant(at), "a", Lifted(brake="hold", name="x")) for at in times]
    jumbled.append("a/b", facts)
    ends = [PastStore(jumbled, PastMoment(Instant(at))).end("a/b") for at in range(12)]
    assert ends == sorted(ends)
    assert (ends[0], ends[-1]) == (0, len(times))


def test_a_brake_binds_in_the_past_from_when_it_was_set_until_it_was_lifted() -> None:
    """Although no decision was recorded in between."""
    archive: Archive = open_store("memory:")
    reading.take_in(archive, reading.export_of("rollout-manual"))
    first = next(each.at for _, each in every_entry(archive) if each.kind == "decided")

    def at(milliseconds: int) -> Instant:
        return Instant(first + milliseconds * SECOND // 1000)

    hold = Braked(
        brake="hold",
        name="inc-1",
        document={"name": "inc-1", "owner": "ada", "reason": "r", "everything": True},
        reason="r",
    )
    archive.append(BRAKES, [JournalNote(at(10), "ada", hold)])
    archive.append(BRAKES, [JournalNote(at(20), "ada", Lifted(brake="hold", name="inc-1"))])
    for moment, held in ((5, False), (15, True), (25, False)):
        found = shown(then(archive, PastMoment(at(moment))))
        said = msgspec.json.encode(found)
        assert (b"inc-1" in said) is held, moment
    archive.close()


def test_a_moment_is_a_time_an_age_or_an_entry() -> None:
    archive, entries = braked()
    partition, entry = next(each for each in entries if "/" in each[0])
    now = Instant(entries[-1][1].at + 10 * SECOND)
    journals = Journals(archive, rules_of, now)
    assert past_moment(journals, format_instant(entry.at)) == PastMoment(entry.at)
    assert past_moment(journals, "10s") == PastMoment(entries[-1][1].at)
    of_entry = past_moment(journals, f"{entry.seq}/{partition}")
    assert of_entry == PastMoment(entry.at, partition, entry.seq)
    with pytest.raises(UserError, match="is to come"):
        past_moment(journals, format_instant(now + 1))
    with pytest.raises(UserError, match='"yesterday" is neither'):
        past_moment(journals, "yesterday")
    with pytest.raises(NotFoundError, match=r"100000.*has \d+"):
        past_moment(journals, f"100000/{partition}")


def test_what_a_compaction_dropped_is_not_known_and_said_so() -> None:
    """Nothing is shown of it, rather than a state that never was."""
    with kept("rollout-compacted") as archive:
        dropped = next(each for each in archive.chains() if each.base_seq)
        entries = list(archive.read(dropped.partition))
        folded = next(each for each in entries if each.kind == "folded")
        early = then(archive, PastMoment(Instant(entries[0].at - 1)))
        assert status(early).unknown == (dropped.partition,)
        assert dropped.partition not in {each.id for each in rollout_list(early).items}
        late = then(archive, PastMoment(folded.at, dropped.partition, folded.seq))
        assert status(late).unknown == ()
        assert dropped.partition in {each.id for each in rollout_list(late).items}


def test_the_past_cannot_be_changed() -> None:
    archive, entries = braked()
    store = PastStore(archive, PastMoment(entries[0][1].at))
    with pytest.raises(UserError, match="cannot be changed"):
        store.append(entries[0][0], [])
