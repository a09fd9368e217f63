"""`tidegate decide upgrades` as programs meet it: lines in, lines out, real exit codes."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.command import tidegate

LINES = (Path(__file__).parents[2] / "examples" / "upgrades.jsonl").read_text(encoding="utf-8")


def decide(stdin: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return tidegate("decide", "upgrades", *args, stdin=stdin)


def test_a_line_is_answered_with_what_is_written_and_kept() -> None:
    """Stage goes first, a bad label is reported to its owner, and soak grows by an hour of two."""
    done = decide(LINES, "--mode", "compat")
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


def test_a_bad_line_says_its_number_and_stops_nothing() -> None:
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


def test_our_rules_say_why_every_version_waits() -> None:
    """Unless set otherwise: the same upgrade, and a verdict of every gate for what waits."""
    done = decide(LINES)
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (0, "")
    assert [path for _, path, _ in first["writes"]] == [
        "/api/clusters_mgmt/v1/clusters/stage-1-id/upgrade_policies"
    ]
    prod = next(each for each in first["targets"] if each["cluster"] == "prod-1")
    shut = [v["reason"] for v in prod["options"][0]["verdicts"] if v["outcome"] != "pass"]
    assert shut == ["VersionSoaking", "SectorBehind"]
    (aside,) = second["targets"][0]["options"]
    assert aside["verdicts"][0]["reason"] == "LabelsUnreadable"
    assert '"two" is not a whole number' in aside["verdicts"][0]["message"]


def test_both_rules_are_held_against_each_other() -> None:
    """Each answer by itself, and the writes that only one of them makes."""
    worse = LINES.replace('"soak-days": "two"', '"soak-days": "0", "blocked-versions": "["')
    done = decide(worse, "--mode", "both")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (first["id"], first["differences"]) == ("u1", [])
    assert [each["only"] for each in second["differences"]] == ["strict"]
    assert second["strict"]["writes"] != second["compat"]["writes"]


def test_a_history_that_was_not_read_is_given_back_as_it_was() -> None:
    """Even one that cannot be read: it is not ours to fix. Where we looked, we begin anew."""
    world = json.loads(LINES.splitlines()[1])
    world["state"] = {"stage/other": {"check_in": 5, "more": [1]}, "prod/o1": "unreadable"}
    answer = json.loads(decide(json.dumps(world) + "\n", "--mode", "compat").stdout)
    assert answer["state"] == world["state"]
    ours = json.loads(decide(json.dumps(world) + "\n").stdout)["state"]
    assert ours["stage/other"] == world["state"]["stage/other"]
    assert ours["prod/o1"]["versions"] == {}


@pytest.mark.parametrize("status, asked", [("Reserved", ["a"]), ("Stale", ["b"])])
def test_the_existing_service_sees_no_cluster_whose_subscription_is_not_in_use(
    status: str, asked: list[str]
) -> None:
    """It asks for subscriptions that are Active or Reserved; others hold no mutex either."""
    labels = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *", "mutexes": "db"}
    one = {"org": "o", "version": "4.20.7", "available_upgrades": ["4.20.8"], "labels": labels}
    clusters = [{"name": "a", "subscription_status": status, **one}, {"name": "b", **one}]
    world = {"now": "2026-01-05T10:00:00Z", "orgs": [{"id": "o", "name": "O"}]}
    done = decide(json.dumps({**world, "clusters": clusters}) + "\n", "--mode", "compat")
    answer = json.loads(done.stdout)
    assert [path.split("/")[5] for _, path, _ in answer["writes"]] == [
        f"{each}-id" for each in asked
    ]
    (soak,) = answer["state"]["prod/o"]["versions"]["4.20.7"]["workloads"].values()
    assert soak["reporting"] == (["a", "b"] if status == "Reserved" else ["b"])
