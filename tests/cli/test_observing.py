"""What a process says of itself: whether it is well, and what it lacks to be ready."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.engine.stage import VirtualClock
from tidegate.engine.vitals import Vitals
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import Instant
from tidegate.telemetry.kind import KindTelemetry
from tidegate.telemetry.log import Log
from tidegate.telemetry.observer import BEAT_LATE_S, JOURNAL_SILENT_S, Observer

WELL = Vitals(
    led=frozenset(),
    running=frozenset(),
    waiting=0,
    under_way=0,
    behind=0,
    discovered=True,
    journal_at=0.0,
)


class Watched:
    """An observer, what it logged, and the vitals it is shown."""

    def __init__(self, **changed: Any) -> None:
        self.loop = asyncio.get_running_loop()
        self.vitals = replace(WELL, journal_at=self.loop.time(), **changed)
        self.lines: list[bytes] = []
        clock = VirtualClock(Instant(0))
        self.log = Log(clock, self.lines.append, human=False)
        self.observer = Observer(
            self.log, clock, "1", lambda: self.vitals, lambda _: KindTelemetry()
        )


def test_it_is_ready_when_nothing_is_missing() -> None:
    """The journal answers, rollouts were looked for, and it was not asked to stop."""

    async def look() -> list[str]:
        return Watched().observer.missing()

    assert asyncio.run(look()) == []


def test_everything_that_is_missing_is_named() -> None:
    """All at once, each in words."""

    async def look() -> list[str]:
        watched = Watched()
        watched.vitals = replace(watched.vitals, discovered=False, journal_at=None)
        watched.observer.stopping = True
        return watched.observer.missing()

    assert asyncio.run(look()) == [
        "stopping",
        "the journal was not read yet",
        "partitions were not discovered yet",
    ]


def test_a_journal_that_falls_silent_is_missed() -> None:
    """It answered once; for how long it has not is said."""

    async def look() -> list[str]:
        watched = Watched()
        silent = watched.loop.time() - JOURNAL_SILENT_S - 5
        watched.vitals = replace(watched.vitals, journal_at=silent)
        return watched.observer.missing()

    assert asyncio.run(look()) == ["the journal has not answered for 15 s"]


def test_a_loop_that_is_late_is_ill_and_recovers() -> None:
    """A heartbeat long overdue is an illness; the next one in time ends it."""

    async def look() -> tuple[list[str], list[str]]:
        observer = Watched().observer
        observer._beat_at = observer._loop.time() - BEAT_LATE_S - 10
        ill = observer.ill()
        observer._beat_at = observer._loop.time()
        return ill, observer.ill()

    ill, well = asyncio.run(look())
    assert ill == ["the event loop is 24 s late"]
    assert well == []


@pytest.mark.parametrize(
    "error, word, level",
    [
        (OutsideError("no"), "outside", b"warning"),
        (StaleError("gone"), "stale", b"info"),
        (TimeoutError(), "timeout", b"warning"),
        (OSError("disk"), "system", b"warning"),
    ],
)
def test_an_error_is_a_line_and_a_number(error: Exception, word: str, level: bytes) -> None:
    """By who must act; that the world moved on is no failure."""

    async def look() -> tuple[bytes, bytes]:
        watched = Watched()
        watched.observer.report("simulated/x", error)
        watched.log.close()
        return b"".join(watched.lines), watched.observer.metrics.text()

    line, numbers = asyncio.run(look())
    assert f'"error":"{word}"'.encode() in line
    assert b"TimeoutError" not in line
    assert b'"level":"' + level in line
    assert f'tidegate_errors_total{{error="{word}",kind="simulated"}} 1.0'.encode() in numbers
