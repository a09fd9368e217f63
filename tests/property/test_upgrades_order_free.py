"""Law: where versions and soak days say who comes first, the order of a reading says nothing.

The predecessor looks at clusters by version, then by soak days, and takes ties as they stand. So
clusters of which no two are alike in both are decided alike, in whichever order they are read.
"""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.upgrades.wire.line import answer_compat

VERSIONS = ("4.12.17", "4.12.18", "4.12.19", "4.13.0-rc.1", "4.13.0", "4.13.4")
PLACES = [(version, soak) for version in VERSIONS for soak in (0, 1, 3)]


@st.composite
def clusters(draw: st.DrawFn, name: str, place: tuple[str, int]) -> dict[str, Any]:
    """A cluster at its place in the order, and whatever else may be asked for."""
    version, soak = place
    labels = {
        "soak-days": str(soak),
        "workloads": draw(st.sampled_from(("w1", "w2", "w1,w2"))),
        "schedule": draw(st.sampled_from(("* * * * *", "* * * * *", "0 3 * * 0"))),
        "mutexes": draw(st.sampled_from(("", "m1", "m1,m2"))),
        "sector": draw(st.sampled_from(("", "dev", "prod"))),
    }
    hosted = draw(st.booleans())
    pools = [{"id": "np", "version": draw(st.sampled_from((VERSIONS[0], version)))}]
    policies = [{"id": "p", "version": VERSIONS[-1], "state": "started"}]
    return {
        "name": name,
        "org": "o",
        "version": version,
        "available_upgrades": list(VERSIONS[VERSIONS.index(version) + 1 :]),
        "labels": labels,
        "product": "rosa",
        "hypershift": hosted,
        "available_channels": draw(st.sampled_from(([], ["stable-4.13", "stable-4.14"]))),
        "node_pools": pools if hosted else [],
        "upgrade_policies": draw(st.sampled_from(([], [], policies))),
    }


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """An organisation with two sectors and some soak behind it."""
    places = draw(st.lists(st.sampled_from(PLACES), unique=True, max_size=6))
    limit = draw(st.sampled_from(({}, {"sector-max-parallel-upgrades.dev": "50%"})))
    soak = {"w1": {"soak_days": 2.5, "reporting": ["c0"]}, "w2": {"soak_days": 1.0}}
    kept = {"check_in": "2023-05-09T10:00:00Z", "versions": {"4.13.0": {"workloads": soak}}}
    return {
        "now": "2023-05-10T10:00:00Z",
        "orgs": [{"id": "o", "name": "O", "labels": {"sector-deps.prod": "dev", **limit}}],
        "clusters": [draw(clusters(f"c{at}", place)) for at, place in enumerate(places)],
        "gates": [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}],
        "state": {"prod/o": kept},
    }


@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_a_reading_does_not_matter(world: dict[str, Any], lots: random.Random) -> None:
    """Shuffled clusters get the same upgrades, keep the same soak and the same notices."""
    shuffled = {**world, "clusters": lots.sample(world["clusters"], len(world["clusters"]))}
    assert answer_compat(shuffled) == answer_compat(world)


@given(worlds())
def test_no_mutex_is_taken_twice_in_a_pass(world: dict[str, Any]) -> None:
    """Outside sectors with limits, no two of the upgrades that are asked for share a mutex."""
    world["orgs"][0]["labels"].pop("sector-max-parallel-upgrades.dev", None)
    started = {
        path.split("/")[5] for method, path, _ in answer_compat(world)["writes"] if method == "POST"
    }
    taken = [
        mutex
        for cluster in world["clusters"]
        if f"{cluster['name']}-id" in started
        for mutex in cluster["labels"]["mutexes"].split(",")
        if mutex
    ]
    assert len(taken) == len(set(taken))
