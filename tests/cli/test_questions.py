"""What asks first, says what follows, and what it does where there is no one to ask."""

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import click
import pytest

from tests.cli.test_setting_brakes import staged, tidegate
from tests.engine.stage import PARTITION, Process, Stage
from tidegate.cli import prompt
from tidegate.cli.question_table import QUESTIONS, READS
from tidegate.model.time import SECOND, Instant

ROOT = Path(__file__).parents[2]


def moved_on(folder: Path, rounds: int = 4) -> Stage:
    """The demo as a worker has it after some rounds: a is done, b, c and d are in progress."""
    stage = staged(folder)
    stage.clock.at = Instant(stage.clock.at - rounds * 300 * SECOND)
    process = Process(stage)
    for _ in range(rounds):
        asyncio.run(process.round())
        stage.clock.at = Instant(stage.clock.at + 300 * SECOND)
    return stage


def test_abort_needs_yes_where_there_is_no_terminal(tmp_path: Path) -> None:
    """It says what would follow, changes nothing, and exits 2."""
    moved_on(tmp_path)
    before = tidegate(tmp_path, "journal", "verify").stdout
    done = tidegate(tmp_path, "abort", "demo")
    assert done.returncode == 2
    assert "rolls back 1 target in canary, 3 targets in prod to v1" in done.stderr
    assert "There is no terminal to ask; write --yes" in done.stderr
    assert tidegate(tmp_path, "journal", "verify").stdout == before
    assert tidegate(tmp_path, "abort", "demo", "--yes").stdout == f"aborted {PARTITION}\n"


def test_abort_asks_even_about_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal; "no" changes nothing."""
    moved_on(tmp_path, rounds=1)
    monkeypatch.setattr(prompt, "is_interactive", lambda: True)
    before = tidegate(tmp_path, "journal", "verify").stdout
    done = tidegate(tmp_path, "abort", "demo")  # its answer is the end of the input
    assert done.returncode != 0
    assert "Continue? [y/N]" in done.stderr
    assert tidegate(tmp_path, "journal", "verify").stdout == before


def test_retry_says_what_begins_again(tmp_path: Path) -> None:
    """Few targets are not asked about; what follows is said."""
    moved_on(tmp_path)
    done = tidegate(tmp_path, "retry", "demo")
    assert done.returncode == 0, done.stderr
    assert "starts 1 target in canary at once" in done.stderr


@pytest.mark.parametrize("reach, yes, free", [(6, False, 5), (1, False, 0), (0, False, -1)])
def test_what_would_ask_is_refused_without_a_terminal(reach: int, yes: bool, free: int) -> None:
    """Unless it only stops things."""
    with pytest.raises(click.UsageError, match="write --yes"):
        prompt.asked_about("Continue?", reach, yes, free)
    assert not prompt.asked_about("Continue?", reach, True, free)
    assert not prompt.asked_about("Continue?", reach, yes, free, stops=True)
    assert not prompt.asked_about("Continue?", free, yes, free)


def test_a_brake_is_set_without_a_terminal(tmp_path: Path) -> None:
    """However much it covers: an emergency brake does not fail for want of an answer."""
    moved_on(tmp_path)
    hold = ("hold", "add", "x", "--everything", "--reason", "r")
    assert tidegate(tmp_path, *hold).returncode == 0


def test_compacting_needs_yes(tmp_path: Path) -> None:
    """What is dropped is gone."""
    moved_on(tmp_path)
    done = tidegate(tmp_path, "journal", "compact", "--keep", "0s")
    assert done.returncode == 2, done.stdout
    assert "go for good" in done.stderr
    assert "write --yes" in done.stderr


def generate() -> ModuleType:
    """docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_is_classified() -> None:
    """One that changes something is in the table of questions; all others change nothing."""
    pages = generate()
    found: dict[str, click.Command] = {}
    for context in pages.walk(pages.root_context()):
        group = isinstance(context.command, click.Group)
        if not group or context.command.invoke_without_command:
            name = context.command_path.removeprefix("tidegate ")
            found[name] = context.command
    assert set(found) == set(QUESTIONS) | READS
    assert not set(QUESTIONS) & READS


def test_what_may_ask_takes_yes() -> None:
    """A command has --yes if, and only if, it may ask."""
    pages = generate()
    for context in pages.walk(pages.root_context()):
        name = context.command_path.removeprefix("tidegate ")
        if name in QUESTIONS:
            takes = any("--yes" in each.opts for each in context.command.params)
            assert takes == (QUESTIONS[name].asks != "never"), name
