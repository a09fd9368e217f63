"""A number that no float can be refuses its line, in every filter, and stops no other."""

import json

import pytest

from tests.command import tidegate

FILTERS = [
    ("rollout", "strict"),
    ("rollout", "compat"),
    ("rollout", "both"),
    ("placement", ""),
    ("shards", "strict"),
    ("shards", "compat"),
    ("shards", "both"),
    ("upgrades", "strict"),
    ("upgrades", "compat"),
    ("upgrades", "both"),
    ("promotions", "compat"),
]
FIELDS = {
    "rollout": "groups",
    "placement": "clusters",
    "shards": "integrations",
    "upgrades": "clusters",
    "promotions": "op",
}


@pytest.mark.parametrize("name, mode", FILTERS)
def test_a_number_out_of_range_refuses_its_line_only(name: str, mode: str) -> None:
    """As an id, as a field and within one; every line is answered, in order."""
    field = FIELDS[name]
    lines = ['{"id": 1e400}', f'{{"id": 2, "{field}": -1e400}}', f'{{"{field}": [{{"a": 1e400}}]}}']
    done = tidegate(
        "decide", name, *(("--mode", mode) if mode else ()), stdin="\n".join(lines) + "\n"
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, len(answers)) == (2, 3)
    assert [answer.get("line") for answer in answers] == [1, 2, 3]
    assert answers[0]["error"].startswith("line 1: id: cannot be read: Number out of range")
    assert f"{field}: cannot be read: Number out of range" in answers[1]["error"]
    assert answers[1]["id"] == 2
