"""What asks first, says what follows, and what it does where there is no one to ask."""

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import click
import pytest

from tests.cli.test_setting_brakes import staged, tidegate
from tests.engine.stage import PARTITION, Process, Stage, Tripwire, set_up
from tidegate.cli import prompt
from tidegate.cli.question_table import QUESTIONS, READS
from tidegate.journal.facts import Mode
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Instant
from tidegate.wiring import open_store

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


MANY: dict[str, object] = {
    "revision": "v2",
    "groups": [{"name": "prod", "clusters": list("abcdefgh")}],
    "strategy": {"type": "Progressive", "progressive": {"maxConcurrency": 2}},
    "fleet": {"applyTime": "10m"},
}


def braked(folder: Path, *brake: str) -> None:
    """Eight targets, two at a time, under a brake that a person set."""
    stage = set_up(open_store(str(folder / "tidegate.db")), Tripwire(), MANY)
    stage.clock.at = SystemClock().now()
    asyncio.run(Process(stage).round(Mode.OBSERVE))
    done = tidegate(folder, *brake, "--reason", "r")
    assert done.returncode == 0, done.stderr


LIFTS = [
    (("hold", "add", "x", "--everything"), ("hold", "remove", "x"), "hold x"),
    (("block", "add", "v2"), ("block", "remove", "v2"), "block v2"),
    (("pin", *"abcdefgh"), ("unpin", "a"), "pin a"),
    (
        ("freeze", "add", "f", "--everything", "--from", "2020-01-01T00:00:00Z", "--to",
         "2090-01-01T00:00:00Z"),
        ("freeze", "remove", "f"),
        "freeze f",
    ),
    (
        ("freeze", "add", "f", "--everything", "--from", "2020-01-01T00:00:00Z", "--to",
         "2090-01-01T00:00:00Z"),
        ("freeze", "exempt", "f", "--everything", "--until", "1h", "--reason", "fix"),
        "freeze f",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    "brake, lift, name", LIFTS, ids=[" ".join(each[:2]) for _, each, _ in LIFTS]
)
def test_a_brake_is_not_lifted_without_an_answer_where_much_starts_by_it(
    tmp_path: Path, brake: tuple[str, ...], lift: tuple[str, ...], name: str
) -> None:
    """Without a terminal it says what would follow, changes nothing, and exits 2."""
    braked(tmp_path, *brake)
    before = tidegate(tmp_path, "journal", "verify").stdout
    done = tidegate(tmp_path, *lift)
    assert done.returncode == 2, done.stdout
    assert f"{PARTITION}: starts 2 targets in prod at once" in done.stderr
    assert f"8 targets in 1 rollout no longer held by {name}\n" in done.stderr
    assert "There is no terminal to ask; write --yes" in done.stderr
    assert tidegate(tmp_path, "journal", "verify").stdout == before
    assert tidegate(tmp_path, *lift, "--yes").returncode == 0


def test_a_brake_is_lifted_unasked_where_nothing_starts_by_it(tmp_path: Path) -> None:
    """Another one still holds everything: one that is left says so, the last one asks."""
    braked(tmp_path, "hold", "add", "x", "--everything")
    assert tidegate(tmp_path, "hold", "add", "y", "--everything", "--reason", "r").returncode == 0
    first = tidegate(tmp_path, "hold", "remove", "x")
    assert (first.returncode, "starts" in first.stderr) == (0, False)
    assert tidegate(tmp_path, "hold", "remove", "y").returncode == 2


def test_a_brake_is_not_replaced_by_a_narrower_one_without_an_answer(tmp_path: Path) -> None:
    """It stops less than before, so it is a brake that is lifted."""
    braked(tmp_path, "hold", "add", "x", "--everything")
    narrower = ("hold", "add", "x", "--target", "a", "--replace", "--reason", "r")
    done = tidegate(tmp_path, *narrower)
    assert done.returncode == 2, done.stdout
    assert "starts 2 targets in prod at once" in done.stderr
    assert tidegate(tmp_path, *narrower, "--yes").returncode == 0
    wider = ("hold", "add", "x", "--everything", "--replace", "--reason", "r")
    assert tidegate(tmp_path, *wider).returncode == 0


def test_few_targets_are_not_asked_about_but_named(tmp_path: Path) -> None:
    """As for approvals: what follows is said, and done."""
    moved_on(tmp_path, rounds=1)
    assert tidegate(tmp_path, "hold", "add", "x", "--everything", "--reason", "r").returncode == 0
    asyncio.run(Process(staged(tmp_path)).round())
    done = tidegate(tmp_path, "hold", "remove", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("hold x is lifted")


def test_what_is_expedited_no_more_is_not_asked_about(tmp_path: Path) -> None:
    """Less starts then, whatever goes out."""
    expedite = ("upgrades", "expedite", "add", "v2", "--everything", "--until", "2d", "--yes")
    braked(tmp_path, *expedite)
    done = tidegate(tmp_path, "upgrades", "expedite", "remove", "v2")
    assert done.returncode == 0, done.stderr


def test_lifting_asks_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "No" changes nothing."""
    braked(tmp_path, "hold", "add", "x", "--everything")
    monkeypatch.setattr(prompt, "is_interactive", lambda: True)
    before = tidegate(tmp_path, "journal", "verify").stdout
    done = tidegate(tmp_path, "hold", "remove", "x")  # its answer is the end of the input
    assert done.returncode != 0
    assert "Continue? [y/N]" in done.stderr
    assert tidegate(tmp_path, "journal", "verify").stdout == before


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
    assert set(generate().commands()) == set(QUESTIONS) | READS
    assert not set(QUESTIONS) & READS


def test_what_may_ask_takes_yes() -> None:
    """A command has --yes if, and only if, it may ask."""
    pages = generate()
    for context in pages.walk(pages.root_context()):
        name = context.command_path.removeprefix("tidegate ")
        if name in QUESTIONS:
            takes = any("--yes" in each.opts for each in context.command.params)
            assert takes == (QUESTIONS[name].asks != "never"), name
