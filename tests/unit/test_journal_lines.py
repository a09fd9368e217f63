"""A journal's lines are read back as they were written, or refused at the line that is wrong."""

from collections.abc import Callable

import pytest

from tidegate.journal.chain import JournalEntry, JournalNote, genesis, link
from tidegate.journal.facts import Asked, Braked, Verb
from tidegate.journal.lines import read_lines, write_lines
from tidegate.journal.pieces import Chain, Claimed, Piece, check_pieces
from tidegate.model.errors import UserError
from tidegate.model.time import Instant


def chained(name: str, count: int) -> list[Piece]:
    """A chain and its entries."""
    facts = [Braked(brake="hold", name=f"h{n}", document={"n": n, "ü": "✓"}) for n in range(count)]
    notes = [
        JournalNote(Instant(1_700_000_000_123_456_789 + n), "ada", f) for n, f in enumerate(facts)
    ]
    entries = list(link(genesis(name), 1, notes))
    last = entries[-1].hash if entries else genesis(name)
    return [Chain(name, 0, genesis(name), count, last, token=4), *entries]


CLAIM = Claimed("mutex/db", 0, "r1", "r1/7", Instant(5))
JOURNAL: list[Piece] = [*chained("r1", 3), *chained("r2", 2), CLAIM]
LINES = list(write_lines(JOURNAL))


def test_lines_are_read_back_as_they_were_written() -> None:
    """Nothing is lost on the way: moments to the nanosecond, facts to the byte."""
    assert list(read_lines(LINES)) == JOURNAL
    assert list(check_pieces(JOURNAL)) == JOURNAL


def test_an_empty_journal_is_two_lines() -> None:
    """A beginning and an end, and both are needed."""
    lines = list(write_lines([]))
    assert len(lines) == 2
    assert list(read_lines(lines)) == []


def test_lines_are_what_the_page_says() -> None:
    """The form is an interface: what stands in a line, and in which order."""
    note = JournalNote(Instant(0), "ada", Asked(verb=Verb.PAUSE))
    (entry,) = link(genesis("r1"), 1, [note])
    chain = Chain("r1", 0, genesis("r1"), 1, entry.hash)
    start, end = genesis("r1").hex(), entry.hash.hex()
    assert b"".join(write_lines([chain, entry, CLAIM])).decode().splitlines() == [
        '{"line":"journal","v":1}',
        (
            f'{{"line":"partition","name":"r1","baseSeq":0,"baseHash":"{start}",'
            f'"seq":1,"hash":"{end}","token":0}}'
        ),
        (
            '{"line":"entry","seq":1,"at":"1970-01-01T00:00:00Z","actor":"ada","kind":"asked",'
            f'"target":"","hash":"{end}","fact":{{"is":"asked","verb":"pause"}}}}'
        ),
        (
            '{"line":"claim","name":"mutex/db","place":0,"partition":"r1","key":"r1/7",'
            '"at":"1970-01-01T00:00:00.000000005Z"}'
        ),
        '{"line":"end","partitions":1,"entries":1}',
    ]


def replaced(at: int, old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    """A line with something else in it."""
    return lambda lines: [*lines[:at], lines[at].replace(old, new), *lines[at + 1 :]]


TAMPERED: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "changed": (replaced(3, b"h1", b"hx"), r"line 4: .*entry 2 was changed"),
    "another actor": (replaced(3, b"ada", b"eve"), r"line 4: .*entry 2 was changed"),
    "missing": (lambda ls: ls[:3] + ls[4:], r"line 4: partition r1: entry 2 is missing: found 3"),
    "swapped": (lambda ls: [*ls[:2], ls[3], ls[2], *ls[4:]], r"line 3: .*entry 1 is missing"),
    "twice": (lambda ls: [*ls[:3], *ls[2:]], r"line 4: .*twice or out of order"),
    "last missing": (lambda ls: ls[:4] + ls[5:], r"line 5: .*entry 3 is missing: the chain goes"),
    "too long": (replaced(1, b'"seq":3', b'"seq":2'), r"line 6: .*goes on behind entry 2"),
    "renamed": (replaced(1, b'"r1"', b'"rx"'), r"line 2: .*it was renamed"),
    "same name": (lambda ls: [*ls[:5], *ls[1:]], r"line 6: partition r1 is there twice"),
    "cut": (lambda ls: ls[:-1], r"line 10: the file ends here"),
    "cut in a line": (lambda ls: [*ls[:-1], ls[-1][:9]], r"line 10: .*truncated"),
    "nothing": (lambda _: [], r"line 1: the file ends here"),
    "after the end": (lambda ls: [*ls, ls[2]], r"line 11: a line after the last"),
    "no beginning": (lambda ls: ls[1:], r"line 1: a journal starts with"),
    "two beginnings": (lambda ls: [ls[0], *ls], r"line 2: a journal starts with"),
    "newer": (replaced(0, b'"v":1', b'"v":2'), r"line 1: a journal of version 2"),
    "miscounted": (lambda ls: [*ls[:5], ls[-1]], r"line 6: .*5 entries were exported; here are 1"),
    "no partition": (lambda ls: [ls[0], *ls[2:]], r"line 2: an entry without a partition"),
    "no JSON": (lambda _: [b"hello\n"], r"line 1: JSON is malformed"),
    "another document": (lambda _: [b'{"a": 1}\n'], r"line 1: .*`line`"),
    "no hash": (replaced(1, b'"baseHash":"', b'"baseHash":"zz'), r"line 2: non-hexadecimal"),
    "short hash": (replaced(1, b'"baseHash":"', b'"baseHash":"00'), r"line 2: a hash of 17 bytes"),
    "no moment": (replaced(2, b"2023-", b"soon-"), r"line 3: not an RFC 3339 time"),
}


@pytest.mark.parametrize("tamper, words", TAMPERED.values(), ids=list(TAMPERED))
def test_what_does_not_hold_is_refused_at_its_line(
    tamper: Callable[[list[bytes]], list[bytes]], words: str
) -> None:
    """Every way to break a file is noticed, and the line is named."""
    with pytest.raises(UserError, match=words):
        list(read_lines(tamper(LINES)))


def test_pieces_are_given_out_only_as_far_as_they_hold() -> None:
    """Whatever came out before the error is good."""
    tampered = replaced(3, b"h1", b"hx")(LINES)
    reading = read_lines(tampered)
    assert [next(reading) for _ in range(2)] == JOURNAL[:2]
    with pytest.raises(UserError):
        next(reading)


def test_pieces_without_lines_are_checked_too() -> None:
    """A journal that is moved from database to database is held to the same."""
    without = [
        piece for piece in JOURNAL if not (isinstance(piece, JournalEntry) and piece.seq == 2)
    ]
    with pytest.raises(UserError, match="entry 2 is missing"):
        list(check_pieces(without))
    with pytest.raises(UserError, match="entry 3 is missing"):
        list(check_pieces(JOURNAL[:3]))
