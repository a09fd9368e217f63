"""`tidegate decide upgrades` as programs meet it: lines in, lines out, real exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LINES = (Path(__file__).parents[2] / "examples" / "upgrades.jsonl").read_text(encoding="utf-8")


def decide(stdin: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tidegate", "decide", "upgrades", *args],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_line_is_answered_with_what_is_written_and_kept() -> None:
    """Stage goes first, a bad label is told to its owner, and soak grows by an hour of two."""
    done = decide(LINES)
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (0, "")
    assert [path for _, path, _ in first["writes"]] == [
        "/api/clusters_mgmt/v1/clusters/stage-1-id/upgrade_policies"
    ]
    soak = first["state"]["prod/o1"]["versions"]["4.20.7"]["workloads"]["payments"]
    assert soak["soak_days"] == pytest.approx(30 + 2 / 24)
    ((_, path, body),) = second["writes"]
    assert path == "/api/service_logs/v1/cluster_logs"
    assert "unable to parse string as an integer" in body["description"]


def test_a_bad_line_says_its_number_and_stops_nobody() -> None:
    """It lists everything that is wrong, writes nothing, and the exit code is 2."""
    bad = '{"id": "b", "now": "yesterday", "orgs": [{"id": 7}], "clusters": 5, "fail": {"x": "y"}}'
    done = decide(f"{bad}\n\n{LINES}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2
    assert [answer.get("id") for answer in answers] == ["b", "u1", "u2"]
    assert [problem["path"] for problem in answers[0]["problems"]] == [
        "now",
        "orgs[0].id",
        "clusters",
        "fail.x",
    ]
    assert (answers[0]["line"], answers[0]["writes"]) == (1, [])
    assert done.stderr.startswith("Error: line 1: now: ")


def test_only_modes_that_exist_are_offered() -> None:
    """A mode that is not there is refused, and the help says which is."""
    assert decide(LINES, "--mode", "strict").returncode == 2
    assert "[compat]" in decide("", "--help").stdout


def test_a_history_nobody_looked_at_is_given_back_as_it_stood() -> None:
    """Even one that cannot be read: it is not ours to mend."""
    world = json.loads(LINES.splitlines()[1])
    world["state"] = {"stage/other": {"check_in": 5, "more": [1]}, "prod/o1": "unreadable"}
    answer = json.loads(decide(json.dumps(world) + "\n").stdout)
    assert answer["state"] == world["state"]
