"""However sharding is spelt, it means one thing; what disagrees with itself is refused."""

from textwrap import indent

import pytest

from tests.bundles import PRODUCTION, integration, said, with_integration
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.sharding.model import Sharding

RESOURCES = "resources: {requests: {cpu: 100m, memory: 100Mi}}"
ACCOUNT = "{$ref: /aws/ter-int-dev/account.yml}"


def managed(beside: str = "", within: str = "") -> str:
    """An entry of `managed`, with something beside its spec and something in it."""
    return (
        f"- namespace: {{$ref: {PRODUCTION}}}\n{indent(beside, '  ')}\n"
        f"  spec:\n    {RESOURCES}\n{indent(within, '    ')}\n"
    )


def sharding_of(entry: str) -> Sharding:
    bundle = with_integration(integration(entry))
    assert not bundle.errors, said(bundle.findings)
    return INTEGRATIONS.of(bundle).integrations[0].managed[0].sharding


SPELLINGS = [
    managed(f"sharding: {{strategy: per-aws-account, shardSpecOverrides: [{{shard: {shard}, "
            "imageRef: foo}]}")
    for shard in (ACCOUNT, "ter-int-dev")
] + [
    managed(f"sharding:\n  strategy: per-aws-account\n  {name}:\n  - shard: ter-int-dev\n"
            "    imageRef: foo")
    for name in ("shardSpecOverrides", "shardSpecOverride")
] + [
    managed("", f"sharding:\n  strategy: per-aws-account\n  {name}:\n  - shard: ter-int-dev\n"
                "    imageRef: foo")
    for name in ("shardSpecOverrides", "shardSpecOverride")
] + [
    managed(f"{name}:\n- {field}\n  imageRef: foo", "shardingStrategy: per-aws-account")
    for name in ("shardSpecOverrides", "shardSpecOverride")
    for field in (
        f"shard: {ACCOUNT}",
        f"awsAccount: {ACCOUNT}",
        f"awsAccounts: {ACCOUNT}",
        f"awsAccounts: [{ACCOUNT}]",
        f"shardingStrategy: per-aws-account\n  awsAccount: {ACCOUNT}",
    )
] + [
    # Said twice, and the same both times; and the strategy said by the override alone.
    managed("sharding: {strategy: per-aws-account}\n"
            f"shardSpecOverride: [{{shard: {ACCOUNT}, imageRef: foo}}]",
            "shardingStrategy: per-aws-account"),
    managed(f"shardSpecOverride: [{{shardingStrategy: per-aws-account, awsAccount: {ACCOUNT}, "
            "imageRef: foo}]"),
]  # fmt: skip


@pytest.mark.parametrize("entry", SPELLINGS)
def test_every_spelling_means_the_same(entry: str) -> None:
    """One strategy, one override, of one shard."""
    found = sharding_of(entry)
    assert found.strategy == "per-aws-account"
    assert [(each.shard, each.image_ref) for each in found.overrides] == [("ter-int-dev", "foo")]


@pytest.mark.parametrize(
    "entry",
    [
        managed("sharding: {strategy: static, shards: 3}"),
        managed("", "sharding: {strategy: static, shards: 3}"),
        managed("", "shardingStrategy: static\nshards: 3"),
        managed("", "shards: 3"),
        managed("sharding: {strategy: static}", "shards: 3"),
    ],
)
def test_a_count_may_stand_in_every_place(entry: str) -> None:
    """Three shards, wherever that is said."""
    assert (sharding_of(entry).strategy, sharding_of(entry).shards) == ("static", 3)


@pytest.mark.parametrize("strategy, shard, name", [
    ("static", "1", "1"),
    ("static", '"1"', "1"),
    ("per-ocm-organization", "1AbCdEf", "ocm-production"),
    ("per-ocm-organization", "ocm-production", "ocm-production"),
    ("per-ocm-organization", "{$ref: /ocm/production.yml}", "ocm-production"),
    ("per-cloudflare-zone", "main-example-com", "example-com"),
    ("per-cloudflare-dns-zone", "{$ref: /cloudflare/zone.yml}", "example-com"),
    ("per-openshift-cluster", "tiny", "tiny"),
])  # fmt: skip
def test_a_shard_is_known_by_name_by_id_and_by_file(strategy: str, shard: str, name: str) -> None:
    """All three are one shard."""
    count = ", shards: 2" if strategy == "static" else ""
    override = f"shardSpecOverrides: [{{shard: {shard}, imageRef: foo}}]"
    found = sharding_of(managed(f"sharding: {{strategy: {strategy}{count}, {override}}}"))
    assert [each.shard for each in found.overrides] == [name]


@pytest.mark.parametrize("entry, problem", [
    (managed("sharding: {strategy: static, shards: 3}", "shards: 4"),
     'the number of shards is 4 here and 3 in managed[0].sharding.shards'),
    (managed("sharding: {strategy: per-aws-account}", "shardingStrategy: static"),
     'the strategy is "static" here and "per-aws-account" in managed[0].sharding.strategy'),
    (managed("shardSpecOverrides: [{shard: tiny, imageRef: a}]\n"
             "shardSpecOverride: [{shard: tiny, imageRef: b}]",
             "shardingStrategy: per-openshift-cluster"),
     "says something else than managed[0].shardSpecOverrides"),
    (managed("shardSpecOverride: [{shard: app-sre, "
             f"awsAccount: {ACCOUNT}, imageRef: a}}]", "shardingStrategy: per-aws-account"),
     "awsAccount and shard name different shards"),
    (managed("shardSpecOverride: [{shardingStrategy: static, shard: app-sre, imageRef: a}]",
             "shardingStrategy: per-aws-account"),
     '"static" here, "per-aws-account" for all shards'),
    (managed("sharding: {strategy: per-aws-account, shardSpecOverrides: [{imageRef: a}]}"),
     "for no shard"),
    (managed("sharding: {strategy: per-aws-account, shardSpecOverrides: "
             "[{shard: {$ref: /clusters/tiny/cluster.yml}, imageRef: a}]}"),
     '"/clusters/tiny/cluster.yml" is a cluster, and per-aws-account splits by an AWS account'),
    (managed(f"sharding: {{strategy: static, shardSpecOverrides: [{{shard: {ACCOUNT}, "
             "imageRef: a}]}"),
     "static shards have no file"),
])  # fmt: skip
def test_what_disagrees_is_refused(entry: str, problem: str) -> None:
    """Of two values it is asked which one is meant; that integration runs nowhere."""
    bundle = with_integration(integration(entry))
    assert problem in [each.message for each in bundle.findings]
    assert all(each.line > 1 for each in bundle.findings)
    assert INTEGRATIONS.of(bundle).integrations[0].managed == ()


def test_one_bad_place_leaves_the_others() -> None:
    """An integration that is wrong in one namespace still runs in the other."""
    good = managed("sharding: {strategy: static, shards: 2}")
    bad = managed("sharding: {strategy: static, shards: 4}", "shards: 3")
    bundle = with_integration(integration(bad + good))
    assert [each.sharding.shards for each in INTEGRATIONS.of(bundle).integrations[0].managed] == [2]
    assert bundle.errors
