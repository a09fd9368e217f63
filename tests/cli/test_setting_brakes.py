"""Setting and lifting brakes, and answering gates, as people do it: on a journal, by commands."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests import command
from tests.engine.stage import PARTITION, Process, Stage, Tripwire, set_up
from tidegate.engine.brakes.book import BrakeBook
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Instant
from tidegate.settings.brake_file import BrakeFile
from tidegate.store.port import TakenPlace
from tidegate.wiring import open_store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a journal in it: the demo, with a in flight."""
    stage = staged(tmp_path)
    asyncio.run(Process(stage).round())
    return tmp_path


def staged(folder: Path) -> Stage:
    """The demo at this very moment, on the journal of a folder."""
    stage = set_up(open_store(str(folder / "tidegate.db")), Tripwire())
    stage.clock.at = SystemClock().now()
    return stage


def tidegate(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder."""
    clean = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CI")}
    return command.tidegate(*args, cwd=folder, env=clean)


def test_a_hold_says_what_it_reaches_and_then_holds(folder: Path) -> None:
    """Before: how many start from now, and what finishes. After: why, status and get say it."""
    done = tidegate(folder, "hold", "add", "inc", "--everything", "--reason", "incident 42")
    assert done.returncode == 0, done.stderr
    assert "nothing new will start; 1 target in progress will finish" in done.stderr
    assert "Holds 3 waiting targets in 1 rollout; 1 target in progress will finish" in done.stderr
    assert done.stdout.startswith("hold inc is on: binds 1 rollout, led by worker worker-1 (last")
    assert "hold inc: incident 42" in tidegate(folder, "why", "b").stdout
    table = tidegate(folder, "status").stdout
    assert table.splitlines()[1].split() == ["simulated", "1", "1", "3", "0", "0", "3", "0"]
    held = json.loads(tidegate(folder, "get", "holds", "-o", "json").stdout)["items"]
    assert [(item["name"], item["reason"], item["inForce"]) for item in held] == [
        ("inc", "incident 42", True)
    ]
    lifted = tidegate(folder, "hold", "remove", "inc")
    assert lifted.stdout.startswith("hold inc is lifted")
    assert "hold inc" not in tidegate(folder, "why", "b").stdout
    assert "no holds" in tidegate(folder, "get", "holds").stderr


def test_a_brake_binds_any_leader(folder: Path) -> None:
    """Set by the command, respected by the next round: the canary is done, and nothing follows."""
    tidegate(folder, "hold", "add", "inc", "-l", "!canary", "--reason", "incident 42")
    stage = staged(folder)
    stage.clock.at = Instant(stage.clock.at + 3600 * SECOND)
    asyncio.run(Process(stage).round())
    assert not stage.fleet.done


@pytest.mark.parametrize(
    "args, words",
    [
        (("hold", "add", "x", "--reason", "r"), "Specify a scope"),
        (("hold", "add", "x", "--everything"), "Missing option '--reason'"),
        (("hold", "add", "x", "--kind", "upgrade", "--reason", "r"), 'did you mean "upgrades"?'),
        (("hold", "add", "x", "-l", "a b", "--reason", "r"), '"a b" is not a requirement'),
        (("hold", "add", "x", "-l", "", "--reason", "r"), "-l: is empty"),
        (
            ("hold", "add", "x", "--everything", "--reason", "r", "--expires", "soon"),
            "neither a duration nor a time",
        ),
        (
            (
                "hold",
                "add",
                "x",
                "--everything",
                "--reason",
                "r",
                "--expires",
                "2020-01-01T00:00:00Z",
            ),
            "is past",
        ),
        (
            ("hold", "add", "x", "--everything", "--target", "a", "--reason", "r"),
            "write one of them",
        ),
        (("hold", "remove", "x"), 'no hold "x"; there are none'),
        (("freeze", "add", "x", "--everything", "--reason", "r"), "from: missing"),
        (("freeze", "exempt", "x", "--target", "a", "--until", "1h", "--reason", "r"), "no freeze"),
        (("hodl", "add"), 'no command "hodl"; did you mean "hold"?'),
        (("hold", "ad"), 'no command "ad"; did you mean "add"?'),
        (("approve", "demo"), "--group NAME or --gate NAME"),
        (("approve", "demo", "--gate", "board"), 'no approval gate "board"'),
        (("get", "holds", "x"), 'no hold "x"'),
        (("why", "bb"), 'no rollout or target "bb"'),
    ],
)
def test_mistakes_exit_2_and_change_nothing(
    folder: Path, args: tuple[str, ...], words: str
) -> None:
    """What is wrong, with the value and what to write; the journal of brakes stays empty."""
    done = tidegate(folder, *args)
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert "brakes" not in tidegate(folder, "journal", "verify").stdout


def test_a_name_is_set_anew_only_when_asked(folder: Path) -> None:
    """Two people with one name do not overwrite each other unawares."""
    hold = ("hold", "add", "inc", "--everything", "--reason")
    assert tidegate(folder, *hold, "first").returncode == 0
    again = tidegate(folder, *hold, "second")
    assert again.returncode == 2
    assert "is on already" in again.stderr
    assert tidegate(folder, *hold, "second", "--replace").stdout.startswith(
        "hold inc is replaced: "
    )
    assert "second" in tidegate(folder, "get", "holds").stdout


def test_a_freeze_shows_its_times_and_takes_exceptions(folder: Path) -> None:
    """The times to come are shown; an exception lets its target pass."""
    times = ("--from", "2020-01-01T00:00:00Z", "--to", "2099-01-01T00:00:00Z")
    add = ("freeze", "add", "f", "--everything", *times, "--reason", "quiet")
    done = tidegate(folder, *add)
    assert "frozen from now to 2099-01-01T00:00:00Z" in done.stderr
    assert "simulated/demo: 3 waiting, 1 in progress" in done.stderr
    assert "freeze f: quiet" in tidegate(folder, "why", "b").stdout
    exempt = ("freeze", "exempt", "f", "--target", "b", "--until", "1h", "--reason", "fix")
    assert tidegate(folder, *exempt).returncode == 0
    assert "✓ freeze" in tidegate(folder, "why", "b").stdout
    assert "… freeze" in tidegate(folder, "why", "c").stdout
    assert tidegate(folder, "freeze", "remove", "f").returncode == 0


def test_a_freeze_that_begins_later_is_scheduled(folder: Path) -> None:
    """It is not on yet: the answer says when it will be, and that a past one has no effect."""
    add = ("freeze", "add", "--everything", "--reason", "quiet")
    later = ("--from", "2090-12-20T17:00:00Z", "--to", "2091-01-04T07:00:00Z")
    done = tidegate(folder, *add, "year-end", *later)
    span = "2090-12-20T17:00:00Z – 2091-01-04T07:00:00Z"
    assert done.stdout.startswith(f"Freeze year-end scheduled: {span}: binds 1 rollout, led by ")
    past = ("--from", "2020-12-20T17:00:00Z", "--to", "2021-01-04T07:00:00Z")
    assert "all its times are past" in tidegate(folder, *add, "old", *past).stdout
    for name in ("year-end", "old"):
        lifted = tidegate(folder, "freeze", "remove", name).stdout
        assert lifted.startswith(f"freeze {name} is lifted; recorded ")
        assert "ago, it was not on" in lifted


def test_a_block_and_a_pin_say_whom_they_stop(folder: Path) -> None:
    """The block stops the revision under way; the pinned target stays, and nothing waits for it."""
    done = tidegate(folder, "block", "add", "v*", "--reason", "bad")
    assert "simulated/demo: stops v2: 3 waiting will not get it, 1 have it" in done.stderr
    assert "✗ block" in tidegate(folder, "why", "b").stdout
    pinned = tidegate(folder, "pin", "cluster/b", "--reason", "demo", "--expires", "2h")
    assert "1 target stays, 0 restarts" in pinned.stderr
    assert "pin b: demo" in tidegate(folder, "why", "b").stdout
    stranger = tidegate(folder, "pin", "bb", "--reason", "demo")
    assert 'no target "bb" in any rollout' in stranger.stderr
    assert tidegate(folder, "unpin", "cluster/b", "bb").returncode == 0


def test_people_answer_the_gates_of_a_file_they_do_not_have(folder: Path) -> None:
    """The gate stands in the worker's file; its journal has it for all others."""
    file = folder / "brakes.yaml"
    file.write_text(
        "approvals: [{name: board, scope: {targets: [b, c, d]}, quorum: 1}]", encoding="utf-8"
    )
    stage = staged(folder)
    stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
    book = BrakeBook(stage.store, [BrakeFile(file, must_exist=True)])
    asyncio.run(Process(stage, PARTITION, book).round())
    file.unlink()
    assert "1 approval" in tidegate(folder, "status").stdout
    assert "0 of 1" in tidegate(folder, "why", "b").stdout
    wrong = tidegate(folder, "approve", "demo", "--gate", "bored")
    assert 'did you mean "board"?' in wrong.stderr
    said = tidegate(folder, "reject", "demo", "--gate", "board", "--reason", "no")
    assert said.stdout == "rejected board for v2\n"
    assert "✗ approval" in tidegate(folder, "why", "b").stdout
    tidegate(folder, "approve", "demo", "--gate", "board", "--expires", "2h")
    assert "✓ approval" in tidegate(folder, "why", "b").stdout
    tidegate(folder, "revoke", "demo", "--gate", "board")
    assert "… approval" in tidegate(folder, "why", "b").stdout


def test_a_place_is_freed_by_hand_only_when_no_one_uses_it(folder: Path) -> None:
    """While its target is in flight it is refused; of a rollout that is gone it is freed."""
    store = open_store(str(folder / "tidegate.db"))
    now = SystemClock().now()
    store.append(
        "simulated/demo", (), claims=[TakenPlace("mutex/db", 0, PARTITION, f"{PARTITION}#9/a", now)]
    )
    store.append("gone/r", (), claims=[TakenPlace("mutex/web", 0, "gone/r", "gone/r#3/z", now)])
    store.close()
    assert "mutex/db" in tidegate(folder, "get", "claims").stdout
    refused = tidegate(folder, "free", "mutex/db", "--reason", "r")
    assert refused.returncode == 2
    assert "still in use by a" in refused.stderr
    assert (
        'did you mean "mutex/web"?' in tidegate(folder, "free", "mutex/wep", "--reason", "r").stderr
    )
    done = tidegate(folder, "free", "mutex/web", "--reason", "its rollout is gone")
    assert (done.returncode, done.stdout) == (0, "freed mutex/web\n")
    forced = tidegate(folder, "free", "mutex/db", "--reason", "r", "--force", "--yes")
    assert forced.returncode == 0
    assert "no claims" in tidegate(folder, "get", "claims").stderr
    assert "its rollout is gone" in tidegate(folder, "journal", "show", "-p", "brakes").stdout


@pytest.mark.parametrize(
    "options, words",
    [
        ("--from 2999-12-20T17:00 --to 2999-12-21T17:00Z", "with --time-zone, or"),
        ("--from 2999-12-20T17:00Z --to 2999-12-19T17:00Z", "--to: not after --from"),
        (
            "--from 2999-12-20T17:00 --to 2999-12-21T17:00 --time-zone Europe/Berlyn",
            '--time-zone: no time zone "Europe/Berlyn"',
        ),
        (
            "--from 2999-12-20T17:00+01:00 --to 2999-12-21T17:00+01:00 --rrule FREQ=WEEKLY",
            "--time-zone: missing",
        ),
        ("--from 2999-12-20T17:00Z --to 2999-12-21T17:00Z --rrule often", "--rrule: "),
        ("--to 2999-12-21T17:00Z", "--from: missing"),
    ],
)
def test_a_mistake_in_an_option_names_the_option(folder: Path, options: str, words: str) -> None:
    done = tidegate(folder, "freeze", "add", "x", "--everything", "--reason", "r", *options.split())
    assert done.returncode == 2
    assert words in done.stderr
    assert "timeZone" not in done.stderr


def test_a_freeze_takes_times_without_seconds(folder: Path) -> None:
    times = ("--from", "2999-12-20T17:00Z", "--to", "2999-12-21T17:00+01:00")
    done = tidegate(folder, "freeze", "add", "x", "--everything", "--reason", "r", *times)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(tidegate(folder, "get", "freezes", "-o", "json").stdout)["items"]
    assert "2999-12-20T17:00:00Z" in json.dumps(found)


def test_an_abort_takes_back_a_retry_that_no_worker_has_seen(folder: Path) -> None:
    """The last request wins: it was said to be aborted, and began again."""
    assert tidegate(folder, "retry", PARTITION, "--yes").returncode == 0
    assert tidegate(folder, "abort", PARTITION, "--yes").returncode == 0
    (item,) = json.loads(tidegate(folder, "get", "rollouts", "-o", "json").stdout)["items"]
    assert item["summary"] == "Aborted"
    said = tidegate(folder, "status").stdout
    assert "Action required: 1 aborted rollout" in said
    assert "failure" not in said
    again = tidegate(folder, "abort", PARTITION, "--yes")
    assert again.returncode == 2
    assert f"{PARTITION}: is aborted already; `tidegate retry {PARTITION}`" in again.stderr
