"""A writer to be killed, and what has to be true of its journal afterwards.

The writer acknowledges on stdout whatever the store acknowledged to it. It hands one mutex on from
batch to batch and compacts now and then, so that a journal half written would show: as a batch
without its end, as a mutex of the wrong batch, as a chain that does not hold.
"""

import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import IO

import msgspec

from tests.forked import Forked
from tidegate.journal.chain import JournalEntry, JournalNote
from tidegate.journal.facts import Acted, Folded, TaskOutcome
from tidegate.model.time import Instant
from tidegate.store.archive_port import Archive
from tidegate.store.client.database_address import open_archive
from tidegate.store.port import Head, TakenPlace

PARTITION = "r1"
# A batch of each size is written now and then; the largest take several pages of the log.
SIZES = (1, 2, 7, 40, 300)
COMPACT_EVERY, KEEP = 23, 400
# How long a writer lives: from its first word to the middle of its work.
LIFE_MAX_S = 0.4


class Said(msgspec.Struct):
    """What was acknowledged to a writer is on disk: the end of its chain."""

    seq: int
    hash: str


def write(store: Archive, say: IO[str]) -> None:
    """Write batch after batch until it is ended."""
    head = store.head(PARTITION)
    batch = max((batch_of(entry) for entry in store.read(PARTITION)), default=0)
    while True:
        batch += 1
        mutex = TakenPlace("mutex/db", 0, PARTITION, str(batch), Instant(batch))
        notes = [one_note(batch, at) for at in range(size_of(batch))]
        head = store.append(PARTITION, notes, after=head, claims=[mutex], frees=[str(batch - 1)])
        say.write(msgspec.json.encode(Said(head.seq, head.hash.hex())).decode() + "\n")
        say.flush()
        if batch % COMPACT_EVERY == 0:
            head = compact(store, head, batch)


def one_note(batch: int, at: int) -> JournalNote:
    """One of the facts of a batch."""
    fact = Acted(key=f"{batch}/{at}", target=str(batch), outcome=TaskOutcome.DONE, detail="x" * at)
    return JournalNote(Instant(batch), "writer", fact)


def compact(store: Archive, head: Head, batch: int) -> Head:
    """Drop what is old; the state keeps the number of the batch."""
    state = Folded(state=msgspec.Raw(str(batch).encode()), facts=head.seq)
    note = JournalNote(Instant(batch), "writer", state)
    return store.compact(PARTITION, note, keep_after=max(0, head.seq - KEEP), after=head)


def size_of(batch: int) -> int:
    """How many facts a batch has."""
    return SIZES[batch % len(SIZES)]


def batch_of(entry: JournalEntry) -> int:
    """The batch that an entry belongs to; a state belongs to none."""
    return int(entry.target) if entry.kind == "acted" else 0


def kill_a_writer(path: Path, rng: random.Random) -> list[Said]:
    """Let a writer write, kill it at some moment, and return what was acknowledged to it."""
    command = [sys.executable, "-m", "tests.contract.crash", str(path)]
    with Forked[str](command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        try:
            writer.wait(rng.uniform(0, LIFE_MAX_S))
        except subprocess.TimeoutExpired:
            writer.send_signal(signal.SIGKILL)
        # A line that was cut is one that was not said.
        said = [first, *writer.stdout]
    assert writer.returncode == -signal.SIGKILL, "the writer ended by itself"
    return [msgspec.json.decode(line, type=Said) for line in said if line.endswith("\n")]


def check(path: Path, said: list[Said]) -> int:
    """Everything acknowledged is there, nothing is half there; how many entries there are."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    store = open_archive(str(path), writes=True)
    try:
        assert store.verify(PARTITION) is None
        entries = list(store.read(PARTITION))
        _check_acknowledged(entries, said)
        _check_whole(entries, store.claims())
        return store.head(PARTITION).seq
    finally:
        store.close()


def _check_acknowledged(entries: list[JournalEntry], said: list[Said]) -> None:
    assert entries[-1].seq >= said[-1].seq, "an acknowledged entry is lost"
    hashes = {entry.seq: entry.hash.hex() for entry in entries}
    for each in said:
        assert hashes.get(each.seq, each.hash) == each.hash, f"entry {each.seq} is another one"
    beyond = {batch_of(entry) for entry in entries if entry.seq > said[-1].seq}
    assert len(beyond - {0}) <= 1, "more than one batch was written without being acknowledged"


def _check_whole(entries: list[JournalEntry], claims: list[TakenPlace]) -> None:
    last = max(batch_of(entry) for entry in entries)
    found = sum(batch_of(entry) == last for entry in entries)
    assert found == size_of(last), f"batch {last} is half there"
    assert [claim.key for claim in claims] == [str(last)], "the mutex is another batch's"


if __name__ == "__main__":
    write(open_archive(sys.argv[1], writes=True), sys.stdout)
