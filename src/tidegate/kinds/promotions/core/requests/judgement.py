"""What is to be done about each open merge request of a pipeline, whatever else is wanted.

The first row that is true of a request decides. Work of a person comes before everything: such a
request is left, even when what it holds is outdated, failed or held twice.
"""

from tidegate.kinds.promotions.core.requests.carried import CarriedChannels
from tidegate.kinds.promotions.core.requests.model import (
    ChecksResult,
    CloseCause,
    RequestAct,
    RequestOrigin,
    RequestsWorld,
    RequestVerb,
    SeenRequest,
)
from tidegate.kinds.promotions.core.requests.reasons import RequestReason
from tidegate.model.verdict import Verdict, verdict

_SAID_OF_CHECK = {
    ChecksResult.NONE: RequestReason.RequestUnchecked,
    ChecksResult.PENDING: RequestReason.RequestChecking,
    ChecksResult.PASSED: RequestReason.RequestChecked,
}
_CLOSE, _UPDATE, _LEAVE = RequestVerb.CLOSE, RequestVerb.UPDATE, RequestVerb.LEAVE


def shown_number(request: SeenRequest) -> str:
    """A request as people name it."""
    return f"!{request.number}"


def judge(world: RequestsWorld) -> list[tuple[SeenRequest, RequestAct]]:
    """Each open request with its act; what cannot be closed first, then by number."""
    wanted = frozenset(each.content for each in world.wanted)
    left = CarriedChannels()
    found: list[tuple[SeenRequest, RequestAct]] = []
    for each in sorted(world.requests, key=lambda one: (not _is_fixed(world, one), one.number)):
        act = _act(world, each, left, wanted)
        if act.verb is not RequestVerb.CLOSE:
            left.add(each)
        found.append((each, act))
    return found


def _is_fixed(world: RequestsWorld, request: SeenRequest) -> bool:
    """Whether a request is left, whatever is wrong with it."""
    if request.origin is RequestOrigin.EXISTING:
        return not world.adopt
    return bool(request.foreign)


def _act(
    world: RequestsWorld,
    request: SeenRequest,
    left: CarriedChannels,
    wanted: frozenset[str],
) -> RequestAct:
    name = shown_number(request)
    if request.origin is RequestOrigin.EXISTING:
        if world.adopt:
            adopted = verdict(RequestReason.RequestAdopted, name)
            return _about(request, _CLOSE, adopted, CloseCause.ADOPTED)
        return _about(request, _LEAVE, verdict(RequestReason.RequestLeftToManager, name))
    if request.foreign:
        edited = verdict(RequestReason.RequestHandEdited, name, request.foreign)
        return _about(request, _LEAVE, edited)
    return _closing(request, left, wanted) or _kept(world, request)


def _closing(
    request: SeenRequest, left: CarriedChannels, wanted: frozenset[str]
) -> RequestAct | None:
    """Why one of ours is closed; None: it stays."""
    name = shown_number(request)
    if request.unreadable:
        why = verdict(RequestReason.RequestDataUnreadable, name, request.unreadable)
        return _about(request, _CLOSE, why, CloseCause.UNREADABLE)
    doubled = (left.first(each.channels) for each in request.holds)
    other = next((each for each in doubled if each is not None), None)
    if other is not None:
        why = verdict(RequestReason.RequestDoubled, name, shown_number(other))
        return _about(request, _CLOSE, why, CloseCause.DOUBLED)
    if request.check is ChecksResult.FAILED and len(request.holds) > 1:
        why = verdict(RequestReason.BatchFailed, name, len(request.holds))
        return _about(request, _CLOSE, why, CloseCause.FAILED)
    old = [",".join(each.channels) for each in request.holds if each.content not in wanted]
    if old:
        why = verdict(RequestReason.RequestOutdated, name, tuple(old))
        return _about(request, _CLOSE, why, CloseCause.OUTDATED)
    return None


def _kept(world: RequestsWorld, request: SeenRequest) -> RequestAct:
    """What is done about one of ours that holds what is wanted."""
    name = shown_number(request)
    if request.conflict:
        return _about(request, _UPDATE, verdict(RequestReason.RequestRebased, name))
    missing = tuple(sorted(set(world.labels) - request.labels))
    if missing:
        return _about(request, _UPDATE, verdict(RequestReason.RequestRelabelled, name, missing))
    if request.check is ChecksResult.FAILED:
        channels = ",".join(request.holds[0].channels)
        return _about(request, _LEAVE, verdict(RequestReason.CulpritFound, channels, name))
    return _about(request, _LEAVE, verdict(_SAID_OF_CHECK[request.check], name))


def _about(
    request: SeenRequest, verb: RequestVerb, why: Verdict, cause: CloseCause | None = None
) -> RequestAct:
    return RequestAct(
        verb=verb,
        verdict=why,
        holds=request.holds,
        number=request.number,
        batchable=request.batchable,
        cause=cause,
    )
