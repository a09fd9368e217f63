"""A worker that has nothing to do says so, and does not look as if it had."""

import os
import signal
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.cli.test_setting_brakes import staged, tidegate
from tests.engine.stage import PARTITION
from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S
from tidegate.cli.worker.run_watch import _wait_line
from tidegate.engine.round import RoundResult
from tidegate.explain.view import Counts
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Duration, Instant, format_second
from tidegate.wiring import clock, open_store

ROOT = Path(__file__).parents[2]
DEMO = ("--scenario", str(ROOT / "examples" / "demo.yaml"))


@contextmanager
def worker(folder: Path, *args: str) -> Iterator["subprocess.Popen[str]"]:
    """`tidegate run` as a process of its own; killed in the end."""
    command = [*TIDEGATE, "run", *args]
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CI")}
    with Forked[str](
        command, cwd=folder, env=env, text=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]") -> str:
    """What a process printed until it ended by itself."""
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    return said


def test_once_with_nothing_to_do_ends(tmp_path: Path) -> None:
    """No rollout is found: that is said, and it is over."""
    with worker(tmp_path, "--once") as process:
        assert "no rollout was found; nothing to do" in ended(process)


def test_once_on_a_broken_journal_ends(tmp_path: Path) -> None:
    """Waiting repairs nothing: it says so once, and fails."""
    with worker(tmp_path, *DEMO) as first:
        assert first.stderr is not None
        first.stderr.readline()  # its first round
        first.send_signal(signal.SIGTERM)
        first.wait(PATIENCE_S)
    with sqlite3.connect(tmp_path / "tidegate.db") as file:
        changed = file.execute("UPDATE journal_entries SET actor = 'eve' WHERE seq = 2")
        assert changed.rowcount
    with worker(tmp_path, *DEMO, "--once") as second:
        _, said = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 1, said
    assert said.count("simulated/demo: its chain is broken: entry 2 was changed") == 1
    assert "simulated/demo: simulated/demo" not in said


def test_a_second_worker_stands_by_and_once_ends(tmp_path: Path) -> None:
    """It names the one that leads."""
    with worker(tmp_path, *DEMO, "--act", "*") as first:
        assert first.stderr is not None
        first.stderr.readline()  # its first round
        with worker(tmp_path, *DEMO, "--once") as second:
            said = ended(second)
        assert "simulated/demo: worker " in said
        assert "leads it; this one stands by" in said
        first.send_signal(signal.SIGTERM)
        assert first.wait(timeout=PATIENCE_S) == 0


def test_once_waits_for_the_lease_of_a_worker_that_was_killed(tmp_path: Path) -> None:
    """It does what there is to do, and does not end as if another worker did."""
    with worker(tmp_path, *DEMO) as first:
        assert first.stderr is not None
        first.stderr.readline()
        first.kill()
        first.wait(PATIENCE_S)
    with worker(tmp_path, *DEMO, "--once") as second:
        said = ended(second)
    assert "stands by" not in said
    assert "simulated/demo: Waiting: would act on ter-int-dev" in said


def test_a_timeout_ends_a_wait_that_is_too_long(tmp_path: Path) -> None:
    """Exit 124, and what was not done."""
    database = tmp_path / "journal.db"
    with closing(open_store(str(database), creates=True)) as archive:
        archive.lease("simulated/demo", "gone/1", SystemClock().now(), Duration(3600 * SECOND))
    flags = (*DEMO, "--once", "--timeout", "1s", "--database", str(database))
    with worker(tmp_path, *flags) as process:
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 124
    assert "simulated/demo: waits for its lease, which worker gone/1 has until " in said
    assert "--timeout: not done with simulated/demo" in said


@pytest.mark.parametrize("command", ["run", "serve"])
@pytest.mark.parametrize(
    "args, words",
    [
        (("--kind", "simulatd"), '--kind: "simulatd" matches nothing that is started; did you'),
        (("--kind", "simulated/demo"), '--kind: "simulated/demo" matches nothing that is started'),
        (("--act", "simulatd/*"), '--act: "simulatd/*" matches nothing that is started; did you'),
        (("--act", "simulated"), "write simulated/NAME, or 'simulated/*'"),
        (("--act", "upgrades/*"), "there is 'simulated/*'"),
    ],
)
def test_a_pattern_that_can_match_nothing_is_an_error(
    tmp_path: Path, command: str, args: tuple[str, ...], words: str
) -> None:
    """Known at the start: nothing runs, and no journal is made."""
    done = tidegate(tmp_path, command, *DEMO, *args)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not (tmp_path / "tidegate.db").exists()


@pytest.mark.parametrize("once", [("--once",), ()])
def test_a_pattern_that_matches_nothing_that_was_found_is_an_error(
    tmp_path: Path, once: tuple[str, ...]
) -> None:
    """Names are known once they are found: nothing is acted on, and it must not look as if."""
    done = tidegate(tmp_path, "run", *DEMO, *once, "--act", "simulated/dem")
    assert done.returncode == 2
    what = '--act: "simulated/dem" matches none of the 1 rollout found (simulated/demo)'
    assert f"Error: {what}" in done.stderr


def test_once_ends_where_nothing_can_be_read(tmp_path: Path) -> None:
    """And says what it is that does not answer."""
    done = tidegate(tmp_path, "run", "--once", "--fleet", "http://127.0.0.1:1", "--act", "*")
    assert done.returncode == 1
    assert "Error: http://127.0.0.1:1: " in done.stderr
    assert "--once does not wait for it" in done.stderr


def test_once_says_what_it_waits_for(tmp_path: Path) -> None:
    """A soak of an hour happens by itself, so it is waited for; it says so."""
    scenario = tmp_path / "slow.yaml"
    scenario.write_text(
        "revision: v2\nlastGood: v1\ngroups: [{name: canary, count: 1}, {name: prod, count: 3}]\n"
        "strategy: {type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 1h}}\n"
        "fleet: {applyTime: 10ms}\n",
        encoding="utf-8",
    )
    with worker(tmp_path, "--once", "--scenario", str(scenario), "--act", "*") as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "waits " in line)
    assert "simulated/slow: waits at most 59m59s, until 2" in line
    assert "EarlierGroupUnfinished 3" in line


class _Ended(msgspec.Struct):
    """Of a plan, what its end is known by."""

    summary: Summary
    groups: tuple[()] = ()


@pytest.mark.parametrize("summary", [Summary.SUCCEEDED, Summary.PROGRESSING])
def test_once_waits_for_no_deadline_of_what_succeeded(summary: Summary, tmp_path: Path) -> None:
    """Fresh pods of a finished rollout have hours to become ready: no reason to wait."""
    late = Instant(SystemClock().now() + 7200 * SECOND)
    done = RoundResult(partition=PARTITION, recheck_at=late, plan=_Ended(summary))
    assert RolloutKind(staged(tmp_path).fleet).rests(done) is (summary is Summary.SUCCEEDED)


def test_one_pattern_of_several_may_be_for_another_worker(tmp_path: Path) -> None:
    """Workers may share their settings: what is not here is told, and the rest is acted on."""
    acts = ("--act", "simulated/*", "--act", "upgrades/*")
    with worker(tmp_path, "--once", *acts) as process:
        assert 'Warning: --act: "upgrades/*" matches nothing that is started' in ended(process)


@pytest.mark.parametrize(
    "waits, words",
    [
        ({("soak", "NotSoaked"): 2}, "by reason: NotSoaked 2"),
        ({}, "targets: done 3, soaking 1"),
    ],
)
def test_a_wait_says_what_it_is_for(waits: dict[tuple[str, str], int], words: str) -> None:
    """Where no gate is shut, it is what targets do."""
    until = Instant(clock().now() + 2 * 3600 * SECOND)
    counts = Counts("Progressing", Counter(done=3, soaking=1), Counter(waits))
    done = RoundResult(partition="p", recheck_at=until, count=lambda: counts)
    said = _wait_line(done, None)
    assert said.endswith(f", until {format_second(until)}, {words}")
    assert _wait_line(done, until) == "", "it is said once"
