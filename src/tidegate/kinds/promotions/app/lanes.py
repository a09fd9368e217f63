"""Promotions as lanes, from the journal: which version is in which environment, and what waits."""

from collections.abc import Iterator

from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.explain.sentence import sentence
from tidegate.explain.view import TargetRow
from tidegate.kinds.promotions.app.lane_parts import (
    LaneCheck,
    LaneEnvironment,
    LaneOffer,
    PromotionLane,
)
from tidegate.kinds.promotions.app.pipelines.lanes import pipeline_lane
from tidegate.kinds.promotions.core.channels.pipeline import KIND as CHANNELS
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.kinds.promotions.core.journal.known import PromotionState
from tidegate.kinds.promotions.core.model import PromotionEnvironment
from tidegate.kinds.promotions.core.world import PromotionWorld, RunningCheck, VersionOffer
from tidegate.model.document import Document
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import format_second


class PromotionLaneList(Document, frozen=True, kw_only=True):
    """Every promotion and pipeline of a journal."""

    items: tuple[PromotionLane, ...]


def promotion_lanes(journals: Journals) -> PromotionLaneList:
    """Every promotion and pipeline that the journal knows, as it was read last."""
    found = [journals.read(each) for each in journals.names(KIND)]
    pipelines = [journals.read(each) for each in journals.names(CHANNELS)]
    return PromotionLaneList(
        items=(
            *(_lane(each) for each in found if each is not None),
            *(pipeline_lane(each) for each in pipelines if each is not None),
        )
    )


def named_lanes(found: PromotionLaneList, name: str | None) -> PromotionLaneList:
    """The same, or the one of a name; NotFoundError names the nearest."""
    if name is None:
        return found
    known = [each.promotion for each in found.items]
    if name not in known:
        raise NotFoundError("promotion", name, nearest_or_all(name, known))
    return PromotionLaneList(items=tuple(each for each in found.items if each.promotion == name))


def _lane(one: Decision) -> PromotionLane:
    world: PromotionWorld = one.world
    at = one.state.read_at
    return PromotionLane(
        promotion=world.promotion.name,
        partition=one.partition,
        version=world.version,
        summary=one.view.summary,
        read_at=None if at is None else format_second(at),
        environments=tuple(_environments(one, world)),
    )


def _environments(one: Decision, world: PromotionWorld) -> Iterator[LaneEnvironment]:
    """Those that are promoted, and those that follow a branch, in order."""
    rows = {each.name: each for each in one.view.targets}
    for each in world.promotion.environments:
        if each.name in rows or (each.follows and one.is_whole):
            yield _environment(one.state, world, each, rows.get(each.name))


def _environment(
    state: PromotionState,
    world: PromotionWorld,
    declared: PromotionEnvironment,
    row: TargetRow | None,
) -> LaneEnvironment:
    name = declared.name
    unread = {} if state.read is None else state.read.unread
    versions = tuple(dict.fromkeys(each.value for each in world.commits_in(name)))
    return LaneEnvironment(
        name=name,
        state="Ignored" if row is None else row.state,
        versions=versions,
        follows=declared.follows or None,
        # Of the newest version, whatever was requested.
        behind=_behind(world, versions or (declared.follows,)),
        why=_why(row),
        troubles=(*world.missing.get(name, ()), *unread.get(name, ())),
        requested=world.wanted(name) if name in world.requests else None,
        offer=_offer(world.offers.get(name)),
        running=_check(world.checks.get(name)),
    )


def _why(row: TargetRow | None) -> str | None:
    if row is None:
        return None
    if row.starts:
        return f"every gate is open: {row.next or 'it'} is offered next"
    return None if row.shut is None else sentence(row.shut)


def _behind(world: PromotionWorld, versions: tuple[str, ...]) -> int | None:
    """By how many commits the version that is furthest behind is."""
    known = [world.relations.get(each) for each in versions]
    if not known or any(each is None for each in known):
        return None
    return max(each.commits for each in known if each is not None)


def _offer(offer: VersionOffer | None) -> LaneOffer | None:
    if offer is None:
        return None
    changed = offer.changed_at
    return LaneOffer(
        version=offer.version,
        branch=offer.branch,
        url=offer.url or None,
        state=offer.state.value,
        offered_at=format_second(offer.offered_at),
        changed_at=None if changed is None else format_second(changed),
        by=offer.by or None,
    )


def _check(check: RunningCheck | None) -> LaneCheck | None:
    if check is None:
        return None
    return LaneCheck(version=check.version, matches=check.matches, differing=check.differing)
