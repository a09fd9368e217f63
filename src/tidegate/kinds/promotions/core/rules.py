"""What every gate says of a version for one environment.

Each function is one gate. A fact that is missing never passes: an unknown ancestor, a registry that
did not answer and a file that cannot be read all keep an environment where it is.
"""

from collections.abc import Iterator

from tidegate.git.history import SHORT, Ancestry
from tidegate.kinds.promotions.core.model import PromotionEnvironment
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.kinds.promotions.core.world import (
    CheckedIn,
    ImageState,
    OfferState,
    PromotionWorld,
    Relation,
    RequestedVersion,
)
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict

_IN_FLIGHT = verdict(ProgressReason.InFlight)
# What is said where nothing is written for an environment.
NOTHING = "nothing"
_UNKNOWN = Relation(Ancestry.UNKNOWN)
# A version that is the same as, or behind, what an environment has is in that environment.
_INCLUDED = (Ancestry.SAME, Ancestry.BEHIND)


def verdicts(
    world: PromotionWorld, environment: PromotionEnvironment, moved: frozenset[str], now: Instant
) -> Iterator[Verdict]:
    """What the gates of a promotion say; `moved` are environments that move in the same change."""
    request = world.requests.get(environment.name)
    yield from _running(world)
    yield from _requested(world, request)
    yield from _places(world, environment)
    yield from _offer(world, environment)
    yield from _refusal(world, environment, now)
    yield from _direction(world, environment)
    yield _order(world, environment, moved)
    yield _artifact(world)
    yield _schemas(world)


def _running(world: PromotionWorld) -> Iterator[Verdict]:
    if world.aborted:
        yield verdict(ProgressReason.Aborted)
    elif world.paused:
        yield verdict(ProgressReason.Paused)


def unread(world: PromotionWorld, request: RequestedVersion) -> Iterator[Verdict]:
    """What is said of a requested version of which nothing else is known."""
    yield from _running(world)
    found = world.requested.get(request.ident)
    if found is None:
        yield verdict(PromotionReason.VersionUnread, request.ref, request.by)
    else:
        yield verdict(
            PromotionReason.VersionUnknown, request.ref, request.by, found.problem, request.ident
        )


def _requested(world: PromotionWorld, request: RequestedVersion | None) -> Iterator[Verdict]:
    """A version that does not go forward stays where it is, or the newest would undo it."""
    if request is None:
        return
    if request.reached:
        new = world.version[:SHORT]
        said = (new, request.by, request.reason, request.ident)
        yield verdict(PromotionReason.VersionKept, *said)
    else:
        yield verdict(PromotionReason.VersionRequested, request.by, request.reason)


def _places(world: PromotionWorld, environment: PromotionEnvironment) -> Iterator[Verdict]:
    name = environment.name
    if environment.follows:
        yield verdict(PromotionReason.FollowsBranch, environment.follows)
        return
    missing = world.missing.get(name, ())
    commits = world.commits_in(name)
    if missing:
        yield verdict(PromotionReason.PlaceMissing, missing)
    elif not commits:
        yield verdict(PromotionReason.NothingHeld)
    elif world.has(name):
        yield from _there(world, name)
    else:
        count = sum(not each.has(world.version) for each in commits)
        yield verdict(PromotionReason.PlacesFound, count)


def _there(world: PromotionWorld, name: str) -> Iterator[Verdict]:
    """The files have the version: it is done once it runs, where that is checked."""
    check = world.checks.get(name)
    if check is None:
        yield verdict(ProgressReason.Done)
    elif check.version != world.version:
        yield verdict(PromotionReason.RunUnchecked, world.version[:SHORT])
    elif not check.matches:
        yield verdict(PromotionReason.NotRunningYet, check.differing)
    else:
        yield verdict(ProgressReason.Done)
        on_clusters = check.seen_in is CheckedIn.CLUSTERS
        found = PromotionReason.RunsAsPromised if on_clusters else PromotionReason.WrittenAsPromised
        yield verdict(found, world.version[:SHORT])
    yield from _ended(world, name)


def _ended(world: PromotionWorld, name: str) -> Iterator[Verdict]:
    """Which account merged or closed the offer of the version, where the forge says so."""
    offer = world.offers.get(name)
    if offer is not None and offer.by and offer.version == world.version:
        yield verdict(PromotionReason.OfferEndedBy, offer.by, offer.state.value, offer.name)


def _offer(world: PromotionWorld, environment: PromotionEnvironment) -> Iterator[Verdict]:
    """An offer is not made twice, and a newer version replaces an open one."""
    name = environment.name
    if world.has(name):
        return
    if name in world.pending:
        detail = world.pending[name]
        yield verdict(ProgressReason.InFlightSaying, detail) if detail else _IN_FLIGHT
    offer = world.offers.get(name)
    if offer is None:
        return
    if offer.version != world.version:
        if offer.state is OfferState.OPEN:
            yield verdict(PromotionReason.OfferReplaced, offer.version[:SHORT], offer.name)
    elif offer.state is OfferState.OPEN:
        yield verdict(PromotionReason.OfferOpen, offer.name)
    elif offer.state is OfferState.CLOSED:
        yield verdict(PromotionReason.OfferClosed, offer.name)
    elif _is_read_since(world, offer.changed_at):
        yield verdict(PromotionReason.OfferUndone, offer.name, _first_value(world, name))
    else:
        yield verdict(PromotionReason.OfferMerged, offer.name)
    yield from _ended(world, name)


def _is_read_since(world: PromotionWorld, moment: Instant | None) -> bool:
    """Whether the bundle was read after a moment, so that it shows what was merged by then."""
    return world.read_at is None or moment is None or world.read_at > moment


def _refusal(
    world: PromotionWorld, environment: PromotionEnvironment, now: Instant
) -> Iterator[Verdict]:
    refusal = world.refusals.get(environment.name)
    if refusal is None or refusal.version != world.version or world.has(environment.name):
        return
    if refusal.until is None:
        yield verdict(PromotionReason.OfferRefused, refusal.by, refusal.why)
    elif now < refusal.until:
        yield verdict(
            PromotionReason.OfferRefusedForNow, refusal.by, refusal.why, until=refusal.until
        )


def _direction(world: PromotionWorld, environment: PromotionEnvironment) -> Iterator[Verdict]:
    """One verdict: of the written value whose relation to the version is the worst."""
    found = [
        (each.value, world.relations.get(each.value, _UNKNOWN))
        for each in world.commits_in(environment.name)
    ]
    if not found:
        return
    value, worst = max(found, key=lambda one: (_WORST[one[1].ancestry], one[1].commits, one[0]))
    new, old = world.version[:SHORT], value[:SHORT]
    if worst.ancestry in (Ancestry.SAME, Ancestry.AHEAD):
        yield verdict(PromotionReason.Forward, worst.commits, old)
    elif world.backward:
        yield verdict(PromotionReason.BackwardAllowed, new, old)
    elif worst.ancestry is Ancestry.BEHIND:
        yield verdict(PromotionReason.Backward, new, worst.commits, old)
    elif worst.ancestry is Ancestry.APART:
        yield verdict(PromotionReason.NotDescendant, new, old)
    else:
        yield verdict(PromotionReason.AncestryUnknown, old)


_WORST = {
    Ancestry.SAME: 0,
    Ancestry.AHEAD: 1,
    Ancestry.APART: 2,
    Ancestry.BEHIND: 3,
    Ancestry.UNKNOWN: 4,
}


def _order(
    world: PromotionWorld, environment: PromotionEnvironment, moved: frozenset[str]
) -> Verdict:
    if not environment.after:
        return verdict(ProgressReason.FirstInOrder)
    new = world.version[:SHORT]
    for name in environment.after:
        if name in moved:
            continue
        if (behind := _behind(world, name)) is not None:
            return verdict(PromotionReason.EarlierEnvironmentBehind, name, behind, new)
        if not _runs(world, name):
            return verdict(PromotionReason.EarlierEnvironmentNotRunning, name, new)
    return verdict(PromotionReason.EarlierEnvironmentsHaveIt, environment.after)


def _behind(world: PromotionWorld, name: str) -> str | None:
    """What an environment has instead of the version; None: it has the version."""
    earlier = world.promotion.environment(name)
    if earlier is None:
        return NOTHING
    values = [earlier.follows] if earlier.follows else [w.value for w in world.commits_in(name)]
    for value in values:
        if world.relations.get(value, _UNKNOWN).ancestry not in _INCLUDED:
            return value if earlier.follows else value[:SHORT]
    return None if values else NOTHING


def _runs(world: PromotionWorld, name: str) -> bool:
    """Whether an environment runs the version that it has, where that is checked."""
    check = world.checks.get(name)
    if check is None or not world.has(name):
        return True
    return check.version == world.version and check.matches


def _first_value(world: PromotionWorld, name: str) -> str:
    commits = world.commits_in(name)
    return commits[0].value[:SHORT] if commits else NOTHING


def _artifact(world: PromotionWorld) -> Verdict:
    if world.image_state is ImageState.THERE:
        return verdict(PromotionReason.ImageThere, world.image)
    if world.image_state is ImageState.MISSING:
        return verdict(PromotionReason.ImageMissing, world.image)
    if world.image_state is ImageState.UNKNOWN:
        return verdict(PromotionReason.ImageUnknown, world.image)
    return verdict(PromotionReason.ImageUnasked)


def _schemas(world: PromotionWorld) -> Verdict:
    need = world.schemas
    if need is None:
        return verdict(PromotionReason.SchemasNotNamed)
    if need.ancestry in _INCLUDED:
        return verdict(PromotionReason.SchemasSuffice, need.needed[:SHORT], need.has[:SHORT])
    return verdict(PromotionReason.SchemasNeeded, need.needed[:SHORT], need.has[:SHORT] or "none")
