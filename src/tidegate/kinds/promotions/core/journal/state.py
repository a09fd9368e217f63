"""The state of one promotion: a fold over its facts, from which its world is built."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from tidegate.journal.answers import answered
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import Acted, Asked, Bound, Folded, TaskOutcome, Told, Verb, Withdrawn
from tidegate.kinds.promotions.core.journal.facts import (
    MergeRequestSeen,
    Offered,
    PromotionDecided,
    PromotionRead,
    PromotionRefused,
    Verified,
    VersionRequested,
)
from tidegate.kinds.promotions.core.journal.known import (
    PendingOffer,
    PromotionReading,
    PromotionState,
)
from tidegate.kinds.promotions.core.journal.requested import (
    end_declined,
    forget_ended,
    settle_requests,
    take_request,
    withdraw,
)
from tidegate.kinds.promotions.core.world import (
    OfferRefusal,
    OfferState,
    VersionOffer,
)
from tidegate.model.json_text import decode_json
from tidegate.model.time import Instant

# What refuses an offer where an action says so itself.
FORGE = "forge"


def fold(state: PromotionState, at: Instant, fact: Fact, actor: str) -> PromotionState:
    """Take one fact into account; facts that are not about promotions change nothing."""
    if isinstance(fact, Folded):
        return decode(fact.state)
    if isinstance(fact, Asked):
        _asked(state, at, actor, fact)
        return state
    if isinstance(fact, VersionRequested):
        take_request(state, at, actor, fact)
        return state
    step = _STEPS.get(type(fact))
    if step is not None:
        step(state, at, fact)
    return state


def encode(state: PromotionState) -> bytes:
    """The state, to be kept."""
    return msgspec.json.encode(state)


def decode(raw: bytes | msgspec.Raw) -> PromotionState:
    """The state that was kept."""
    return decode_json(raw, PromotionState)


def _read(state: PromotionState, at: Instant, fact: PromotionRead) -> None:
    known = state.read
    if known is None:
        if fact.promotion is None:  # it says only what changed, and there is nothing to change
            return
        known = PromotionReading(promotion=fact.promotion)
    found = {name: getattr(fact, name) for name in PromotionReading.__struct_fields__}
    news: dict[str, Any] = {name: value for name, value in found.items() if value is not None}
    state.read, state.read_at = replace(known, **news), at
    settle_requests(state)
    if fact.promotion is not None:
        _forget(state, {each.name for each in fact.promotion.environments})


def _forget(state: PromotionState, known: set[str]) -> None:
    """Forget environments that are no longer declared."""
    mine: tuple[dict[str, Any], ...] = (
        state.offers,
        state.checks,
        state.refusals,
        state.stands,
        state.requests,
    )
    for some in mine:
        for name in some.keys() - known:
            del some[name]


def _decided(state: PromotionState, at: Instant, fact: PromotionDecided) -> None:
    state.recheck_at, state.decided_at = fact.recheck_at, at
    for each in fact.changed:
        state.stands[each.target] = each
    if fact.mode is Mode.ACT:
        state.pending |= {task.key: PendingOffer(task, at) for task in fact.tasks}


def _offered(state: PromotionState, at: Instant, fact: Offered) -> None:
    offer = VersionOffer(
        environments=fact.environments,
        version=fact.version,
        branch=fact.branch,
        commit=fact.commit,
        url=fact.url,
        number=fact.number,
        offered_at=at,
    )
    for name, old in list(state.offers.items()):
        # An environment that the merge request had before is not changed by it any more.
        if old.state is OfferState.OPEN and old.branch == fact.branch:
            del state.offers[name]
    for name in fact.environments:
        state.offers[name] = offer
        state.refusals.pop(name, None)
    _settle(state, fact.version, fact.environments)


def _settle(state: PromotionState, version: str, environments: tuple[str, ...]) -> None:
    """What was pending for these environments has its outcome."""
    for key, pending in list(state.pending.items()):
        change = pending.task.change
        if change.version == version and set(change.environments) <= set(environments):
            del state.pending[key]


def _request_seen(state: PromotionState, at: Instant, fact: MergeRequestSeen) -> None:
    for name, offer in state.offers.items():
        if offer.branch == fact.branch and offer.number in (None, fact.number):
            if offer.state is not fact.state:
                state.offers[name] = replace(
                    offer,
                    state=fact.state,
                    changed_at=at,
                    by=fact.by,
                    url=fact.url or offer.url,
                    number=offer.number if fact.number is None else fact.number,
                )
    if fact.state is OfferState.CLOSED:
        end_declined(state)


def _verified(state: PromotionState, _: Instant, fact: Verified) -> None:
    for check in fact.checks:
        state.checks[check.environment] = check


def _refused(state: PromotionState, _: Instant, fact: PromotionRefused) -> None:
    refusal = OfferRefusal(version=fact.version, by=fact.by, why=fact.why, until=fact.until)
    for name in fact.environments:
        state.refusals[name] = refusal
    _settle(state, fact.version, fact.environments)


def _acted(state: PromotionState, at: Instant, fact: Acted) -> None:
    """A task that failed stays pending, under the same key; anything else ends it."""
    known = state.pending.get(fact.key)
    if known is None:
        return
    if fact.outcome is TaskOutcome.FAILED and not fact.refused:
        again = PendingOffer(known.task, known.at, known.tries + 1, at, fact.detail)
        state.pending[fact.key] = again
        return
    del state.pending[fact.key]
    if fact.refused:
        change = known.task.change
        refusal = OfferRefusal(version=change.version, by=FORGE, why=fact.detail)
        state.refusals |= dict.fromkeys(change.environments, refusal)


def _bound(state: PromotionState, _: Instant, fact: Bound) -> None:
    state.brakes = fact.brakes


def _told(state: PromotionState, at: Instant, fact: Told) -> None:
    for key in fact.retired:
        state.told.pop(key, None)
    state.told |= dict.fromkeys(fact.keys, at)


_STEPS: dict[type, Callable[[PromotionState, Instant, Any], None]] = {
    PromotionRead: _read,
    PromotionDecided: _decided,
    Offered: _offered,
    MergeRequestSeen: _request_seen,
    Verified: _verified,
    PromotionRefused: _refused,
    Acted: _acted,
    Bound: _bound,
    Told: _told,
    Withdrawn: withdraw,
}


def _asked(state: PromotionState, at: Instant, actor: str, fact: Asked) -> None:
    if fact.gates:
        state.responses = answered(state.responses, at, actor, fact)
    elif fact.verb is Verb.PAUSE:
        state.paused = True
    elif fact.verb is Verb.RESUME:
        state.paused = False
    elif fact.verb is Verb.ABORT:
        state.aborted = state.read.version if state.read is not None else ""
        state.requests = {}
    elif fact.verb in (Verb.RETRY, Verb.RETRY_FAILED):
        _retry(state)


def _retry(state: PromotionState) -> None:
    """Offers that ended without effect, refusals and the abort no longer count."""
    state.aborted, state.refusals = "", {}
    forget_ended(state, tuple(state.offers))
