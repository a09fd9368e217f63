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


_wheres = st.tuples(st.sampled_from(CLUSTERS), st.sampled_from(NAMESPACES))
_shards = st.sampled_from((None, 1, 2, 3))
_caches = st.sampled_from((False, False, True))
_arguments = st.sampled_from(("", "--x"))
_flags = st.booleans()


@st.composite
def places(draw: st.DrawFn, here: bool = False) -> Any:
    """One place, split or not, staged or not."""
    where = namespace(*draw(_wheres))
    where = namespace() if here else where
    accounts = draw(_flags)
    return managed(
        draw(_images),
        where,
        accounts=accounts,
        shards=None if accounts else draw(_shards),
        overrides=draw(_overrides) if accounts else (),
        rollout=staged() if draw(_flags) else None,
        overlap=not here and draw(_flags),
        cache=draw(_caches),
        extraArgs=draw(_arguments),
    )


_names = st.sets(st.sampled_from("abcd"))
_places = st.lists(places(), max_size=2, unique_by=lambda each: each.namespace.path)
_accounts = st.sampled_from((("one", "two"), ("one", "two", "three")))


@st.composite
def estates(draw: st.DrawFn) -> Estate:
    """A few integrations in a few places."""
    made = [integration(name, *draw(_places)) for name in draw(_names)]
    accounts = draw(_accounts)
    return estate(*sorted(made, key=lambda each: each.name), accounts=accounts)
