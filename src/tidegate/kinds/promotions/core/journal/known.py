"""What is known of one promotion, and the world that a decision is made from."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tidegate.gates.approval import Response
from tidegate.gates.brakes import Brakes, concerning
from tidegate.git.history import Commit
from tidegate.kinds.promotions.core.journal.facts import EnvironmentVerdicts, PromotionTask
from tidegate.kinds.promotions.core.model import Promotion, WrittenVersion
from tidegate.kinds.promotions.core.world import (
    ImageState,
    OfferRefusal,
    PromotionWorld,
    Relation,
    RequestedReading,
    RequestedVersion,
    RunningCheck,
    SchemasNeed,
    VersionOffer,
)
from tidegate.model.time import Instant


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
    # Of versions that people requested, by the name of the request: a branch moves on.
    requested: Mapping[str, RequestedReading] = {}


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
    # The versions that people requested, by environment.
    requests: dict[str, RequestedVersion] = {}


def world_of(state: PromotionState, brakes: Brakes | None) -> PromotionWorld | None:
    """The world as the facts have it, under brakes; None while nothing was read."""
    read = state.read
    if read is None or not read.version:
        return None
    names = _targets(read)
    known = concerning(brakes, names, {name: {} for name in names}) if brakes is not None else None
    world = PromotionWorld(
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
        read_at=state.read_at,
    )
    return with_history(world, state)


def with_history(world: PromotionWorld, state: PromotionState) -> PromotionWorld:
    """A world as it was read, with what the journal knows of offers and requests.

    The state goes on changing: a world does not.
    """
    return replace(
        world,
        paused=state.paused,
        aborted=bool(state.aborted) and state.aborted == world.version,
        offers=dict(state.offers),
        checks=dict(state.checks),
        refusals=dict(state.refusals),
        pending=_pending(state),
        requests=dict(state.requests),
        requested={} if state.read is None else state.read.requested,
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


def wanted_versions(state: PromotionState) -> dict[str, str]:
    """The versions that people requested, by environment; empty: not known yet."""
    read = {} if state.read is None else state.read.requested
    return {
        name: read[each.ident].version if each.ident in read else ""
        for name, each in state.requests.items()
    }
