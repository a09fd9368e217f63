"""compat answers what the existing auto-promotions manager was recorded to answer."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidegate.kinds.promotions.wire.channel_line import answer_compat
from tidegate.model.time import Instant

FOLDER = Path(__file__).parent / "promotion"
# No recorded line has a schedule that depends on the time.
NOW = Instant(0)


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (FOLDER / name).read_text("utf-8").splitlines()]


LINES = [
    (f"{name}:{number} {line['in']['op']}", line)
    for name in ("sapm_out.jsonl", "fuzz.jsonl")
    for number, line in enumerate(lines(name), start=1)
]


@pytest.mark.parametrize("line", [line for _, line in LINES], ids=[ident for ident, _ in LINES])
def test_a_recorded_line_is_answered_alike(line: dict[str, Any]) -> None:
    """Whole answers, the order of lists included, through the bytes of a line."""
    raw = msgspec.json.encode({"id": 7, **line["in"]})
    answer = msgspec.json.decode(msgspec.json.encode(answer_compat(raw, NOW)))
    assert answer == {"id": 7, "out": line["out"]}


def test_no_vector_is_lost() -> None:
    """All recorded lines are compared."""
    assert Counter(line["in"]["op"] for _, line in LINES) == {
        "desired": 131 + 10,
        "batch": 89 + 4,
        "uid": 2,
        "title": 1,
        "hash": 2,
        "sha256": 2,
        "config_hash": 1,
        "line": 1,
        "json": 1,
    }
