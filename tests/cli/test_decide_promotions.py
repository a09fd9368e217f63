"""`tidegate decide promotions` as programs meet it: lines in, lines out, real exit codes."""

import json
import subprocess
from typing import Any

from tests.command import tidegate

BATCH = {
    "op": "batch",
    "desired": [{"hashes": ["h1"], "channels": ["a"]}],
    "open": [{"hashes": ["h1", "old"], "channels": ["a"], "failed": False, "batchable": True}],
}


def decide(*lines: object, mode: tuple[str, ...] = ("--mode", "compat")) -> Any:
    """Run the command; texts are lines as they stand."""
    stdin = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines)
    return tidegate("decide", "promotions", *mode, stdin=stdin)


def answers(done: subprocess.CompletedProcess[str]) -> list[Any]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_line_is_answered_under_its_id() -> None:
    """One line each, in order; without an id there is none."""
    done = decide({"id": "b", **BATCH}, "", {"op": "title", "channels": "a,b", "batch_size": 2})
    first, second = answers(done)
    assert (done.returncode, done.stderr) == (0, "")
    assert first == {
        "id": "b",
        "out": {
            "deletions": [{"hashes": ["h1", "old"], "reason": "OUTDATED_CONTENT"}],
            "additions": [{"hashes": ["h1"], "channels": ["a"], "batchable": True}],
        },
    }
    assert list(second) == ["out"]


def test_a_bad_line_says_its_number_and_stops_nothing() -> None:
    """It lists everything that is wrong, decides nothing, and the exit code is 2."""
    bad = {
        "id": 1,
        "op": "desired",
        "now": "today",
        "subscriber": {"ref": 5, "soak": 1.5, "use_hash": True, "cur": {"c": [["x"]]}},
        "channels": {"c": {}, "d": {"p": {"check_in_hours_ago": "a", "success": 1}}},
    }
    done = decide(bad, {"id": 2, "op": "nope"}, "[]", "{", {"id": 5, **BATCH})
    found = answers(done)
    assert done.returncode == 2
    assert [each.get("line") for each in found] == [1, 2, 3, 4, None]
    assert [each.get("id") for each in found] == [1, 2, None, None, 5]
    assert [each["out"] for each in found[:4]] == [None] * 4
    assert [problem["path"] for problem in found[0]["problems"]] == [
        "now",
        "subscriber.ref",
        "subscriber.soak",
        "subscriber.cur.c[0]",
        "channels.c",
        "channels.d.p.sha",
        "channels.d.p.success",
        "channels.d.p.check_in_hours_ago",
    ]
    assert "there are uid, title, hash" in found[1]["error"]
    assert done.stderr.startswith("Error: line 1: now: ")


def test_a_schedule_is_asked_of_the_lines_own_time() -> None:
    """Noon on a Friday, and Saturday; without a time it is the machine's, which is some minute."""
    subscriber = {"ref": "cur", "schedule": "0 12 * * 5"}
    line = {"op": "desired", "subscriber": subscriber, "channels": {"c": {"p": {"sha": "new"}}}}
    friday, saturday = "2026-05-08T12:00:59Z", "2026-05-09T12:00:00Z"
    always = {**line, "subscriber": {"ref": "cur", "schedule": "* * * * *"}}
    done = decide({**line, "now": friday}, {**line, "now": saturday}, always)
    assert [each["out"]["desired_ref"] for each in answers(done)] == ["new", "cur", "new"]


def test_what_is_parsed_can_be_batched() -> None:
    """The state that a description holds is what `batch` reads as open; the others say why."""
    written = {"op": "description", "message": "hi", "channels": ["b", "a"], "hashes": ["h1"]}
    (text,) = (each["out"] for each in answers(decide(written)))
    requests = [
        {"description": text, "failed": True},
        {"description": text},
        {"description": "by hand", "labels": ["SAPM"]},
        {"description": "of a person", "labels": []},
    ]
    (parsed,) = (each["out"] for each in answers(decide({"op": "parse", "mrs": requests})))
    assert [(each["mr"], each["channels"], each["failed"]) for each in parsed["open"]] == [
        (0, ["a", "b"], True)
    ]
    assert [each["mr"] for each in parsed["closed"]] == [2, 1]
    (alone,) = (each["out"] for each in answers(decide({"op": "parse", "description": text})))
    assert alone["open"] == [{**parsed["open"][0], "failed": False}]
    (split,) = (each["out"] for each in answers(decide({**BATCH, "open": parsed["open"]})))
    assert split == {
        "deletions": [{"hashes": ["h1"], "reason": "MISSING_UNBATCHING"}],
        "additions": [{"hashes": ["h1"], "channels": ["a"], "batchable": False}],
    }


def test_a_mode_must_be_named() -> None:
    """There is only one so far; it will not become another one unnoticed."""
    done = decide(BATCH, mode=())
    assert (done.returncode, done.stdout) == (2, "")
    assert "--mode" in done.stderr
