"""Laws of integrations: names are good and never meet, amounts are exact, overlays are calm."""

import re
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.integrations.core.sharding.model import (
    Integration,
    Managed,
    Namespace,
    Override,
    Sharding,
    ShardKey,
    WorkloadShard,
)
from tidegate.kinds.integrations.core.sharding.names import LENGTH_MAX, workload_name
from tidegate.kinds.integrations.core.sharding.quantity import parse_quantity
from tidegate.kinds.integrations.core.sharding.shards import collisions, shards_of
from tidegate.kinds.integrations.core.workloads.overlay import lay_over
from tidegate.kinds.integrations.core.workloads.workloads import ground_of, render
from tidegate.model.problem import Problems

GOOD = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
names = st.text("abAB01-_. é", min_size=1, max_size=70)


@given(names, names, st.integers(20, LENGTH_MAX))
def test_a_name_is_one_that_kubernetes_takes(integration: str, suffix: str, most: int) -> None:
    """Whatever it is made of."""
    name = workload_name(integration, f"-{suffix}", most)
    assert len(name) <= most
    assert GOOD.fullmatch(name)


@given(st.sets(names, min_size=2, max_size=20))
def test_two_shards_never_get_one_name(suffixes: set[str]) -> None:
    """Unless they differ in nothing, or in nothing but what cannot be distinguished."""
    found = {workload_name("int", f"-{suffix}") for suffix in suffixes}
    assert len(found) == len(suffixes)


amounts = st.builds(
    lambda number, suffix: f"{number}{suffix}",
    st.integers(0, 10**6) | st.decimals(0, 1000, places=3).map(str),
    st.sampled_from(("", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2")),
)


@given(amounts)
def test_an_amount_is_exact(text: str) -> None:
    """A thousand of its thousandth is the amount itself."""
    amount = parse_quantity(text)
    assert amount >= 0
    if text.isdigit():
        assert parse_quantity(f"{text}m") * 1000 == amount == Fraction(text)
        assert parse_quantity(f"{text}Ki") == 1024 * amount


specs = st.fixed_dictionaries(
    {"resources": st.just({"requests": {"cpu": "100m", "memory": "1Gi"}})},
    optional={
        "cache": st.booleans(),
        "state": st.booleans(),
        "imageRef": st.sampled_from(("abc1234", "v2")),
        "extraArgs": st.sampled_from(("", "--a", " --b 1 ")),
        "extraEnv": st.just([{"name": "FLAG", "value": "true"}]),
        "disableUnleash": st.booleans(),
        "environmentAware": st.booleans(),
        "cron": st.just("0 * * * *"),
    },
)


@st.composite
def places(draw: st.DrawFn) -> tuple[Integration, dict[str, list[ShardKey]]]:
    """An integration in one place, and the inventory it is split by."""
    clusters = draw(st.lists(st.sampled_from("abcdefg"), unique=True, max_size=5))
    keys = [ShardKey(name=c, key=c, suffix=f"-{c}", argument=c) for c in clusters]
    overrides = tuple(
        Override(
            shard=c,
            image_ref=draw(st.none() | st.just("pinned")),
            disabled=draw(st.booleans()),
            sub_shards=draw(st.none() | st.integers(1, 3)),
        )
        for c in clusters
        if draw(st.booleans())
    )
    sharding = draw(
        st.builds(Sharding, shards=st.none() | st.integers(1, 4))
        | st.just(Sharding(strategy="per-openshift-cluster", overrides=overrides))
    )
    namespace = Namespace(path="/n.yml", name="n", cluster="c", environment="e")
    managed = Managed(namespace=namespace, spec=draw(specs), sharding=sharding)
    return Integration(name="int", managed=(managed,)), {"clusters": keys}


def shards(
    place: tuple[Integration, dict[str, list[ShardKey]]],
) -> tuple[Managed, tuple[WorkloadShard, ...]]:
    """The shards of a place in which nothing is wrong."""
    integration, inventories = place
    (managed,) = integration.managed
    found = shards_of(integration, managed, inventories, None, problems := Problems())
    collisions(found, problems)
    assert problems.errors == []
    return managed, found


@given(places())
def test_sub_shards_of_a_shard_differ_in_their_number_alone(place: Any) -> None:
    """Same image, same arguments, same everything: they move together."""
    managed, found = shards(place)
    ground = ground_of(managed, {"IMAGE_TAG": "c0ffee0"})
    by_name: dict[str, list[Any]] = {}
    for shard in found:
        if shard.key:
            manifest = render(shard, managed, ground)
            text = repr(manifest).replace(shard.workload, "W")
            text = text.replace(f"'SHARD_ID', 'value': '{shard.index}'", "")
            by_name.setdefault(shard.key, []).append(text)
    assert all(len(set(texts)) == 1 for texts in by_name.values())


@given(places())
def test_a_disabled_shard_is_there_and_does_not_run(place: Any) -> None:
    """Its object stays; nothing of it runs."""
    managed, found = shards(place)
    for shard in found:
        spec = render(shard, managed, ground_of(managed, {"IMAGE_TAG": "c0ffee0"}))["spec"]
        stops = shard.override is not None and shard.override.disabled
        runs = not spec.get("suspend", False) if "schedule" in spec else spec["replicas"] == 1
        assert runs is not stops


@given(places())
def test_an_empty_overlay_changes_nothing_and_any_settles_at_once(place: Any) -> None:
    """Laying the same over twice is laying it over once."""
    managed, found = shards(place)
    patch = {
        "metadata": {"labels": {"site": "x"}, "annotations": None},
        "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "${shard}"}]}}},
    }
    for shard in found:
        manifest = render(shard, managed, ground_of(managed, {"IMAGE_TAG": "c0ffee0"}))
        assert lay_over(manifest, {}, shard) == manifest
        once = lay_over(manifest, patch, shard)
        assert lay_over(once, patch, shard) == once
