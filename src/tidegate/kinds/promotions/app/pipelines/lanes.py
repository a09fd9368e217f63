"""A pipeline as a lane: publishers with what they run, subscribers with what is missing."""

from collections.abc import Iterator

from tidegate.app.partitions.decision import Decision
from tidegate.explain.sentence import sentence
from tidegate.explain.view import TargetRow
from tidegate.kinds.promotions.app.lane_parts import LaneEnvironment, LaneOffer, PromotionLane
from tidegate.kinds.promotions.core.channels.gates import publishers_of
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown
from tidegate.kinds.promotions.core.channels.plan import PipelineWorld
from tidegate.kinds.promotions.core.channels.sources import SaasSubscriber, range_key
from tidegate.kinds.promotions.core.requests.model import SeenRequest, combination
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant, format_second


def pipeline_lane(one: Decision) -> PromotionLane:
    """One pipeline as it was read last: by environment, publishers first."""
    world: PipelineWorld = one.world.inner
    known: PipelineKnown = one.state.known
    subscribers = sorted(world.reading.subscribers, key=lambda e: (e.place.environment, e.name))
    rows = {each.name: each for each in one.view.targets}
    return PromotionLane(
        promotion=world.reading.pipeline.name,
        partition=one.partition,
        version=one.view.version or "",
        summary=one.view.summary,
        read_at=None if known.read_at is None else format_second(known.read_at),
        environments=(
            *(_publishers(world, known) if one.is_whole else ()),
            *(_subscriber(world, known, e, rows[e.name]) for e in subscribers if e.name in rows),
        ),
    )


def _publishers(world: PipelineWorld, known: PipelineKnown) -> Iterator[LaneEnvironment]:
    for each in sorted(world.reading.publishers, key=lambda e: (e.place.environment, e.name)):
        history = known.histories.get(each.name)
        runs = history is not None and history.version == each.version
        state = "Waiting" if history is None or not runs else "Done"
        if history is not None and not history.good:
            state = "Failed"
        yield LaneEnvironment(
            name=each.name,
            environment=each.place.environment or None,
            publishes=True,
            state=state,
            versions=() if history is None else (history.version,),
            follows=each.ref if each.version != each.ref else None,
            since=_moment(None if history is None else history.since),
            behind=0 if runs else None,
            why=None if runs else "not seen to deploy the version that it is to have",
            troubles=(),
            offer=None,
            running=None,
        )


def _subscriber(
    world: PipelineWorld, known: PipelineKnown, one: SaasSubscriber, row: TargetRow
) -> LaneEnvironment:
    move = known.moves.get(one.name)
    done = row.state == "Done"
    said = row.options[0].verdicts if row.options else ()
    missing = tuple(sentence(each) for each in said if each.outcome is not Outcome.PASS)
    shut = None if row.shut is None else sentence(row.shut)
    return LaneEnvironment(
        name=one.name,
        environment=one.place.environment or None,
        state=row.state,
        versions=(one.ref,),
        follows=None,
        since=_moment(None if move is None else move.at),
        behind=_behind(world, one),
        why="every gate is open: it is offered next" if row.starts else shut,
        missing=() if done else missing,
        troubles=one.troubles,
        offer=_offer(world, one, row),
        running=None,
    )


def _moment(at: Instant | None) -> str | None:
    return None if at is None else format_second(at)


def _behind(world: PipelineWorld, one: SaasSubscriber) -> int | None:
    """By how many commits it is behind its publishers; None: not known."""
    names = publishers_of(world.channels, one.channels)
    versions = {world.channels.publishers[name].version for name in names}
    if versions == {one.ref}:
        return 0
    found = [world.reading.commits.get(range_key(one.ref, each or "")) for each in versions]
    known = [each.number for each in found if each is not None]
    return max(known) if known and len(known) == len(versions) else None


def _offer(world: PipelineWorld, one: SaasSubscriber, row: TargetRow) -> LaneOffer | None:
    """The open merge request of its channels, while it is on its way."""
    open_: tuple[SeenRequest, ...] = () if world.requests is None else world.requests.requests
    channels = combination(one.channels)
    for each in open_ if row.state in ("Updating", "Failed") else ():
        if each.carries(channels):
            return LaneOffer(
                version=row.next,
                branch=each.branch,
                url=each.url or None,
                state=f"open, check {each.check.value}",
                offered_at="",
                changed_at=None,
                by=None,
            )
    return None
