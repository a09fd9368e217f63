"""Estates drawn at random: a few integrations in a few places, split, staged and pinned or not."""

from typing import Any

from hypothesis import strategies as st

from tests.estates import estate, integration, managed, namespace, staged
from tidegate.kinds.integrations.core.sharding.model import Override
from tidegate.kinds.integrations.core.workloads.estate import Estate

CLUSTERS, NAMESPACES = ("c1", "c2"), ("ns", "other")
_images = st.sampled_from(("aaaaaaa", "bbbbbbb"))
_overrides = st.lists(
    st.builds(
        Override,
        shard=st.sampled_from(("one", "two")),
        image_ref=st.sampled_from((None, "ccccccc")),
        disabled=st.booleans(),
        sub_shards=st.sampled_from((None, None, 2)),
    ),
    max_size=2,
    unique_by=lambda each: each.shard,
)


@st.composite
def places(draw: st.DrawFn, here: bool = False) -> Any:
    """One place, split or not, staged or not."""
    where = namespace(draw(st.sampled_from(CLUSTERS)), draw(st.sampled_from(NAMESPACES)))
    where = namespace() if here else where
    accounts = draw(st.booleans())
    return managed(
        draw(_images),
        where,
        accounts=accounts,
        shards=None if accounts else draw(st.sampled_from((None, 1, 2, 3))),
        overrides=draw(_overrides) if accounts else (),
        rollout=staged() if draw(st.booleans()) else None,
        overlap=not here and draw(st.booleans()),
        cache=draw(st.sampled_from((False, False, True))),
        extraArgs=draw(st.sampled_from(("", "--x"))),
    )


@st.composite
def estates(draw: st.DrawFn) -> Estate:
    """A few integrations in a few places."""
    made = [
        integration(
            name,
            *draw(st.lists(places(), max_size=2, unique_by=lambda each: each.namespace.path)),
        )
        for name in draw(st.sets(st.sampled_from("abcd")))
    ]
    accounts = draw(st.sampled_from((("one", "two"), ("one", "two", "three"))))
    return estate(*sorted(made, key=lambda each: each.name), accounts=accounts)
