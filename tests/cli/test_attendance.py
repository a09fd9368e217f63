"""Where no worker looks, time does not go on: what is shown is as of the last look, and says so."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests import command
from tests.cli.test_setting_brakes import staged, tidegate
from tests.engine.stage import PARTITION, Process
from tidegate.app.comparison import ShadowedPartition
from tidegate.cli.look.replay import _shadow_lines
from tidegate.journal.facts import Mode
from tidegate.journal.lease import Look
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Duration, Instant, format_instant
from tidegate.wiring import open_store

HOUR = 3600 * SECOND
LOOKS = [
    ("status",),
    ("get", "rollouts"),
    ("why", PARTITION),
    ("why", "a"),
    ("show", PARTITION),
]


def ago(folder: Path, duration: int) -> Instant:
    """A worker looked once, so long ago, gave a target its change, and died."""
    stage = staged(folder)
    stage.clock.at = Instant(SystemClock().now() - duration)
    asyncio.run(Process(stage).round())
    return stage.clock.at


def lead(folder: Path, look: Look, term: int = 600 * SECOND) -> None:
    """A worker leads the demo of a folder."""
    store, now = open_store(str(folder / "tidegate.db")), SystemClock().now()
    held = store.leases()[PARTITION].lease
    store.release(held)
    assert store.lease(PARTITION, look.by, now, Duration(term), look) is not None
    store.close()


@pytest.fixture
def dead(tmp_path: Path) -> Path:
    """A folder whose worker died two hours ago; its target had an hour to answer."""
    ago(tmp_path, 2 * HOUR)
    return tmp_path


def test_status_fits_a_narrow_terminal(dead: Path) -> None:
    """Of kinds and of workers; what does not fit goes on beneath."""
    clean = {name: value for name, value in os.environ.items() if name != "CI"}
    for width in (40, 60, 80):
        done = command.tidegate("status", cwd=dead, env={**clean, "COLUMNS": str(width)})
        tables = done.stdout.partition("no worker is running")[0]
        assert {"KIND", "STOPPED", "WORKER", "ROLLOUTS"} <= set(tables.split())
        assert max(map(len, tables.splitlines())) <= width


def test_a_dead_worker_does_not_make_a_target_fail(dead: Path) -> None:
    """It was given its change a moment before: that it did not answer since, no one has seen."""
    for args in LOOKS:
        done = tidegate(dead, *args)
        assert done.returncode == 0, done.stderr
        said = done.stdout + done.stderr
        assert "Failed" not in done.stdout, args
        assert "no answer" not in said, args
        assert "retry" not in said, args
        assert "no worker is running" in said, args
        assert "2h ago" in said, args
        assert "(in " not in done.stdout, "a moment that is past is not ahead"
    counts = json.loads(tidegate(dead, "status", "-o", "json").stdout)
    assert counts["kinds"]["simulated"]["failed"] == 0
    assert counts["needs"]["failures"] == 0
    (worker,) = counts["workers"]
    assert (worker["leader"], worker["stale"]) == (None, True)
    gone = worker["gone"]
    assert gone, "it did not give its lease back"
    said = tidegate(dead, "status").stdout
    assert f"no worker is running (gone: {gone}), nothing is acted on: {PARTITION}" in said
    assert said.endswith("Action required: 1 rollout without a worker\n")


def test_dates_of_a_dead_worker_say_so(dead: Path) -> None:
    """They are those of the last look; nothing was aborted."""
    done = tidegate(dead, "when", PARTITION)
    assert done.returncode == 0, done.stderr
    assert "abort" not in done.stdout + done.stderr
    assert "no worker is running (gone: " in done.stderr
    one = done.stdout.splitlines()[1].split()[1]
    alone = tidegate(dead, "when", PARTITION, one)
    assert [line.split()[1] for line in alone.stdout.splitlines()] == ["TARGET", one]
    assert 'no target "nix" in' in tidegate(dead, "when", PARTITION, "nix").stderr
    assert "nothing is acted on: " in done.stderr
    found = json.loads(tidegate(dead, "when", PARTITION, "-o", "json").stdout)
    assert found["worker"]["stale"] is True


def test_a_moment_that_is_asked_for_is_decided_for(dead: Path) -> None:
    """`--now` is taken at its word: by then it would have failed."""
    done = tidegate(dead, "why", "a", "--now", "2999-01-01T00:00:00Z")
    assert "no answer" in done.stdout


def test_what_people_ask_since_is_shown(dead: Path) -> None:
    """A hold after the last look binds whatever starts next."""
    tidegate(dead, "hold", "add", "inc", "--everything", "--reason", "r", "--yes")
    assert "hold inc: r" in tidegate(dead, "why", "b").stdout
    assert "Action required: 1 rollout without a worker, 1 hold" in tidegate(dead, "status").stdout


def test_a_worker_that_sees_nothing_is_in_action_required(tmp_path: Path) -> None:
    """Rules that cannot be read, mid-way: it leads, and says why it sees nothing."""
    at = ago(tmp_path, 2 * HOUR)
    lead(tmp_path, Look(by="host/7", acts=True, at=at, trouble="rules.yaml:3: no such limit"))
    done = tidegate(tmp_path, "status").stdout
    assert "worker host/7 cannot see it (rules.yaml:3: no such limit)" in done
    assert "Action required: 1 rollout that cannot be read" in done
    assert "no answer" not in tidegate(tmp_path, "why", "a").stdout


def unseen(folder: Path, name: str, trouble: str, seconds: int = 600) -> None:
    """A worker leads a rollout, and no round of it ever ended."""
    store = open_store(str(folder / "tidegate.db"))
    look = Look(by="host/7", acts=True, trouble=trouble)
    now, term = SystemClock().now(), Duration(seconds * SECOND)
    assert store.lease(name, look.by, now, term, look) is not None
    store.close()


def test_a_rollout_that_was_never_read_is_shown_with_its_reason(tmp_path: Path) -> None:
    """In every view: a rollout that is not listed would seem not to be there."""
    ago(tmp_path, 0)
    for name in ("integrations/x@prod.ns", "integrations/y@prod.ns"):
        unseen(tmp_path, name, "rules.yaml:3: no such limit")
    unseen(tmp_path, "simulated/other", "")  # its first round is on its way
    said = "worker host/7 cannot see it (rules.yaml:3: no such limit): integrations/x@prod.ns,"
    said += " integrations/y@prod.ns, of which nothing is known"
    done = tidegate(tmp_path, "status").stdout
    assert said in done.splitlines()
    assert "Action required: 2 rollouts that cannot be read" in done
    assert "other" not in done
    (row,) = [line.split() for line in done.splitlines() if line.startswith("integrations ")]
    assert row == ["integrations", "2", *("0",) * 6]
    found = json.loads(tidegate(tmp_path, "status", "-o", "json").stdout)
    mine = [each for each in found["workers"] if each["partition"] == "integrations/x@prod.ns"]
    assert [(each["leader"], each["lookedAt"]) for each in mine] == [("host/7", None)]
    listed = tidegate(tmp_path, "get", "rollouts")
    assert said in listed.stderr
    assert "integrations/x@prod.ns" not in listed.stdout
    data = json.loads(tidegate(tmp_path, "get", "rollouts", "-o", "json").stdout)
    assert [each["partition"][-8:] for each in data["unseen"]] == ["@prod.ns"] * 2
    for args in (("show", "x"), ("why", "integrations/x@prod.ns"), ("pause", "x")):
        refused = tidegate(tmp_path, *args)
        assert refused.returncode == 1, refused.stdout
        assert "rules.yaml:3: no such limit" in refused.stderr


def test_a_rollout_that_was_never_read_is_not_shown_for_ever(tmp_path: Path) -> None:
    """Once no worker leads it, it may be one that is not declared any more."""
    ago(tmp_path, 0)
    unseen(tmp_path, "integrations/x@prod.ns", "rules.yaml:3: no such limit", seconds=0)
    assert "integrations" not in tidegate(tmp_path, "status").stdout


def test_what_was_removed_neither_moves_nor_waits_for_a_worker(tmp_path: Path) -> None:
    """Its source lists it no more: that it was under way at the last look has no meaning now."""
    ago(tmp_path, 60 * SECOND)
    store, now = open_store(str(tmp_path / "tidegate.db")), SystemClock().now()
    look = Look(by="host/7", acts=True, at=Instant(now - 60 * SECOND), left=True)
    store.release(store.leases()[PARTITION].lease, look)
    store.close()
    for args in LOOKS:
        done = tidegate(tmp_path, *args)
        said = done.stdout + done.stderr
        assert f"removed, no worker looks at it: {PARTITION} as of the last look" in said, args
        assert "no worker is running" not in said, args
    report = json.loads(tidegate(tmp_path, "status", "-o", "json").stdout)
    assert report["kinds"] == {}
    assert report["workers"][0]["left"] is True
    assert " Removed " in tidegate(tmp_path, "get", "rollouts").stdout
    done = tidegate(tmp_path, "when", PARTITION)
    assert done.returncode == 2
    assert "was removed, so it has no dates" in done.stderr


def test_a_worker_that_looks_is_shown_now(tmp_path: Path) -> None:
    """Its last round is a moment ago: what is due by now is."""
    ago(tmp_path, 2 * HOUR)
    lead(tmp_path, Look(by="host/7", acts=True, at=SystemClock().now()))
    done = tidegate(tmp_path, "why", "a")
    assert "no answer" in done.stdout
    assert "no worker" not in done.stderr
    lines = tidegate(tmp_path, "status").stdout.splitlines()
    assert lines[3].split() == ["WORKER", "MODE", "LAST", "ROUND", "ROLLOUTS"]
    assert lines[4].split()[:2] == ["host/7", "act"]


@pytest.mark.parametrize("acts, moving", [(True, 1), (False, 0)])
def test_what_is_only_observed_does_not_move(tmp_path: Path, acts: bool, moving: int) -> None:
    """`serve` without --act: every gate of a target is open, and none starts it."""
    stage = staged(tmp_path)
    asyncio.run(Process(stage).round(mode=Mode.OBSERVE))
    lead(tmp_path, Look(by="host/7", acts=acts, at=SystemClock().now()))
    counts = json.loads(tidegate(tmp_path, "status", "-o", "json").stdout)["kinds"]["simulated"]
    assert (counts["moving"], counts["waiting"]) == (moving, 4 - moving)
    said = tidegate(tmp_path, "why", "a").stdout
    assert ("starts now" in said) is acts
    assert ("would start: its worker only observes" in said) is not acts


def test_status_names_leader_mode_and_last_round_as_data(tmp_path: Path) -> None:
    """Per partition, as fields of the document."""
    ago(tmp_path, 0)
    looked_at = SystemClock().now()
    lead(tmp_path, Look(by="host/7", acts=False, at=looked_at))
    (worker,) = json.loads(tidegate(tmp_path, "status", "-o", "json").stdout)["workers"]
    assert worker == {
        "partition": PARTITION,
        "leader": "host/7",
        "acts": False,
        "lookedAt": format_instant(looked_at),
        "stale": False,
        "trouble": "",
        "gone": "",
        "left": False,
        "broken": "",
    }
    (item,) = json.loads(tidegate(tmp_path, "get", "rollouts", "-o", "json").stdout)["items"]
    assert item["worker"] == worker


@pytest.mark.parametrize(
    "words, before",
    [
        ("pause demo", "resume demo"),
        ("resume demo", "pause demo"),
        ("retry demo", "abort demo --yes"),
        ("abort demo --yes", "retry demo"),
        ("hold remove x", "hold add x --target zz --reason r --replace"),
    ],
)
def test_what_no_worker_acts_on_is_said_to_have_no_effect_yet(
    tmp_path: Path, words: str, before: str
) -> None:
    """Recorded, and read by the next worker; not a word of it where one acts."""
    ago(tmp_path, 2 * HOUR)
    undo, args = before.split(), words.split()
    tidegate(tmp_path, *undo)
    done = tidegate(tmp_path, *args)
    assert done.returncode == 0, done.stderr
    assert "no worker is running on this journal: it takes effect when one does" in done.stderr
    lead(tmp_path, Look(by="host/7", acts=True, at=SystemClock().now()))
    tidegate(tmp_path, *undo)
    assert "no worker" not in tidegate(tmp_path, *args).stderr
    lead(tmp_path, Look(by="host/7", acts=False, at=SystemClock().now()))
    tidegate(tmp_path, *undo)
    assert "its worker only observes" in tidegate(tmp_path, *args).stderr


def test_a_worker_whose_rounds_do_not_end_is_named(tmp_path: Path) -> None:
    """It leads, and nothing is known to be wrong: what is shown is still that of the last look."""
    at = ago(tmp_path, 2 * HOUR)
    lead(tmp_path, Look(by="host/7", acts=True, at=at))
    done = tidegate(tmp_path, "status").stdout
    assert "worker host/7 has ended no round since: simulated/demo as of the last look" in done


def test_one_failed_round_is_no_alarm(tmp_path: Path) -> None:
    """It is looked at again within seconds; only what stays unseen needs a person."""
    ago(tmp_path, 0)
    lead(tmp_path, Look(by="host/7", acts=True, at=SystemClock().now(), trouble="timed out"))
    done = tidegate(tmp_path, "status").stdout
    assert "cannot see it" not in done
    assert "Action required: none" in done


def test_dates_of_a_worker_that_only_observes_say_so(tmp_path: Path) -> None:
    """They are those that one would keep that acts."""
    ago(tmp_path, 0)
    lead(tmp_path, Look(by="host/7", acts=False, at=SystemClock().now()))
    assert "its worker only observes" in tidegate(tmp_path, "when", PARTITION).stderr


def test_a_target_of_the_journal_may_be_named_with_what_it_is(tmp_path: Path) -> None:
    """As in every other command: `cluster/NAME`."""
    ago(tmp_path, 0)
    shown = tidegate(tmp_path, "journal", "show", "--target", "cluster/a").stdout
    assert shown == tidegate(tmp_path, "journal", "show", "--target", "a").stdout
    assert len(shown.splitlines()) > 1


def test_a_comparison_of_nothing_says_so() -> None:
    """No number of decisions, all of which would be equal."""
    nothing = ShadowedPartition(
        partition=PARTITION,
        began_at=None,
        ended_at=None,
        looks=None,
        decisions=0,
        equal=0,
        differ=(),
        ours_only=(),
    )
    (line,) = _shadow_lines(nothing)
    assert line.endswith("nothing to compare: no other system changed a target here")
