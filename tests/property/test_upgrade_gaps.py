"""Law: a worker that reads less starts nothing that was not safe with everything read.

Some clusters lose policies, node pools and agreements, as they do when OpenShift Cluster Manager
does not answer, and are said to be unread; or a whole organisation is said to be read in part.
"""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_upgrade_laws import KEYS, answer, braked, started, worlds

LOST = ("upgrade_policies", "node_pools", "gate_agreements")


@st.composite
def gapped(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A world as it is, and what is read of it: some of who has something to lose lost all."""
    world = draw(worlds())
    world["orgs"][0]["quarantine_after"] = draw(st.sampled_from((0, 1, 2)))
    for each in world["clusters"]:
        each["labels"] |= {"who": each["id"], "soak-days": "0"}
    losers = [each["id"] for each in world["clusters"] if any(each[field] for field in LOST)]
    unread = {each for each in losers if draw(st.booleans())}
    gone: dict[str, list[Any]] = {field: [] for field in LOST if draw(st.integers(0, 9))}
    clusters = [{**each, **(gone if each["id"] in unread else {})} for each in world["clusters"]]
    why = {each["external_id"]: "no answer" for each in clusters if each["id"] in unread}
    return world, {**world, "clusters": clusters, "unread": why}


def alone(world: dict[str, Any], ident: str) -> dict[str, Any]:
    """The world in which only this cluster may start, as whatever is under way goes on."""
    rest = [{"key": "who", "operator": "NotIn", "values": [ident]}]
    pin = {"name": "p", "scope": {"selector": {"matchExpressions": rest}}, "owner": "o"}
    return braked(world, pins=[{**pin, "reason": "r"}])


@settings(max_examples=120)
@given(gapped())
def test_what_starts_with_gaps_would_start_without(pair: tuple[Any, Any]) -> None:
    """Or something newer would; and nothing is asked of who was not read."""
    whole, read = pair
    going = started(answer(read))
    unread = {each["id"] for each in read["clusters"] if each["external_id"] in read["unread"]}
    assert not unread & going.keys()
    for ident, (version, _) in going.items():
        sure = started(answer(alone(whole, ident)))
        assert KEYS[sure[ident][0]] >= KEYS[version]


@given(gapped())
def test_who_was_not_read_adds_nothing_to_soak(pair: tuple[Any, Any]) -> None:
    """Neither more than what was seen, nor a name among those that report."""
    whole, read = (answer(each)["state"]["prod/o"]["versions"] for each in pair)
    for version, found in read.items():
        for workload, soak in found["workloads"].items():
            sure = whole[version]["workloads"][workload]
            assert soak["soak_days"] <= sure["soak_days"]
            assert set(soak["reporting"]) <= set(sure["reporting"])


@given(gapped())
def test_no_one_is_notified_that_we_could_not_read(pair: tuple[Any, Any]) -> None:
    """Owners get the notices they would get with everything read."""
    whole, read = (
        {msgspec.json.encode(each) for each in answer(one)["writes"] if "service_logs" in each[1]}
        for one in pair
    )
    read = {each for each in read if b"agreements" not in each}  # a fall-back may lack another one
    assert read <= whole


@given(worlds())
def test_an_organisation_read_in_part_starts_nothing(world: dict[str, Any]) -> None:
    """What is blocked is taken back; no one is notified; what it runs at least never rises."""
    world["orgs"][0]["partial"] = "a list changed"
    kept = {"min_version": "4.11.1", "min_version_per_workload": {"w9": "4.11.1"}}
    world["state"]["prod/o"]["stats"] = kept
    found = answer(world)
    assert {method for method, _, _ in found["writes"]} <= {"DELETE"}
    stats = found["state"]["prod/o"]["stats"]
    assert stats["min_version"] == "4.11.1"
    assert stats["min_version_per_workload"]["w9"] == "4.11.1"


@settings(max_examples=120)
@given(worlds(), st.data())
def test_a_subscription_that_is_not_in_use_lets_nothing_more_start(
    world: dict[str, Any], data: st.DataObject
) -> None:
    """What starts beside it would start, by itself, with all subscriptions in use."""
    for each in world["clusters"]:
        each["labels"] |= {"who": each["id"], "soak-days": "0"}
    idents = [each["id"] for each in world["clusters"]]
    away = data.draw(st.sets(st.sampled_from(idents))) if idents else set()
    clusters = [
        {**each, **({"subscription_status": "Stale"} if each["id"] in away else {})}
        for each in world["clusters"]
    ]
    going = started(answer({**world, "clusters": clusters}))
    assert not away & going.keys()
    for ident, (version, _) in going.items():
        assert KEYS[started(answer(alone(world, ident)))[ident][0]] >= KEYS[version]
