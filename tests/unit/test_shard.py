"""What authors of integrations import: exact, small, and honest about bad settings."""

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.shard import MODULO, RENDEZVOUS, Shard, owner


def test_it_imports_nothing_but_the_standard_library() -> None:
    """An import of it loads nothing else of ours."""
    code = (
        "import sys; before = set(sys.modules); import tidegate.shard;"
        "new = {n.partition('.')[0] for n in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names)),"
        "      sorted(n for n in sys.modules if n.startswith('tidegate.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tidegate'] ['tidegate.shard']"


@given(st.text(), st.integers(1, 40), st.sampled_from((MODULO, RENDEZVOUS)))
def test_every_key_has_exactly_one_owner(key: str, count: int, how: str) -> None:
    """Of all shards one and only one says that a key is its own."""
    owners = [i for i in range(count) if Shard(i, count, hash=how).owns(key)]
    assert owners == [owner(key, count, how)]


def test_from_20_to_21_shards_one_key_in_21_moves() -> None:
    """Rendezvous hashing moves what the new shard takes, and nothing else."""
    keys = [f"cluster-{n}/namespace-{n % 7}" for n in range(4000)]
    before, after = ([owner(key, n, RENDEZVOUS) for key in keys] for n in (20, 21))
    moved = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert {b for _, b in moved} == {20}
    assert 4000 / 21 * 0.75 < len(moved) < 4000 / 21 * 1.25
    assert min(Counter(after).values()) > 4000 / 21 * 0.7


@pytest.mark.parametrize(
    "env, words",
    [
        ({"SHARDS": "0"}, "SHARDS=0: write 1 or more"),
        ({"SHARDS": "two"}, "SHARDS=two: not a whole number"),
        ({"SHARDS": "2", "SHARD_ID": "2"}, "SHARD_ID=2: write 0 to 1"),
        ({"SHARD_ID": "-1"}, "SHARD_ID=-1: not a whole number"),
        ({"SHARD_HASH": "md6"}, "SHARD_HASH=md6: write modulo or rendezvous"),
    ],
)
def test_a_bad_setting_is_an_error_with_what_to_write(env: dict[str, str], words: str) -> None:
    """Two shards that think they are the same one are worse than one that does not start."""
    with pytest.raises(ValueError, match=words):
        Shard.from_env(env)
    assert Shard.from_env({}) == Shard(0, 1, "", MODULO)
