"""compat shards are those the real integrations manager made; owners are those of its hash."""

import json
from pathlib import Path
from typing import Any

import pytest

from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.integrations.wire.shard_line import answer_compat, answer_strict
from tidegate.shard import Shard, owner

FOLDER = Path(__file__).parent / "sharding"
LINES = [json.loads(text) for text in (FOLDER / "fuzz.jsonl").read_text("utf-8").splitlines()]
SAMPLES = sorted(FOLDER.glob("*.head.json"))


def sample(path: Path) -> dict[str, Any]:
    """The line of a sample."""
    name = path.name.replace(".head.json", ".yaml")
    line: dict[str, Any] = read_yaml(name, (FOLDER / name).read_text("utf-8")).data
    if name.startswith("s5_"):  # recorded beside a command line that lacks the option
        line["cli_args"] = {}
    return line


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line["id"]))
def test_shards_are_those_of_the_manager(line: dict[str, Any]) -> None:
    """Namespaces, integrations, workloads and every field of every shard are the same."""
    assert answer_compat(line["input"]) == line["expect"]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: str(path.name))
def test_samples_are_those_of_the_manager(path: Path) -> None:
    """The same for the samples, errors and their texts included."""
    answer, expected = answer_compat(sample(path)), json.loads(path.read_text("utf-8"))
    if path.name.startswith("s13_"):  # the text is that of the validator it happened to use
        assert answer["error"] == expected["error"]
    else:
        assert answer == expected


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line["id"]))
def test_strict_differs_only_where_it_says_so(line: dict[str, Any]) -> None:
    """Where nothing is wrong: the same workloads, keys, and arguments but for a leading space."""
    answer = answer_strict(line["input"])
    if answer["errors"]:
        return
    theirs = {
        (space["namespace"], name): (shard["shard_key"], shard["extra_args"].strip())
        for space in line["expect"]
        for one in space["integrations"]
        for name, shard in zip(one["workloads"], one["shards"], strict=True)
    }
    ours = {
        (space["namespace"], shard["workload"]): (shard["key"], shard["arguments"])
        for space in answer["namespaces"]
        for one in space["integrations"]
        for shard in one["shards"]
    }
    sub_sharded = {key for key in ours if key not in theirs}
    assert {key: value for key, value in ours.items() if key not in sub_sharded} == {
        key: value for key, value in theirs.items() if key in ours
    }


def test_no_vector_is_lost() -> None:
    """All recorded lines are compared."""
    assert (len(LINES), len(SAMPLES)) == (80, 11)


@pytest.mark.parametrize(
    "key, owners",
    [
        ("saas-qontract-reconcile", (0, 1, 1, 6)),
        ("app-sre", (0, 1, 0, 10)),
        ("ter-int-dev", (1, 0, 2, 17)),
        ("appsrep05ue1/app-interface-production", (0, 2, 1, 6)),
        ("app-sre-stage-01/app-interface-stage", (0, 2, 1, 6)),
        ("", (0, 0, 1, 6)),
        ("é", (1, 1, 0, 15)),
    ],
)
def test_a_key_has_the_owner_it_always_had(key: str, owners: tuple[int, ...]) -> None:
    """Of 2, 3, 5 and 20 shards."""
    assert tuple(owner(key, count) for count in (2, 3, 5, 20)) == owners
    for count, index in zip((2, 3, 5, 20), owners, strict=True):
        shards = [Shard.from_env({"SHARDS": str(count), "SHARD_ID": str(i)}) for i in range(count)]
        assert [shard.owns(key) for shard in shards] == [i == index for i in range(count)]
