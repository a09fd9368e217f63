"""Brakes on the command line: seen in trees and stories, refused with their line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.command import tidegate
from tidegate.documents.strict_yaml import read_yaml

ROOT = Path(__file__).parents[2]
STATE = ROOT / "examples/brakes.yaml"
FREEZE = ROOT / "examples/freeze.yaml"


def run(*args: str) -> tuple[int, str]:
    """The exit code of a command, and everything it printed."""
    clean = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CI")}
    done = tidegate(*args, env=clean, cwd=ROOT)
    return done.returncode, done.stdout + done.stderr


def test_why_shows_every_brake() -> None:
    """One tree has a line for each kind of brake there is."""
    code, printed = run("why", str(STATE), "prod-ap-1")
    assert code == 0
    for gate in ("hold", "freeze", "block", "pin", "mutex", "approval", "health", "sharedBudget"):
        assert f" {gate} " in printed


def test_json_says_who_is_pinned_and_what_to_claim(tmp_path: Path) -> None:
    """A program sees the pin, and which places to claim before it acts."""
    state: dict[str, Any] = read_yaml("x", STATE.read_text(encoding="utf-8")).data
    brakes = {name: state["brakes"][name] for name in ("pins", "budgets", "partition")}
    document = tmp_path / "state.json"
    document.write_text(json.dumps({**state, "brakes": brakes}), encoding="utf-8")
    code, printed = run("why", str(document), "-o", "json")
    answer = json.loads(printed)
    assert code == 0
    assert (answer["kind"], answer["apiVersion"]) == ("RolloutDetails", "tidegate.dev/v1")
    targets = answer["targets"]
    assert [one["name"] for one in targets if one["state"] == "Pinned"] == ["prod-us-2"]
    starting = [one["name"] for one in targets if one.get("starts")]
    assert starting == ["prod-ap-1", "prod-eu-1", "prod-eu-2"]
    assert answer["claims"] == [
        {"name": "budget/blast-radius/ap", "place": 0, "target": "prod-ap-1"},
        {"name": "budget/blast-radius/eu", "place": 0, "target": "prod-eu-1"},
        {"name": "budget/blast-radius/eu", "place": 1, "target": "prod-eu-2"},
    ]


def test_a_calendar_file_is_read_beside_its_document(tmp_path: Path) -> None:
    """The name in `icsFile` is seen from the document, wherever that stands."""
    document = tmp_path / "state.yaml"
    document.write_text(STATE.read_text(encoding="utf-8"), encoding="utf-8")
    code, printed = run("why", str(document))
    assert code == 2
    assert "state.yaml:" in printed
    assert 'icsFile: "holidays.ics": No such file or directory' in printed
    holidays = (ROOT / "examples/holidays.ics").read_text(encoding="utf-8")
    (tmp_path / "holidays.ics").write_text(holidays, encoding="utf-8")
    assert run("why", str(document))[0] == 0


def test_a_line_cannot_name_files(tmp_path: Path) -> None:
    """What comes in by a pipe reads nothing from this machine's disk."""
    line = {
        "now": "2026-01-09T16:00:00Z",
        "groups": [{"name": "a", "index": 0, "clusters": ["x"]}],
        "strategy": {"type": "All"},
        "brakes": {
            "freezes": [
                {
                    "name": "f",
                    "scope": {"everything": True},
                    "owner": "ops",
                    "reason": "because",
                    "icsFile": "holidays.ics",
                }
            ]
        },
    }
    path = tmp_path / "line.jsonl"
    path.write_text(json.dumps(line), encoding="utf-8")
    code, printed = run("decide", "rollout", str(path))
    assert code == 2
    assert "no files are read here" in printed


def test_a_story_tells_of_holds_and_freezes() -> None:
    """Who put the hold on and why is part of the story; the weekend is waited out."""
    code, printed = run("simulate", str(FREEZE), "--story", "--check")
    assert code == 0
    assert "● hold inc-42: incident 42 (sre)" in printed
    assert "● lifted: inc-42" in printed
    assert "3d 07:00 ▶ prod" in printed


@pytest.mark.parametrize(
    "old, new, problem",
    [
        ("lift: inc-42", "lift: inc-24", 'no brake "inc-24" to lift then; did you mean "inc-42"?'),
        ("owner: sre, ", "", "events[0].hold.owner: missing"),
        ("finishBefore: true", "finishBefor: true", 'did you mean "finishBefore"?'),
    ],
)
def test_a_misspelt_brake_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """A brake that cannot be read is no brake: the scenario is not played without it."""
    text = FREEZE.read_text(encoding="utf-8")
    assert old in text
    document = tmp_path / "scenario.yaml"
    document.write_text(text.replace(old, new), encoding="utf-8")
    code, printed = run("simulate", str(document))
    assert code == 2
    assert problem in printed
