"""Structured lines: JSON for machines, one readable line for people, the same keys in both.

Every line has `ts`, `level`, `msg` and what it is about (`rollout`, `target`); a decision has the
gate, the reason and the moment as well. The message of a decision is the sentence `why` prints.
A record may say `at` when it happened; otherwise it is stamped when it is rendered.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from tidegate.machine.clock import Clock
from tidegate.model.time import MILLISECOND, SECOND, Instant, format_instant
from tidegate.telemetry.lines import Lines, Write

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_COLOURS = {"warning": "\x1b[33m", "error": "\x1b[31m"}
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
# What would end a line, move the cursor or change a colour: outside systems choose their words.
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# Keys for machines: people have the sentence.
_UNSEEN = frozenset(("what", "outcome", "opens", "key", "action", "version", "leads", "listen"))

# A line to be: its level, its message and its keys.
Record = tuple[str, str, dict[str, Any]]
Say = Callable[..., None]
# A line from its moment, level, message and keys.
Render = Callable[[str, str, str, dict[str, Any]], bytes]


class Log:
    """Where everything that runs says what happens. Nothing here waits."""

    def __init__(
        self, clock: Clock, write: Write, *, human: bool, level: str = "info", colour: bool = False
    ) -> None:
        self._least = LEVELS[level]
        self._people = human
        self._clock = clock
        self._render: Render = _human(colour) if human else _json
        self._write = write
        self._lines = Lines(
            write, lambda count: self._line(("warning", f"{count} lines of this log are lost", {}))
        )

    @property
    def dropped(self) -> int:
        """How many pieces of work were never written."""
        return self._lines.dropped

    def say(self, level: str, msg: str, **keys: Any) -> None:
        """One line."""
        if LEVELS[level] >= self._least:
            line = self._line((level, msg, keys))
            self._lines.put(lambda: (line,))

    def at_once(self, level: str, msg: str, **keys: Any) -> None:
        """One line that is written before this returns: the process may be about to end."""
        self._write(self._line((level, msg, keys)))

    def later(self, records: Callable[[], Iterable[Record]]) -> None:
        """Many lines, worked out in the thread that writes them."""
        self._lines.put(lambda: self._rendered(records()))

    def adopt(self, *names: str) -> None:
        """Take in the warnings of libraries that log in Python's own way."""
        for name in names:
            logger = logging.getLogger(name)
            logger.addHandler(_Forwarding(self))
            logger.setLevel(logging.WARNING)
            logger.propagate = False

    def close(self) -> None:
        """Write what is still to be written."""
        self._lines.close()

    def _rendered(self, records: Iterable[Record]) -> Iterator[bytes]:
        wanted = (record for record in records if LEVELS[record[0]] >= self._least)
        return map(self._line, _joined(wanted) if self._people else wanted)

    def _line(self, record: Record) -> bytes:
        level, msg, keys = record
        at = keys.get("at")
        stamp = _ts(self._clock.now() if at is None else at)
        rest = {key: value for key, value in keys.items() if key != "at"}
        return self._render(stamp, level, msg, rest)


class _Forwarding(logging.Handler):
    """Hands the records of Python's own logging on."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """One record, as one line."""
        keys = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            keys["error"] = repr(record.exc_info[1])
        level = "error" if record.levelno >= logging.ERROR else "warning"
        self._log.say(level, record.getMessage(), **keys)


def _joined(records: Iterable[Record]) -> Iterator[Record]:
    """For people: what is true of many targets in a row is said once."""

    def sameness(record: Record) -> tuple[object, ...]:
        level, msg, keys = record
        return level, msg, *(pair for pair in keys.items() if pair[0] != "target")

    for _, alike in groupby(records, sameness):
        first, *others = alike
        if others and "target" in first[2]:
            level, msg, keys = first
            yield level, msg, keys | {"target": f"{keys['target']} and {len(others)} more"}
        else:
            yield from (first, *others)


def _ts(at: Instant) -> str:
    """A moment to the millisecond, always of one length, so that lines can be sorted."""
    below = at % SECOND
    return f"{format_instant(at - below)[:-1]}.{below // MILLISECOND:03d}Z"


def _json(ts: str, level: str, msg: str, keys: dict[str, Any]) -> bytes:
    head = {"ts": ts, "level": level, "msg": msg}
    return msgspec.json.encode(head | keys, enc_hook=str) + b"\n"


def _human(colour: bool) -> Render:
    def render(ts: str, level: str, msg: str, keys: dict[str, Any]) -> bytes:
        about = [str(keys.pop(key)) for key in ("rollout", "target") if key in keys]
        parts = [ts[11:19], *([level.upper()] if level != "info" else []), *about, msg]
        rest = " ".join(
            f"{key}={_bare(value)}" for key, value in keys.items() if key not in _UNSEEN
        )
        line, rest = _BREAKS.sub(" ", "  ".join(parts)), _BREAKS.sub(" ", rest)
        if not colour:
            return f"{line}  {rest}".rstrip().encode() + b"\n"
        tail = f"  {_DIM}{rest}{_PLAIN}" if rest else ""
        return f"{_COLOURS.get(level, '')}{line}{_PLAIN}{tail}\n".encode()

    return render


def _bare(value: object) -> str:
    """A value for people: a text as it is, quoted where it has blanks."""
    if isinstance(value, str) and value and " " not in value:
        return value
    return msgspec.json.encode(value, enc_hook=str).decode()
