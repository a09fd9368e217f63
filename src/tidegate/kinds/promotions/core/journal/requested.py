"""Versions that people requested, from the request to its end."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from tidegate.git.history import Ancestry
from tidegate.journal.facts import Withdrawn
from tidegate.kinds.promotions.core.journal.facts import VersionRequested
from tidegate.kinds.promotions.core.journal.known import PromotionState, world_of
from tidegate.kinds.promotions.core.world import (
    OfferState,
    PromotionWorld,
    RequestedReading,
    RequestedVersion,
    VersionOffer,
)
from tidegate.model.time import Instant

# What went somewhere else than forward: of an unknown commit it is not known.
_BACK = (Ancestry.BEHIND, Ancestry.APART, Ancestry.UNKNOWN)


def take_request(state: PromotionState, at: Instant, actor: str, fact: VersionRequested) -> None:
    """It takes the place of an earlier request, and of what had ended without effect."""
    request = RequestedVersion(
        ident=fact.ident,
        ref=fact.ref,
        environments=fact.environments,
        backward=fact.backward,
        by=actor,
        at=at,
        reason=fact.reason,
    )
    for name in fact.environments:
        before = state.requests.get(name)
        # Where a version is kept, and requested again, it is still kept.
        state.requests[name] = replace(request, back=before is not None and before.reached)
        state.refusals.pop(name, None)
    forget_ended(state, fact.environments)
    settle_requests(state)


def settle_requests(state: PromotionState) -> None:
    """A request ends once the files have its version; one that went back stays until withdrawn.

    Where a person writes another version afterwards, that person has the last word. An environment
    that follows a branch by now moves by itself.
    """
    world = world_of(state, None)
    for name, request in list(state.requests.items()):
        declared = None if world is None else world.promotion.environment(name)
        if declared is not None and declared.follows:
            del state.requests[name]
            continue
        seen = None if world is None else world.of(name)
        if seen is None or name in seen.missing or name in seen.unread:
            continue  # what is to be written, or what is, is not known
        if not seen.has(name) and not request.reached:
            known = [seen.relations.get(each.value) for each in seen.commits_in(name)]
            back = any(one is not None and one.ancestry in _BACK for one in known)
            state.requests[name] = replace(request, back=back)
        elif seen.has(name) and request.back:
            state.requests[name] = replace(request, reached=True)
        else:
            del state.requests[name]


def still_requested(
    state: PromotionState, found: Mapping[str, RequestedReading]
) -> dict[str, RequestedReading]:
    """What is known of the versions that are requested: as it was read now, or else before."""
    known = {} if state.read is None else state.read.requested
    idents = dict.fromkeys(each.ident for each in state.requests.values())
    every = {**known, **found}
    return {ident: every[ident] for ident in idents if ident in every}


def withdraw(state: PromotionState, _: Instant, fact: Withdrawn) -> None:
    """A request is not wanted any more."""
    state.requests = {
        name: each for name, each in state.requests.items() if each.ident != fact.ident
    }


def end_declined(state: PromotionState) -> None:
    """A request whose offer was closed without a merge is over: a person declined it."""
    world = world_of(state, None)
    for name, request in list(state.requests.items()):
        offer = state.offers.get(name)
        if offer is None or offer.state is not OfferState.CLOSED or world is None:
            continue
        if offer.offered_at < request.at and request.ident not in world.requested:
            # It was closed before the request was known: a person wants it offered again.
            del state.offers[name]
        elif offer.version == world.wanted(name):
            del state.requests[name]


def forget_ended(state: PromotionState, environments: Iterable[str]) -> None:
    """Forget offers that were closed, or merged and undone."""
    world = world_of(state, None)
    for name in environments:
        offer = state.offers.get(name)
        merged = offer is not None and offer.state is OfferState.MERGED
        lost = merged and world is not None and not _is_included(world, name, state.offers[name])
        if offer is not None and (offer.state is OfferState.CLOSED or lost):
            del state.offers[name]


def _is_included(world: PromotionWorld, name: str, offer: VersionOffer) -> bool:
    """Whether an environment still has what an offer wrote."""
    return all(each.has(offer.version) for each in world.commits_in(name))
