"""Which merge requests of a pipeline are opened, extended, taken apart, closed or left, and why.

Each open request is judged first, by itself and in the order of their numbers; then what no open
request holds is put together. Nothing is offered for channels that an open request holds, not even
in a plan that closes it: it is offered once that request is seen to be closed. So no crash between
two acts makes two requests of one promotion.

A batch whose check failed is closed, and its halves are offered, each in a request of its own that
takes in nothing else; a half that fails is halved again. A promotion that fails alone is the
culprit: its request stays. Worked numbers: of five promotions the fourth is bad. Checked are 5,
then 3 and 2 (4 and 5), then 1 and 1: three steps, and four promotions go on.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from tidegate.kinds.promotions.core.requests.carried import CarriedChannels
from tidegate.kinds.promotions.core.requests.judgement import judge, shown_number
from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    Combination,
    FailedBatch,
    HeldPromotion,
    RequestAct,
    RequestPlan,
    RequestsWorld,
    RequestVerb,
    SeenRequest,
    request_key,
)
from tidegate.kinds.promotions.core.requests.reasons import RequestReason
from tidegate.model.verdict import Verdict, verdict


def plan_requests(world: RequestsWorld) -> RequestPlan:
    """What is done about every request, and what is said of every wanted promotion.

    The wanted promotions have different channels each; the limit is at least one.
    """
    judged = judge(world)
    closed = _ShutPromotions(world, judged)
    said: dict[Combination, Verdict] = {}
    free: list[ChannelPromotion] = []
    for each in sorted(world.wanted, key=lambda one: one.channels):
        shut = closed.of(each)
        if shut is None:
            free.append(each)
        else:
            said[each.channels] = shut
    fresh, suspects = _parted(world, free)
    rest = deque(fresh)
    acts = [*_extended(world, judged, rest), *_halves(suspects)]
    acts += [_opened(some) for some in _chunks(tuple(rest), world.limit)]
    for act in acts:
        if act.verb in (RequestVerb.OPEN, RequestVerb.UPDATE):
            said |= {each.channels: act.verdict for each in act.holds if each.channels not in said}
    order = list(RequestVerb)
    acts.sort(key=lambda act: (order.index(act.verb), act.number or 0, act.key))
    return RequestPlan(acts=tuple(acts), said=said)


class _ShutPromotions:
    """Why a promotion is not offered now: a request holds it, or a person declined it."""

    def __init__(
        self, world: RequestsWorld, judged: Sequence[tuple[SeenRequest, RequestAct]]
    ) -> None:
        self._carried = CarriedChannels(request for request, _ in judged)
        self._acts = {request.number: act for request, act in judged}
        self._uncertain = next(
            (each for each, act in judged if each.unreadable and act.verb is RequestVerb.LEAVE),
            None,
        )
        # The first that names a content counts.
        ordered = reversed(world.declined)
        self._declined = {content: each for each in ordered for content in each.contents}

    def of(self, promotion: ChannelPromotion) -> Verdict | None:
        """The reason; None: it is free."""
        request = self._carried.first(promotion.channels)
        if request is not None:
            act = self._acts[request.number]
            if act.verb is RequestVerb.CLOSE:
                return verdict(RequestReason.RequestClosing, shown_number(request))
            return act.verdict
        if self._uncertain is not None:
            facts = shown_number(self._uncertain), self._uncertain.unreadable
            return verdict(RequestReason.RequestsUncertain, *facts)
        declined = self._declined.get(promotion.content)
        if declined is not None:
            by = declined.by or "a person"
            return verdict(RequestReason.RequestDeclined, by, f"!{declined.number}")
        return None


def _parted(
    world: RequestsWorld, free: Iterable[ChannelPromotion]
) -> tuple[list[ChannelPromotion], dict[FailedBatch, list[ChannelPromotion]]]:
    """Those that never failed, and the others by the smallest batch that they failed in."""
    order = sorted(world.failed, key=lambda one: (len(one.contents), one.number), reverse=True)
    smallest = {content: one for one in order for content in one.contents}
    fresh: list[ChannelPromotion] = []
    suspects: dict[FailedBatch, list[ChannelPromotion]] = {}
    for each in free:
        batch = smallest.get(each.content)
        if batch is None:
            fresh.append(each)
        else:
            suspects.setdefault(batch, []).append(each)
    return fresh, suspects


def _halves(suspects: dict[FailedBatch, list[ChannelPromotion]]) -> Iterator[RequestAct]:
    """Each failed batch as two requests, with what is wanted of it still."""
    for batch, promotions in suspects.items():
        order = sorted(batch.contents)
        first = set(order[: (len(order) + 1) // 2])
        for is_first in (True, False):
            half = [each for each in promotions if (each.content in first) is is_first]
            if half:
                facts = len(half), len(order), f"!{batch.number}"
                why = verdict(RequestReason.RequestHalved, *facts)
                yield _open(half, why, batchable=False)


def _extended(
    world: RequestsWorld,
    judged: Sequence[tuple[SeenRequest, RequestAct]],
    fresh: deque[ChannelPromotion],
) -> Iterator[RequestAct]:
    """Every act about an open request; those with room take from what was never offered."""
    for request, act in judged:
        room = world.limit - len(request.holds) if _may_grow(world, request, act) else 0
        joining = [fresh.popleft() for _ in range(min(max(room, 0), len(fresh)))]
        if not joining:
            yield act
            continue
        why = verdict(RequestReason.RequestExtended, len(joining), shown_number(request))
        yield RequestAct(
            verb=RequestVerb.UPDATE,
            verdict=why,
            holds=_held((*request.holds, *joining)),
            number=request.number,
        )


def _may_grow(world: RequestsWorld, request: SeenRequest, act: RequestAct) -> bool:
    """One that passed its check is about to be merged, and is not checked anew."""
    waits = act.verdict.reason in (RequestReason.RequestUnchecked, RequestReason.RequestChecking)
    return waits and request.batchable and not request.labels & world.hold_labels


def _chunks(
    promotions: Sequence[ChannelPromotion], size: int
) -> Iterator[Sequence[ChannelPromotion]]:
    for at in range(0, len(promotions), size):
        yield promotions[at : at + size]


def _opened(promotions: Sequence[ChannelPromotion]) -> RequestAct:
    return _open(promotions, verdict(RequestReason.RequestNew, len(promotions)), batchable=True)


def _open(promotions: Sequence[ChannelPromotion], why: Verdict, *, batchable: bool) -> RequestAct:
    return RequestAct(
        verb=RequestVerb.OPEN,
        verdict=why,
        holds=_held(promotions),
        key=request_key(each.content for each in promotions),
        batchable=batchable,
    )


def _held(promotions: Iterable[ChannelPromotion | HeldPromotion]) -> tuple[HeldPromotion, ...]:
    held = (HeldPromotion(each.channels, each.content) for each in promotions)
    return tuple(sorted(held, key=lambda each: each.channels))
