"""compat decides what the rollout library of Open Cluster Management was recorded to decide.

Answers are compared whole, the order of lists included. Of an error only its presence is: its words
are Go's. Two probes are left out, in which the library itself draws lots.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidegate.kinds.rollouts.wire import compat_line

FOLDER = Path(__file__).parent / "rollout"
# The library's answer to duplicate statuses and to a cluster in two groups differs from run to run.
DRAWN_BY_LOT = ("Q24", "Q25")


def lines(name: str) -> list[dict[str, Any]]:
    texts = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line for line in map(json.loads, texts) if not drawn_by_lot(line)]


def drawn_by_lot(line: dict[str, Any]) -> bool:
    return str(line.get("note", "")).startswith(DRAWN_BY_LOT)


def source(line: dict[str, Any]) -> str:
    return f"{line.get('note', line['source'])}: {line['input']['id']}"


def given(line: dict[str, Any]) -> Any:
    answer = msgspec.to_builtins(compat_line.reply(line["input"]))
    return answer | {"error": "error" in answer}


def expected(line: dict[str, Any]) -> Any:
    answer = {name: value for name, value in line["expect"].items() if name != "strategy"}
    return {"id": line["input"]["id"], **answer, "error": "error" in answer}


@pytest.mark.parametrize("line", lines("library.jsonl"), ids=source)
def test_compat_decides_what_the_library_decides(line: dict[str, Any]) -> None:
    """Upstream's own cases and random states of every strategy are answered alike."""
    assert given(line) == expected(line)


@pytest.mark.parametrize("line", lines("defects.jsonl"), ids=source)
def test_compat_keeps_the_defects_of_the_library(line: dict[str, Any]) -> None:
    """What the library gets wrong, compat gets wrong in the same way."""
    assert given(line) == expected(line)


def test_no_vector_is_lost() -> None:
    """All recorded lines but the two that are drawn by lot are compared."""
    assert [len(lines("library.jsonl")), len(lines("defects.jsonl"))] == [557, 85]


def test_the_id_comes_first() -> None:
    """An answer opens with the id of its line, so that a reader of many finds it at once."""
    answer = msgspec.json.encode(compat_line.reply(lines("library.jsonl")[0]["input"]))
    assert answer.startswith(b'{"id":"test rollout all')
