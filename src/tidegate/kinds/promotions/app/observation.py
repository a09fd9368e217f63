"""What a worker reads of promotions and does about them, as facts for their journals.

One partition is one promotion: `promotions/NAME`. `observe` returns only what differs from the
state; `offer` checks the change again right before it is made, and returns what came of it.
"""

import asyncio
from collections.abc import Iterable, Mapping

import msgspec

from tidegate.forge.port import Forge, MergeRequest, RequestState
from tidegate.gates.brakes import Brakes
from tidegate.journal.fact import Fact
from tidegate.journal.verdict_marks import VerdictMark, marks_of
from tidegate.kinds.promotions.app.checkout import PromotionCheckout
from tidegate.kinds.promotions.app.plan import plan_promotion
from tidegate.kinds.promotions.app.ports import PromotionPorts
from tidegate.kinds.promotions.app.survey import (
    PromotionRequest,
    reading_of,
    requested_reading,
    survey,
)
from tidegate.kinds.promotions.app.verification import environment_runs
from tidegate.kinds.promotions.core.decide import KIND, PromotionDecision, VersionChange
from tidegate.kinds.promotions.core.journal.facts import (
    MergeRequestSeen,
    Offered,
    PromotionRefused,
)
from tidegate.kinds.promotions.core.journal.known import (
    PromotionReading,
    PromotionState,
    wanted_versions,
)
from tidegate.kinds.promotions.core.journal.record import read_fact, verified_fact
from tidegate.kinds.promotions.core.verification import EnvironmentRuns
from tidegate.kinds.promotions.core.world import (
    OfferState,
    PromotionWorld,
    RequestedReading,
    VersionOffer,
)
from tidegate.kinds.promotions.files.declared import promotions
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.kinds.promotions.files.pipelines import pipelines
from tidegate.kinds.promotions.files.versions import find_versions
from tidegate.model.errors import StaleError, UserError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.propose.change import Upto
from tidegate.propose.offer import PREFIX, OfferOptions, carry_out

# What was decided on an older reading is decided again after this long, on a newer one.
RETRY_AFTER = Duration(60 * SECOND)
_STATES = {
    RequestState.OPEN: OfferState.OPEN,
    RequestState.MERGED: OfferState.MERGED,
    RequestState.CLOSED: OfferState.CLOSED,
}


class WantedRevision(msgspec.Struct, frozen=True):
    """A revision that a person requested, and the commit that it was when it was read first."""

    ident: str
    ref: str
    # Empty: it was not read yet.
    version: str = ""

    @property
    def revision(self) -> str:
        """What to read: a branch may have moved on since."""
        return self.version or self.ref


def wanted_revisions(state: PromotionState) -> dict[str, WantedRevision]:
    """The revisions that people requested, by environment."""
    known = wanted_versions(state)
    return {
        name: WantedRevision(each.ident, each.ref, known[name])
        for name, each in state.requests.items()
    }


async def partitions(ports: PromotionPorts) -> tuple[str, ...]:
    """The partition of every promotion that the bundle declares."""
    return await asyncio.to_thread(_partitions, ports)


def _partitions(ports: PromotionPorts) -> tuple[str, ...]:
    repository = ports.bundle
    files = Files(repository, repository.tip(), root_in(repository.prefix))
    found = promotions(files)
    if pipelines(files):
        # Then a bundle need not have a place of the built-in promotion.
        found = tuple(each for each in found if each.where or find_versions(files, each).spots)
    return tuple(f"{KIND}/{each.name}" for each in found)


async def observe(
    ports: PromotionPorts, forge: Forge | None, partition: str, state: PromotionState
) -> tuple[Fact, ...]:
    """Read one promotion, what runs, and its merge requests; only what is not as before.

    Merge requests are read last: a merge that is seen here is looked for in the next reading.
    """
    facts: list[Fact] = []
    reading, runs = await read_promotion(ports, partition, wanted_revisions(state))
    found = read_fact(state, reading), verified_fact(state, reading.version, runs)
    facts += [fact for fact in found if fact is not None]
    if forge is not None:
        facts += await requests_seen(forge, state.offers.values())
    return tuple(facts)


async def read_promotion(
    ports: PromotionPorts, partition: str, requests: Mapping[str, WantedRevision] | None = None
) -> tuple[PromotionReading, tuple[EnvironmentRuns, ...]]:
    """Read one promotion as it is now: bundle, artifact and registry, then what runs.

    `requests`: the revisions that people requested, by environment.
    """
    await asyncio.to_thread(ports.bundle.fetch)
    name = partition.removeprefix(f"{KIND}/")
    checkout = await asyncio.to_thread(PromotionCheckout, ports, name)
    found = await survey(checkout, PromotionRequest(promotion=name), Brakes())
    wanted = requests or {}
    revisions = dict.fromkeys(each.revision for each in wanted.values())
    known = {each: await _requested(checkout, each) for each in revisions}
    requested = {each.ident: known[each.revision] for each in wanted.values()}
    reading = msgspec.structs.replace(reading_of(checkout, found), requested=requested)
    versions = {name: requested[each.ident].version for name, each in wanted.items()}
    return reading, await environment_runs(ports, checkout, reading, versions)


async def _requested(checkout: PromotionCheckout, revision: str) -> RequestedReading:
    """What is read of a version that was requested; one that is not there says so."""
    request = PromotionRequest(promotion=checkout.promotion.name, ref=revision)
    try:
        return requested_reading(await survey(checkout, request, Brakes()))
    except UserError as error:
        return RequestedReading(problem=str(error))


async def requests_seen(forge: Forge, offers: Iterable[VersionOffer]) -> list[MergeRequestSeen]:
    """The merge requests of open offers that have another state than before."""
    facts: list[MergeRequestSeen] = []
    open_ = [each for each in offers if each.state is OfferState.OPEN]
    for offer in {each.name: each for each in open_}.values():
        request = await _request_of(forge, offer)
        if request is None or _STATES[request.state] is offer.state:
            continue
        facts.append(
            MergeRequestSeen(
                branch=offer.branch,
                url=request.url,
                number=request.number,
                state=_STATES[request.state],
                environments=offer.environments,
                by=request.ended_by,
                merged_as=request.merged_as,
            )
        )
    return facts


async def _request_of(forge: Forge, offer: VersionOffer) -> MergeRequest | None:
    """The merge request of an offer; one that a person opened for its branch counts too."""
    if offer.number is not None:
        return await forge.get(offer.number)
    found = next(iter(await forge.find(source=offer.branch, state=None)), None)
    # Who merged it is not in every list.
    return found if found is None else await forge.get(found.number) or found


async def offer(
    ports: PromotionPorts,
    forge: Forge,
    partition: str,
    change: VersionChange,
    brakes: Brakes,
    now: Instant,
    reason: str = "",
    picture: str = "",
    *,
    backward: bool = False,
) -> Offered | PromotionRefused:
    """Offer a decided change as a merge request; the same change is offered once.

    `backward`: an older version, or one on another branch, is allowed.

    Everything is read again first. A change that no longer passes, or that would make the bundle
    invalid, is refused.
    """
    request = PromotionRequest(
        promotion=partition.removeprefix(f"{KIND}/"),
        to=change.environments,
        ref=change.version,
        allow_backward=backward,
    )
    try:
        planned = await plan_promotion(ports, request, brakes, now)
    except UserError as error:
        return _refused(change, "bundle", str(error))
    verdicts = _marks(planned.world, planned.decision)
    if planned.moved != change.environments:
        shut = [name for name in change.environments if name not in planned.moved]
        why = f"no longer open for {', '.join(shut)}"
        return _refused(change, "gates", why, verdicts, Instant(now + RETRY_AFTER))
    try:
        offered = planned.offer(reason, picture)
        options = OfferOptions(upto=Upto.OPEN)
        # The merge request that is open is updated, whichever other environments it was for.
        if change.branch.startswith(PREFIX):
            offered = msgspec.structs.replace(offered, key=change.branch)
        elif change.branch:  # a person named it
            options = OfferOptions(upto=Upto.OPEN, branch=change.branch)
        done = await carry_out(offered, ports.bundle, forge, options)
    except StaleError as error:
        return _refused(change, "forge", str(error), verdicts)
    if not done.commit:
        why = f"{done.target} has it already"
        return _refused(change, "bundle", why, verdicts, Instant(now + RETRY_AFTER))
    return planned.offered(done, reason)


def _marks(
    world: PromotionWorld, decision: PromotionDecision
) -> dict[str, tuple[VerdictMark, ...]]:
    targets = world.targets()
    return {targets[each.target].name: marks_of(each.verdicts) for each in decision.options}


def _refused(
    change: VersionChange,
    by: str,
    why: str,
    verdicts: dict[str, tuple[VerdictMark, ...]] | None = None,
    until: Instant | None = None,
) -> PromotionRefused:
    return PromotionRefused(
        environments=change.environments,
        version=change.version,
        by=by,
        why=why,
        verdicts=verdicts or {},
        until=until,
    )
