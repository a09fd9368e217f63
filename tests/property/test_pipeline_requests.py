"""Merge requests of a pipeline: no promotion is lost, none is in two, and taking apart ends."""

import math
from collections.abc import Iterable, Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    ChecksResult,
    CloseCause,
    DeclinedRequest,
    FailedBatch,
    HeldPromotion,
    RequestAct,
    RequestOrigin,
    RequestPlan,
    RequestsWorld,
    RequestVerb,
    SeenRequest,
    SubscriberChange,
    promotion_of,
)
from tidegate.kinds.promotions.core.requests.plan import plan_requests
from tidegate.kinds.promotions.core.requests.reasons import RequestReason
from tidegate.model.reason import Outcome

NAMES = [f"channel-{number:02}" for number in range(20)]
HOLD = "do-not-merge/hold"


def promotion(name: str, version: str = "v1") -> ChannelPromotion:
    """One promotion of one channel."""
    change = SubscriberChange(
        file=f"/{name}.yml", template="t", namespace="/ns.yml", name=name, old="v0", version=version
    )
    return promotion_of((name,), (change,))


PROMOTIONS = {(name, each): promotion(name, each) for name in NAMES for each in ("v1", "v2")}
ALL = {each.content: each for each in PROMOTIONS.values()}


def held(one: ChannelPromotion) -> HeldPromotion:
    return HeldPromotion(one.channels, one.content)


versions = st.sampled_from(("v1", "v1", "v1", "v2"))


@st.composite
def worlds(draw: st.DrawFn) -> RequestsWorld:
    """Any state: also such as no worker brings about, with requests that share promotions."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=12))
    wanted = tuple(PROMOTIONS[name, draw(versions)] for name in names)
    contents = st.frozensets(st.sampled_from(sorted(ALL)), min_size=1, max_size=5)
    failed = draw(st.lists(contents, max_size=3))
    declined = draw(st.lists(contents, max_size=1))
    return RequestsWorld(
        pipeline="web",
        wanted=tuple(draw(st.permutations(wanted))),
        requests=tuple(draw(request(number)) for number in range(1, draw(st.integers(1, 6)))),
        failed=tuple(FailedBatch(each, 100 + at) for at, each in enumerate(failed)),
        declined=tuple(DeclinedRequest(each, 200 + at) for at, each in enumerate(declined)),
        limit=draw(st.integers(1, 6)),
        adopt=draw(st.booleans()),
        labels=draw(st.sampled_from([(), ("a",)])),
        hold_labels=frozenset((HOLD,)),
    )


@st.composite
def request(draw: st.DrawFn, number: int) -> SeenRequest:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4))
    holds = [held(PROMOTIONS[name, draw(versions)]) for name in sorted(names)]
    unreadable = draw(st.sampled_from(("", "", "", "", "", "no block")))
    existing = RequestOrigin.EXISTING, RequestOrigin.TIDEGATE
    origin = draw(st.sampled_from((*existing[:1], *existing[1:] * 4)))
    if origin is RequestOrigin.EXISTING:
        union = tuple(sorted({channel for each in holds for channel in each.channels}))
        holds = [HeldPromotion(union, "0" * 32)]
    return SeenRequest(
        number=number,
        url=f"https://forge.example.com/{number}",
        branch=f"tidegate/{number}",
        holds=() if unreadable else tuple(holds),
        batchable=draw(st.booleans()),
        check=draw(st.sampled_from(ChecksResult)),
        conflict=draw(st.sampled_from((False, False, True))),
        foreign=draw(st.sampled_from(("", "", "", 'c0ffee "fix" by Jane Doe'))),
        labels=frozenset(draw(st.sampled_from([("a",), (), ("a", HOLD)]))),
        unreadable=unreadable,
        origin=origin,
    )


def of(plan: RequestPlan, *verbs: RequestVerb) -> list[RequestAct]:
    return [each for each in plan.acts if each.verb in verbs]


def channels_of(acts: Iterable[RequestAct | SeenRequest]) -> list[tuple[str, ...]]:
    return [each.channels for act in acts for each in act.holds]


def fixed(world: RequestsWorld, one: SeenRequest) -> bool:
    """Whether a request is never touched."""
    if one.origin is RequestOrigin.EXISTING:
        return not world.adopt
    return bool(one.foreign)


@given(worlds())
def test_every_wanted_promotion_has_one_answer(world: RequestsWorld) -> None:
    """Nothing is lost: it is in a request that stays, or what keeps it out is said."""
    plan = plan_requests(world)
    assert set(plan.said) == {each.channels for each in world.wanted}
    staying = {each.number for each in of(plan, RequestVerb.UPDATE, RequestVerb.LEAVE)}
    opened = set(channels_of(of(plan, RequestVerb.OPEN, RequestVerb.UPDATE)))
    for each in world.wanted:
        said = plan.said[each.channels]
        held_by = [one for one in world.requests if one.carries(each.channels)]
        if said.outcome is Outcome.PASS:
            assert each.channels in opened
        elif not any(one.number in staying for one in held_by):
            named = {RequestReason.RequestClosing} if held_by else set()
            named |= {RequestReason.RequestDeclined, RequestReason.RequestsUncertain}
            assert said.reason in named


@given(worlds())
def test_nothing_is_offered_that_an_open_request_holds(world: RequestsWorld) -> None:
    """Not even one that is closed by the same plan; and no two new requests share a promotion."""
    plan = plan_requests(world)
    opened = channels_of(of(plan, RequestVerb.OPEN))
    assert len(opened) == len(set(opened))
    assert not [one for one in opened for each in world.requests if each.carries(one)]
    known = {each.number: len(each.holds) for each in world.requests}
    for act in of(plan, RequestVerb.UPDATE):
        added = act.holds if act.number is None else set(channels_of([act]))
        assert len(added) == len(act.holds) >= known[act.number or 0]
        assert not set(channels_of([act])) & set(opened)


@given(worlds())
def test_no_request_is_made_over_its_limit(world: RequestsWorld) -> None:
    """One that was larger before the limit was lowered stays as it is."""
    sizes = {each.number: len(each.holds) for each in world.requests}
    for act in plan_requests(world).due():
        if act.verb is RequestVerb.OPEN and act.batchable:
            assert len(act.holds) <= world.limit
        if act.verb is RequestVerb.UPDATE and act.number is not None:
            assert len(act.holds) <= max(world.limit, sizes[act.number])


@given(worlds())
def test_work_of_a_person_is_neither_changed_nor_closed(world: RequestsWorld) -> None:
    """It is left with a reason that names it; requests of the existing manager likewise."""
    plan = plan_requests(world)
    acts = {each.number: each for each in plan.acts if each.number is not None}
    assert set(acts) == {each.number for each in world.requests}
    for each in world.requests:
        if fixed(world, each):
            assert acts[each.number].verb is RequestVerb.LEAVE
            assert acts[each.number].verdict.outcome is not Outcome.PASS


@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_what_was_seen_does_not_matter(world: RequestsWorld, dice: Random) -> None:
    """The same set of facts is the same plan."""
    parts = {}
    for name in ("wanted", "requests", "failed", "declined"):
        values = list(getattr(world, name))
        dice.shuffle(values)
        parts[name] = tuple(values)
    assert plan_requests(replace(world, **parts)) == plan_requests(world)


def fate(world: RequestsWorld, one: SeenRequest) -> str:
    """What is to be done about a request, said as plainly as can be."""
    if one.origin is RequestOrigin.EXISTING:
        return "close" if world.adopt else "leave"
    if one.foreign:
        return "leave"
    wanted = {each.content for each in world.wanted}
    is_old = any(each.content not in wanted for each in one.holds)
    is_bad_batch = one.check is ChecksResult.FAILED and len(one.holds) > 1
    if one.unreadable or is_old or is_bad_batch:
        return "close"
    for other in world.requests:
        shares = any(other.carries(each.channels) for each in one.holds)
        if shares and fixed(world, other):
            return "close"
        stays = other.number < one.number and fate(world, other) != "close"
        if shares and stays:
            return "close"
    lacks = bool(set(world.labels) - one.labels)
    return "update" if one.conflict or lacks else "leave"


@given(worlds())
def test_a_plain_reading_of_the_rules_agrees(world: RequestsWorld) -> None:
    """Each request's fate, worked out one by one; one with room may be extended instead."""
    plan = plan_requests(world)
    acts = {each.number: each for each in plan.acts if each.number is not None}
    for each in world.requests:
        act = acts[each.number]
        if act.verdict.reason is RequestReason.RequestExtended:
            assert (fate(world, each), each.batchable) == ("leave", True)
        else:
            assert act.verb.value == fate(world, each), act


def carried_out(world: RequestsWorld, acts: Sequence[RequestAct]) -> RequestsWorld:
    """The world once some acts were done."""
    requests = {each.number: each for each in world.requests}
    failed = list(world.failed)
    for act in acts:
        if act.verb is RequestVerb.OPEN:
            number = max((*requests, *(each.number for each in failed)), default=0) + 1
            requests[number] = SeenRequest(
                number=number, url="", branch=act.key, holds=act.holds, batchable=act.batchable
            )
            continue
        assert act.number is not None
        if act.verb is RequestVerb.UPDATE:
            requests[act.number] = replace(requests[act.number], holds=act.holds)
            continue
        gone = requests.pop(act.number)
        if act.cause is CloseCause.FAILED:
            contents = frozenset(each.content for each in gone.holds)
            failed.append(FailedBatch(contents, act.number))
    return replace(world, requests=tuple(requests.values()), failed=tuple(failed))


def checked(world: RequestsWorld, bad: frozenset[str]) -> RequestsWorld:
    """Every request was checked, and those that passed were merged."""
    merged: set[str] = set()
    left: list[SeenRequest] = []
    for each in world.requests:
        contents = {one.content for one in each.holds}
        if contents & bad:
            left.append(replace(each, check=ChecksResult.FAILED))
        else:
            merged |= contents
    wanted = tuple(each for each in world.wanted if each.content not in merged)
    return replace(world, wanted=wanted, requests=tuple(left))


@given(st.integers(1, 20), st.data())
def test_culprits_are_found_by_halves(size: int, data: st.DataObject) -> None:
    """In so many steps of checks as a batch can be halved; all others are merged by then."""
    promotions = [PROMOTIONS[name, "v1"] for name in NAMES[:size]]
    contents = [each.content for each in promotions]
    bad = frozenset(data.draw(st.sets(st.sampled_from(contents))))
    limit = data.draw(st.integers(1, 20))
    world = RequestsWorld(pipeline="web", wanted=tuple(promotions), limit=limit)
    steps, steps_max = 0, 1 + math.ceil(math.log2(min(limit, size)))
    while due := plan_requests(world).due():
        assert steps <= steps_max, f"{steps} steps of checks, and more to come"
        # A worker may be killed after any act: the rest is planned again.
        some = due[: data.draw(st.integers(1, len(due)))]
        world = carried_out(world, some)
        if len(some) == len(due) and not any(each.verb is RequestVerb.CLOSE for each in some):
            world, steps = checked(world, bad), steps + 1
    assert steps <= steps_max
    assert {each.content for each in world.wanted} == bad
    said = plan_requests(world).said
    assert {each.reason for each in said.values()} <= {RequestReason.CulpritFound}
    assert all(len(each.holds) == 1 for each in world.requests)


@given(worlds())
def test_what_is_done_is_done(world: RequestsWorld) -> None:
    """Once every act was carried out, and what was closed is gone, nothing is due."""
    world = replace(world, labels=(), requests=tuple(replace(each, conflict=False)
        for each in world.requests))  # fmt: skip
    for _ in range(3):
        world = carried_out(world, plan_requests(world).due())
    assert plan_requests(world).due() == ()


def test_the_check_of_a_batch_can_fail() -> None:
    """One bad of five: three steps of checks and five requests, not one for each promotion."""
    promotions = tuple(PROMOTIONS[name, "v1"] for name in NAMES[:5])
    order = sorted(each.content for each in promotions)
    bad = frozenset(order[3:4])
    world = RequestsWorld(pipeline="web", wanted=promotions)
    sizes = []
    for _ in range(3):
        while due := plan_requests(world).due():
            sizes += [len(each.holds) for each in due if each.verb is RequestVerb.OPEN]
            world = carried_out(world, due)
        world = checked(world, bad)
    assert sizes[:1] == [5]
    assert sorted(sizes[1:3]) == [2, 3]
    assert sizes[3:] == [1, 1]
    (left,) = world.requests
    assert [each.content for each in left.holds] == list(bad)
