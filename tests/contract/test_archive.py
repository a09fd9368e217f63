"""What the keeper of a journal may rely on: finding, moving, copying, whatever keeps it."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.contract import journals
from tests.contract.journals import Journal, claim, note, notes
from tests.patience import ended
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Braked, Mode, Verb
from tidegate.journal.pieces import Chain, Piece, check_pieces
from tidegate.journal.selection import EntryFilter, matches
from tidegate.kinds.rollouts.core.journal.facts import Decided, TargetStanding
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.model.errors import OutsideError, StaleError, UserError
from tidegate.model.time import Duration, Instant, parse_instant
from tidegate.store.archive_port import Archive
from tidegate.store.client.database_address import open_archive
from tidegate.store.client.memory import MemoryStore

MINUTE = 60_000_000_000
# They can be written, and are beyond what databases keep in 64 bits.
YEAR_1, YEAR_9999 = (parse_instant(f"{year}-01-01T00:00:00Z") for year in ("0001", "9999"))


def a_plan(at: int, target: str, gate: str) -> JournalNote:
    """A plan in which one verdict of one target changed."""
    stand = TargetStanding(target, ((gate, "wait", "MutexHeld", None),))
    now = Instant(at)
    fact = Decided(now=now, mode=Mode.ACT, summary=Summary.PROGRESSING, changed=(stand,))
    return JournalNote(now, "tidegate", fact)


def fill(store: Archive) -> None:
    """Three partitions, one of them compacted, with claims and leases."""
    store.append("r1", notes(5_000), claims=[claim("mutex/db"), claim("budget/eu", key="r1/2")])
    store.append("r2", [a_plan(at * MINUTE, "east-2", "mutex") for at in range(20)])
    store.append("r2", [JournalNote(Instant(MINUTE), "user:ada", Asked(verb=Verb.PAUSE))])
    store.append(
        "brakes", [JournalNote(Instant(5), "ada", Braked(brake="hold", name="x", document={}))]
    )
    state = journals.folded(5_000)
    store.compact("r1", state, keep_after=4_900)
    store.lease("r1", "w1", Instant(0), Duration(100))
    store.lease("r1", "w2", Instant(200), Duration(100))


WANTED = [
    EntryFilter(),
    EntryFilter(kinds=("asked",)),
    EntryFilter(kinds=("asked", "folded", "acted")),
    EntryFilter(actor="user:ada"),
    EntryFilter(target="east-1"),
    EntryFilter(target="east-2"),
    EntryFilter(gate="mutex"),
    EntryFilter(gate="mutex", target="east-1"),
    EntryFilter(gate="hold"),
    EntryFilter(since=Instant(3 * MINUTE), until=Instant(7 * MINUTE)),
    EntryFilter(until=Instant(MINUTE), kinds=("decided",)),
    EntryFilter(since=YEAR_1, until=YEAR_9999),
]


@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_what_is_found_is_what_matches(store: Archive, wanted: EntryFilter) -> None:
    """A database that compares columns finds exactly what reading and comparing each entry does."""
    fill(store)
    for partition in store.partitions():
        expected = [entry for entry in store.read(partition, after=7) if matches(wanted, entry)]
        assert list(store.find(partition, wanted, after=7)) == expected
    assert list(store.find("unknown", wanted)) == []


def test_nothing_is_found_beyond_what_is_kept(store: Archive) -> None:
    """Of a year that no entry has, or behind a number that none can have."""
    fill(store)
    for wanted in (EntryFilter(since=YEAR_9999), EntryFilter(until=YEAR_1)):
        assert list(store.find("r2", wanted)) == []
    assert list(store.find("r2", EntryFilter(), after=10**20)) == []


def test_some_of_everything_is_found() -> None:
    """The table above is not empty: each row finds something, but for the one that must not."""
    store = MemoryStore()
    fill(store)
    counts = [sum(len(list(store.find(p, w))) for p in store.partitions()) for w in WANTED]
    assert [bool(count) for count in counts] == [each != WANTED[7] for each in WANTED]


def test_a_journal_moves_whole(journal: Journal, template: Path, tmp_path: Path) -> None:
    """Whatever is dumped is adopted: chains from where they start, claims, and used tokens."""
    source = journal.open()
    fill(source)
    moved = journals.in_file(tmp_path / "moved.db", template)
    target = moved.open()
    target.adopt(check_pieces(source.dump()))
    assert list(target.dump()) == list(source.dump())
    back = MemoryStore()
    back.adopt(check_pieces(target.dump()))
    assert list(back.dump()) == list(source.dump())
    for store in (target, back):
        assert [store.verify(name) for name in store.partitions()] == [None] * 3
        lease = store.lease("r1", "w3", Instant(250), Duration(10))
        assert lease is not None, "a lease is not moved"
        assert lease.token == 3, "its token is"
    moved.close()


def test_a_journal_moves_into_every_kind(store: Archive) -> None:
    """What memory dumped is adopted by all, and goes on there."""
    source = MemoryStore()
    fill(source)
    store.adopt(check_pieces(source.dump()))
    assert list(store.dump()) == list(source.dump())
    assert store.append("r1", notes(1), after=source.head("r1")).seq == 5_002
    assert store.verify("r1") is None


def test_nothing_is_adopted_over_what_is_there(store: Archive) -> None:
    """Two histories do not become one: all that came is refused, what was there stays."""
    source = MemoryStore()
    fill(source)
    head = store.append("r2", notes(1))
    with pytest.raises(UserError, match="partition r2 has 1 entry here"):
        store.adopt(source.dump())
    assert store.heads() == {"r2": 1}
    assert store.head("r2") == head
    assert store.claims() == []


def test_a_claim_that_is_held_here_is_not_adopted(store: Archive) -> None:
    """If a target here has a place, what came is refused as a whole."""
    source = MemoryStore()
    fill(source)
    held = claim("mutex/db", key="other", partition="other")
    store.append("other", notes(1), claims=[held])
    with pytest.raises(StaleError, match="held by other"):
        store.adopt(source.dump())
    assert store.heads() == {"other": 1}
    assert store.claims() == [held]


def test_a_journal_that_breaks_on_the_way_is_not_adopted(store: Archive) -> None:
    """The first piece that does not hold undoes what was written before it."""
    source = MemoryStore()
    fill(source)

    def tampered() -> Iterator[Piece]:
        for number, piece in enumerate(source.dump()):
            if number != 60:
                yield piece

    with pytest.raises(UserError, match=r"partition r1: entry \d+ is missing"):
        store.adopt(check_pieces(tampered()))
    assert (store.partitions(), store.claims()) == ([], [])


def test_a_dump_is_one_moment(journal: Journal) -> None:
    """What is written while a person dumps is not in the dump, which holds all the same."""
    store, other = journal.open(), journal.open()
    store.append("r1", notes(3_000))
    pieces = store.dump()
    first = next(pieces)
    if journal.kind != "memory":
        other.append("r1", notes(3_000), claims=[claim()])
        other.append("r2", notes(1))
    rest = list(check_pieces([first, *pieces]))
    assert isinstance(first, Chain)
    assert len(rest) == 1 + first.seq


def test_a_backup_is_a_journal(template: Path, tmp_path: Path) -> None:
    """A copy made while a person writes verifies, and holds what was acknowledged before it."""
    made = journals.in_file(tmp_path / "journal.db", template)
    store, writer = made.open(), made.open()
    store.append("r1", notes(20_000), claims=[claim()])
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            writer.append("r1", notes(50))

    thread = threading.Thread(target=write)
    thread.start()
    told: list[int] = []
    try:
        store.backup(tmp_path / "copy.db", told.append)
    finally:
        stop.set()
        ended(thread)
    assert sum(told) > 100
    assert [each.name for each in tmp_path.glob("copy*")] == ["copy.db"], "one file, whole"
    copy = open_archive(str(tmp_path / "copy.db"), writes=False)
    assert copy.head("r1").seq >= 20_000
    assert copy.verify("r1") is None
    assert copy.claims() == [claim()]
    copy.close()
    made.close()


def test_a_backup_overwrites_nothing(template: Path, tmp_path: Path) -> None:
    """A file that is there stays what it is."""
    made = journals.in_file(tmp_path / "journal.db", template)
    target = tmp_path / "copy.db"
    target.write_text("mine")
    with pytest.raises(UserError, match="is there already"):
        made.open().backup(target)
    assert target.read_text() == "mine"
    made.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_journal_that_is_taken_away_is_not_written_to(
    replaced: bool, template: Path, tmp_path: Path
) -> None:
    """What is open lives on without a name: its entries would be lost, and new brakes not seen."""
    path = tmp_path / "journal.db"
    made = journals.in_file(path, template)
    with closing(made.open()) as store, closing(made.open()) as other:
        store.append("r1", notes(1))
        assert other.head("r1").seq == 1
        other.backup(tmp_path / "copy.db")
        path.rename(tmp_path / "away.db")
        if replaced:
            (tmp_path / "copy.db").rename(path)
        with pytest.raises(OutsideError, match="was removed or replaced"):
            store.append("r1", notes(1))
        with pytest.raises(OutsideError, match="was removed or replaced"):
            other.head("r1")
    made.close()


def test_a_copy_that_cannot_be_written_names_its_file(template: Path, tmp_path: Path) -> None:
    """And not only the journal, of which nothing is wrong."""
    made = journals.in_file(tmp_path / "journal.db", template)
    target = tmp_path / "none" / "copy.db"
    with pytest.raises(OutsideError, match=r"copied to .*/none/copy.db: unable to open"):
        made.open().backup(target)
    made.close()


def test_a_server_is_backed_up_by_its_own_means(postgres: str, tmp_path: Path) -> None:
    """PostgreSQL has pg_dump; the answer says so, and names no password."""
    made = journals.on_server(postgres.replace("postgres:@", "postgres:secret@"))
    with pytest.raises(UserError, match="pg_dump") as caught:
        made.open().backup(tmp_path / "copy.db")
    assert "secret" not in str(caught.value)
    made.close()


def test_reading_changes_no_file(template: Path, tmp_path: Path) -> None:
    """A journal opened to be read is not changed, even if it lies in a folder without a log."""
    path = tmp_path / "read-only" / "journal.db"
    path.parent.mkdir()
    made = journals.in_file(tmp_path / "journal.db", template)
    store = made.open()
    store.append("r1", notes(3))
    store.backup(path)
    made.close()
    before = path.read_bytes()
    path.chmod(0o444)
    reader = open_archive(str(path), writes=False)
    assert reader.verify("r1") is None
    assert [entry.seq for entry in reader.read("r1")] == [1, 2, 3]
    reader.close()
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["journal.db"]


def test_memory_has_no_file(tmp_path: Path) -> None:
    """What is in memory can be exported, not copied."""
    store = MemoryStore()
    store.append("r1", [note(1)])
    with pytest.raises(UserError, match="export"):
        store.backup(tmp_path / "copy.db")
