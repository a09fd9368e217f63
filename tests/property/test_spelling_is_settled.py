"""Spelling a thing once more changes nothing; and no spelling crashes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.integrations.bundle.canonical import spelt

COUNTS = st.integers(0, 9)
STRATEGIES = st.sampled_from(
    ["static", "per-aws-account", "per-cloudflare-dns-zone", "per-cloudflare-zone", "nonsense"]
)
REFS = st.sampled_from([{"$ref": "/aws/a/account.yml"}, {"$ref": "/aws/b/account.yml"}])
AMOUNTS = st.sampled_from([1, 2, 0.5, "100m", "2Gi"])
RESOURCES = st.fixed_dictionaries(
    {"requests": st.fixed_dictionaries({}, optional={"cpu": AMOUNTS, "memory": AMOUNTS})}
)
OVERRIDES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "shard": st.one_of(REFS, st.sampled_from(["a", "b"]), COUNTS),
            "awsAccount": REFS,
            "awsAccounts": st.one_of(REFS, st.lists(REFS, min_size=1, max_size=2)),
            "shardingStrategy": STRATEGIES,
            "imageRef": st.sampled_from(["foo", "bar"]),
            "disabled": st.booleans(),
            "resources": RESOURCES,
            "subSharding": st.fixed_dictionaries({"shards": COUNTS}),
        },
    ),
    max_size=2,
)
SHARDING = st.fixed_dictionaries(
    {},
    optional={
        "strategy": STRATEGIES,
        "shards": COUNTS,
        "shardSpecOverrides": OVERRIDES,
        "shardSpecOverride": OVERRIDES,
    },
)
MANAGED = st.fixed_dictionaries(
    {
        "namespace": st.just({"$ref": "/n.yml"}),
        "spec": st.fixed_dictionaries(
            {"resources": RESOURCES},
            optional={
                "sharding": SHARDING,
                "shardingStrategy": STRATEGIES,
                "shards": COUNTS,
                "shardSpecOverrides": OVERRIDES,
                "shardSpecOverride": OVERRIDES,
                "imageRef": st.just("foo"),
            },
        ),
    },
    optional={
        "sharding": SHARDING,
        "shardSpecOverrides": OVERRIDES,
        "shardSpecOverride": OVERRIDES,
    },
)


@given(MANAGED)
def test_what_was_spelt_stays_as_it_is(managed: dict[str, Any]) -> None:
    """Normal form is normal: it comes out as it went in, and nothing is said against it."""
    once = spelt(managed, ("managed", 0))
    twice = spelt(once.managed, ("managed", 0))
    assert twice.managed == once.managed
    assert not twice.faults
    assert set(once.managed) <= {"namespace", "spec", "sharding"}
    overrides = once.managed.get("sharding", {}).get("shardSpecOverrides", ())
    assert len(once.overrides_at) == len(overrides)
