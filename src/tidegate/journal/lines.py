"""A journal as JSON lines: every chain with its entries, then the claims, then a line that ends it.

    {"line":"journal","v":1}
    {"line":"partition","name":"r12","baseSeq":0,"baseHash":"…","seq":2,"hash":"…","token":3}
    {"line":"entry","seq":1,"at":"2026-01-31T12:00:00Z","actor":"ada","kind":"asked","target":"",
     "hash":"…","fact":{"is":"asked","verb":"pause"}}
    {"line":"claim","name":"mutex/db","place":0,"partition":"r12","key":"r12/7","at":"…"}
    {"line":"end","partitions":1,"entries":2}

The chain is checked while it is read: what comes out of `read_lines` holds. A fact is kept byte for
byte, since its hash is over its bytes; a file whose lines were formatted anew no longer holds. The
last line shows whether a file is complete.
"""

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.journal.chain import HASH_BYTES, JournalEntry
from tidegate.journal.pieces import Chain, Claimed, JournalCursor, Piece
from tidegate.model.errors import UserError
from tidegate.model.json_text import json_decoder
from tidegate.model.problem import Problem
from tidegate.model.time import format_instant, parse_instant

VERSION = 1


class _Line(msgspec.Struct, frozen=True, rename="camel", tag_field="line"):
    """A line; the field `line` says which."""


class _Journal(_Line, frozen=True, tag="journal"):
    v: int


class _Partition(_Line, frozen=True, tag="partition"):
    name: str
    base_seq: int
    base_hash: str
    seq: int
    hash: str
    token: int


class _Entry(_Line, frozen=True, tag="entry"):
    seq: int
    at: str
    actor: str
    kind: str
    target: str
    hash: str
    fact: msgspec.Raw


class _Claim(_Line, frozen=True, tag="claim"):
    name: str
    place: int
    partition: str
    key: str
    at: str


class _End(_Line, frozen=True, tag="end"):
    partitions: int
    entries: int


_AnyLine = _Journal | _Partition | _Entry | _Claim | _End
_encode = msgspec.json.Encoder().encode
_decode = json_decoder(_AnyLine)


def write_lines(pieces: Iterable[Piece]) -> Iterator[bytes]:
    """The lines of a journal, each with its newline."""
    partitions = entries = 0
    yield _encode(_Journal(VERSION)) + b"\n"
    for piece in pieces:
        partitions += isinstance(piece, Chain)
        entries += isinstance(piece, JournalEntry)
        yield _encode(_line(piece)) + b"\n"
    yield _encode(_End(partitions, entries)) + b"\n"


def _line(piece: Piece) -> _AnyLine:
    if isinstance(piece, JournalEntry):
        e = piece
        moment, fact = format_instant(e.at), msgspec.Raw(e.body)
        return _Entry(e.seq, moment, e.actor, e.kind, e.target, e.hash.hex(), fact)
    if isinstance(piece, Chain):
        base, head = piece.base_hash.hex(), piece.hash.hex()
        return _Partition(piece.partition, piece.base_seq, base, piece.seq, head, piece.token)
    moment = format_instant(piece.at)
    return _Claim(piece.name, piece.place, piece.partition, piece.key, moment)


def read_lines(lines: Iterable[bytes]) -> Iterator[Piece]:
    """The pieces of a journal; UserError with the line where it is broken, cut or no journal."""
    reader = _Reader()
    number = 0
    for number, raw in enumerate(lines, start=1):
        try:
            piece = reader.take(_decode(raw))
        except ValueError as error:  # msgspec's errors are ValueErrors too
            raise _refused(number, str(error)) from None
        if piece is not None:
            yield piece
    if not reader.ended:
        raise _refused(number + 1, "the file ends here without its last line")


def _refused(number: int, message: str) -> UserError:
    return UserError((Problem(f"line {number}", message, "nothing was imported"),))


class _Reader:
    """Which line may come next."""

    def __init__(self) -> None:
        self._course = JournalCursor()
        self._begun = False
        self.ended = False

    def take(self, line: _AnyLine) -> Piece | None:
        """The piece in a line, None if it is about the file; ValueError if not allowed here."""
        if self.ended:
            raise ValueError("a line after the last one")
        if isinstance(line, _Journal) == self._begun:
            raise ValueError('a journal starts with one line {"line":"journal"}')
        if isinstance(line, _Journal):
            self._begin(line)
            return None
        if isinstance(line, _End):
            self._end(line)
            return None
        piece = _piece(line)
        self._course.take(piece)
        return piece

    def _begin(self, line: _Journal) -> None:
        if line.v != VERSION:
            raise ValueError(f"a journal of version {line.v}; this Tidegate reads {VERSION}")
        self._begun = True

    def _end(self, line: _End) -> None:
        self._course.close()
        seen = len(self._course.partitions), self._course.entries
        if (line.partitions, line.entries) != seen:
            written = f"{line.partitions} partitions with {line.entries} entries"
            raise ValueError(f"{written} were exported; here are {seen[0]} with {seen[1]}")
        self.ended = True


def _piece(line: _Partition | _Entry | _Claim) -> Piece:
    if isinstance(line, _Entry):
        at, body = parse_instant(line.at), bytes(line.fact)
        return JournalEntry(
            line.seq, at, line.actor, line.kind, line.target, body, _hash(line.hash)
        )
    if isinstance(line, _Partition):
        base, head = _hash(line.base_hash), _hash(line.hash)
        return Chain(line.name, line.base_seq, base, line.seq, head, line.token)
    return Claimed(line.name, line.place, line.partition, line.key, parse_instant(line.at))


def _hash(text: str) -> bytes:
    raw = bytes.fromhex(text)
    if len(raw) != HASH_BYTES:
        raise ValueError(f"a hash of {len(raw)} bytes, not {HASH_BYTES}")
    return raw
