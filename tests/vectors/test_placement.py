"""The scheduler grouping forms the decision groups that the real placement scheduler formed."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidegate.kinds.policies.wire import placement_line

FILE = Path(__file__).parent / "rollout" / "placement.jsonl"
LINES = [json.loads(text) for text in FILE.read_text(encoding="utf-8").splitlines()]


def source(line: dict[str, Any]) -> str:
    return str(line["source"])


@pytest.mark.parametrize("line", LINES, ids=source)
def test_groups_and_decisions_are_those_of_the_scheduler(line: dict[str, Any]) -> None:
    """Groups, their indexes, and the PlacementDecisions with names and labels are the same."""
    answer = msgspec.to_builtins(placement_line.reply(line["input"]))
    assert answer == {"id": line["input"]["id"], **line["expect"]}


def test_no_vector_is_lost() -> None:
    """All recorded lines are compared."""
    assert len(LINES) == 100
