"""A simulated cluster's book of owners: whatever two apply in whatever order."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.kubernetes.port import CONFIG_MAP, SERVICE, ApplyOutcome, Object, Take
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.kubernetes.simulated.fields import flatten, unflatten
from tidegate.model.errors import OutsideError

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["1", "2"])
ENV = st.lists(
    st.fixed_dictionaries({"name": KEYS, "value": VALUES}), unique_by=lambda each: each["name"]
)
FIELDS = st.fixed_dictionaries(
    {}, optional={"data": st.dictionaries(KEYS, VALUES), "env": ENV, "flags": st.lists(VALUES)}
)
# Who, and what they apply.
STEPS = st.lists(st.tuples(st.sampled_from(["tidegate", "somebody"]), FIELDS), max_size=6)


def document(fields: dict[str, Any]) -> dict[str, Any]:
    """A document with these fields."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "ns", "name": "a"},
        **fields,
    }


def wishes(found: Object) -> dict[str, Any]:
    """Its fields, without who it is."""
    return {
        key: value
        for key, value in found.document.items()
        if key not in ("apiVersion", "kind", "metadata")
    }


@given(FIELDS)
def test_fields_come_back_as_they_went(fields: dict[str, Any]) -> None:
    """Taking a document apart and putting it together changes nothing."""
    whole = document(fields)
    assert unflatten(dict(flatten(whole))) == whole


@given(STEPS, FIELDS)
def test_what_was_applied_last_counts_and_applied_again_changes_nothing(
    steps: Sequence[tuple[str, dict[str, Any]]], last: dict[str, Any]
) -> None:
    """Every field of it, whatever others applied before; alone, nothing else is there."""

    async def story() -> None:
        api = SimulatedApi("c")
        api.namespaces.add("ns")
        who = {name: SimulatedCluster(api, name) for name in ("tidegate", "somebody")}
        for name, fields in steps:
            await who[name].apply(document(fields), take=Take.OVER)
        after = (await who["tidegate"].apply(document(last), take=Take.OVER)).object
        there = dict(flatten(after.document))
        wanted = {path: value for path, value in flatten(document(last)) if value not in ({}, [])}
        assert wanted.items() <= there.items()
        again = await who["tidegate"].apply(document(last), before=after)
        assert again.outcome is ApplyOutcome.UNCHANGED
        assert again.object == after
        if all(name == "tidegate" for name, _ in steps):
            assert wishes(after) == last

    asyncio.run(story())


def test_a_kind_that_cannot_be_read_is_a_gap() -> None:
    """A fault at one kind leaves the others; at all of them there is no reading."""
    broken = {"read Service"}

    def fault(call: str) -> None:
        if call in broken:
            raise OutsideError(f"c: {call}: not now")

    async def story() -> None:
        api = SimulatedApi("c", fault)
        api.namespaces.add("ns")
        cluster = SimulatedCluster(api)
        await cluster.apply(document({}))
        read = await cluster.read("ns", [CONFIG_MAP, SERVICE])
        assert not read.complete
        assert read.gaps == ("c: read Service: not now",)
        assert [each.name for each in read.objects] == ["a"]
        broken.add("read ConfigMap")
        with pytest.raises(OutsideError):
            await cluster.read("ns", [CONFIG_MAP, SERVICE])

    asyncio.run(story())
