"""What a command waits for is named: which systems have not answered, and for how long."""

import io
import re
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.patience import until
from tidegate.cli.answers.place import client_of
from tidegate.cli.render import progress
from tidegate.cli.render.progress import Progress
from tidegate.cli.render.unanswered import Unanswered, told
from tidegate.model.errors import TidegateError
from tidegate.net.json_request import JsonAnswer

SOURCE = Path(__file__).parents[2] / "src" / "tidegate"


class Clock:
    """Time that passes when a test says so."""

    now_s = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def show(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Stderr is a terminal from now on, and a second is short."""
    found = Screen()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(progress, "TICK_S", 0.001)
    return found


def test_only_systems_that_have_not_answered_for_a_while_are_named() -> None:
    clock = Clock()
    found = Unanswered(clock)
    with found.asking("dead"), found.asking("slow"):
        clock.now_s = 1.0
        assert found.words() == ""
        clock.now_s = 4.0
        assert found.words() == "no answer for 4 s: dead, slow"
        with found.asking("slow"):
            pass
        assert found.words() == "no answer for 4 s: dead", "slow answered another request"
    assert found.words() == ""


def test_a_system_asked_again_after_a_failure_is_counted_from_the_first_request() -> None:
    clock = Clock()
    found = Unanswered(clock)
    with suppress(OSError), found.asking("dead"):
        clock.now_s = 11.0
        raise OSError
    assert found.words() == "", "no request is under way"
    with found.asking("dead"):
        clock.now_s = 22.0
        assert found.words() == "no answer for 22 s: dead"
    assert found.summary() == "waited 22 s for dead"


def test_many_names_fit_in_a_line() -> None:
    clock = Clock()
    found = Unanswered(clock)
    with found.asking("e"), found.asking("d"), found.asking("c"), found.asking("b"):
        clock.now_s = 9.0
        assert found.words() == "no answer for 9 s: b, c, d and 1 more"


def test_a_terminal_shows_the_wait_in_place_and_nothing_of_it_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = show(monkeypatch)
    clock = Clock()
    found = Unanswered(clock)
    with told(found, "reading clusters", 2), found.asking("prod-1"):
        clock.now_s = 5.0
        shown = "\r\x1b[Kreading clusters 0 of 2, no answer for 5 s: prod-1"
        until(lambda: shown in screen.getvalue(), "the wait is shown")
    assert screen.getvalue().endswith("\r\x1b[K")
    assert "\n" not in screen.getvalue()


def test_a_line_that_is_shown_is_cleared_once_all_have_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = show(monkeypatch)
    clock = Clock()
    found = Unanswered(clock)
    with told(found, "reading clusters"):
        with found.asking("prod-1"):
            clock.now_s = 5.0
            until(lambda: "prod-1" in screen.getvalue(), "the wait is shown")
        until(lambda: screen.getvalue().endswith("\r\x1b[K"), "it is cleared")


def test_no_line_of_progress_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = show(monkeypatch)
    monkeypatch.setenv("COLUMNS", "30")
    with Progress("reading clusters", 2, quiet_s=0.0, also=lambda: "no answer: a-long-name") as bar:
        bar.tell(1)
        assert screen.getvalue().rpartition("\r\x1b[K")[2] == "reading clusters 1 of 2, no …"


def test_without_a_terminal_one_line_at_the_end_says_what_was_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    found = Unanswered(clock)
    with told(found, "reading clusters", 2), found.asking("prod-1"), found.asking("stage-1"):
        clock.now_s = 22.0
        assert capsys.readouterr().err == ""
    assert capsys.readouterr().err == "waited 22 s for prod-1, stage-1\n"
    with told(found, "applying", 2):
        pass
    assert capsys.readouterr().err == "", "it is said once"


def test_what_takes_no_time_is_not_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    found = Unanswered(Clock())
    with told(found, "reading clusters", 1), found.asking("prod-1"):
        pass
    assert capsys.readouterr().err == ""


def test_no_command_asks_a_cluster_in_silence() -> None:
    """Each says what it waits for; only workers, which log, enter nothing for a request."""
    silent = re.compile(r"\bcluster\([^)]*\bnullcontext\b")
    folders = [SOURCE / "cli", *(SOURCE / "kinds").glob("*/cli")]
    found = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(found) > 100
    assert [str(path) for path in found if silent.search(path.read_text("utf-8"))] == []


def test_a_service_that_takes_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, for as long as it does not answer; nothing of it stays."""
    screen = show(monkeypatch)

    def answered(*_: object) -> JsonAnswer:
        shown = "\r\x1b[Kasking http://service …"
        until(lambda: screen.getvalue() == shown, "the wait is shown")
        return JsonAnswer(404, {}, b"{}")

    async def sent(*args: object) -> JsonAnswer:
        return answered(*args)

    client = client_of("http://service", "token")
    monkeypatch.setattr(client, "_sent", sent)
    with pytest.raises(TidegateError):
        client.get("/status", {})
    assert screen.getvalue().endswith("\r\x1b[K")


def test_lines_of_a_log_are_not_mixed_with_what_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The line of progress is cleared before each of them."""
    screen = show(monkeypatch)
    clock = Clock()
    found = Unanswered(clock)
    with told(found, "reading clusters") as bar, found.asking("prod-1"):
        clock.now_s = 5.0
        until(lambda: "prod-1" in screen.getvalue(), "the wait is shown")
        with bar.paused():
            assert screen.getvalue().endswith("\r\x1b[K")
