"""The state of one promotion: a fold over its facts, from which its world is built."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from tidegate.gates.approval import Response
from tidegate.gates.brakes import Brakes, concerning
from tidegate.git.history import Commit
from tidegate.journal.answers import answered
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import Acted, Asked, Bound, Folded, TaskOutcome, Told, Verb
from tidegate.kinds.promotions.core.journal.facts import (
    EnvironmentVerdicts,
    MergeRequestSeen,
    Offered,
    PromotionDecided,
    PromotionRead,
    PromotionRefused,
    PromotionTask,
    Verified,
)
from tidegate.kinds.promotions.core.model import Promotion, WrittenVersion
from tidegate.kinds.promotions.core.world import (
    ImageState,
    OfferRefusal,
    OfferState,
    PromotionWorld,
    Relation,
    RunningCheck,
    SchemasNeed,
    VersionOffer,
)
from tidegate.model.json_text import decode_json
from tidegate.model.time import Instant

# What refuses an offer where an action says so itself.
FORGE = "forge"


class PromotionReading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one survey reads."""

    promotion: Promotion
    base: str = ""
    written: tuple[WrittenVersion, ...] = ()
    missing: Mapping[str, tuple[str, ...]] = {}
    unread: Mapping[str, tuple[str, ...]] = {}
    version: str = ""
    relations: Mapping[str, Relation] = {}
    commits: tuple[Commit, ...] = ()
    image: str = ""
    image_state: ImageState = ImageState.UNASKED
    schemas: tuple[SchemasNeed, ...] = ()


class PendingOffer(msgspec.Struct, frozen=True):
    """A decided change without an outcome: when it was decided, and how trying it went."""

    task: PromotionTask
    at: Instant
    tries: int = 0
    tried_at: Instant | None = None
    detail: str = ""


class PromotionState(msgspec.Struct):
    """What is known of one promotion. Mutable: a fold over many facts makes one, not many."""

    read: PromotionReading | None = None
    read_at: Instant | None = None
    # The newest offer, the last check, and the last refusal of each environment.
    offers: dict[str, VersionOffer] = {}
    checks: dict[str, RunningCheck] = {}
    refusals: dict[str, OfferRefusal] = {}
    # Decided and without an outcome, by key.
    pending: dict[str, PendingOffer] = {}
    paused: bool = False
    # The version that was aborted; empty: none.
    aborted: str = ""
    stands: dict[str, EnvironmentVerdicts] = {}
    recheck_at: Instant | None = None
    decided_at: Instant | None = None
    # The brakes of the decision recorded last.
    brakes: Brakes | None = None
    # What people were notified of, by key, and when.
    told: dict[str, Instant] = {}
    # The answers at approval gates, by gate.
    responses: dict[str, tuple[Response, ...]] = {}


def fold(state: PromotionState, at: Instant, fact: Fact, actor: str) -> PromotionState:
    """Take one fact into account; facts that are not about promotions change nothing."""
    if isinstance(fact, Folded):
        return decode(fact.state)
    if isinstance(fact, Asked):
        _asked(state, at, actor, fact)
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
    if fact.promotion is not None:
        _forget(state, {each.name for each in fact.promotion.environments})


def _forget(state: PromotionState, known: set[str]) -> None:
    """Forget environments that are no longer declared."""
    mine: tuple[dict[str, Any], ...] = state.offers, state.checks, state.refusals, state.stands
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
    elif fact.verb in (Verb.RETRY, Verb.RETRY_FAILED):
        _retry(state)


def _retry(state: PromotionState) -> None:
    """Offers that ended without effect, refusals and the abort no longer count."""
    state.aborted, state.refusals = "", {}
    world = world_of(state, None)
    for name, offer in list(state.offers.items()):
        merged = offer.state is OfferState.MERGED
        lost = merged and world is not None and not _is_included(world, name, offer)
        if offer.state is OfferState.CLOSED or lost:
            del state.offers[name]


def _is_included(world: PromotionWorld, name: str, offer: VersionOffer) -> bool:
    """Whether an environment still has what an offer wrote."""
    return all(each.has(offer.version) for each in world.commits_in(name))


def world_of(state: PromotionState, brakes: Brakes | None) -> PromotionWorld | None:
    """The world as the facts have it, under brakes; None while nothing was read."""
    read = state.read
    if read is None or not read.version:
        return None
    names = _targets(read)
    known = concerning(brakes, names, {name: {} for name in names}) if brakes is not None else None
    return PromotionWorld(
        promotion=read.promotion,
        written=read.written,
        version=read.version,
        to=names,
        relations=read.relations,
        image=read.image,
        image_state=read.image_state,
        schemas=read.schemas[0] if read.schemas else None,
        brakes=known or Brakes(),
        missing=read.missing,
        unread=frozenset(read.unread),
        paused=state.paused,
        aborted=bool(state.aborted) and state.aborted == read.version,
        # The state goes on changing: a world does not.
        offers=dict(state.offers),
        checks=dict(state.checks),
        refusals=dict(state.refusals),
        pending=_pending(state),
        read_at=state.read_at,
    )


def with_history(world: PromotionWorld, state: PromotionState) -> PromotionWorld:
    """A world that was read just now, with what the journal knows of earlier offers."""
    return replace(
        world,
        paused=state.paused,
        aborted=bool(state.aborted) and state.aborted == world.version,
        offers=dict(state.offers),
        checks=dict(state.checks),
        refusals=dict(state.refusals),
        pending=_pending(state),
    )


def _targets(read: PromotionReading) -> tuple[str, ...]:
    """Every environment; of the built-in promotion those that the bundle has."""
    there = {each.environment for each in read.written} | read.unread.keys()
    return tuple(
        each.name
        for each in read.promotion.environments
        if read.promotion.where or each.follows or each.name in there
    )


def _pending(state: PromotionState) -> dict[str, str]:
    """Environments of changes without an outcome, with what the last try said."""
    return {
        name: pending.detail
        for pending in state.pending.values()
        for name in pending.task.change.environments
    }
