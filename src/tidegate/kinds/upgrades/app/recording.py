"""Deciding on an organisation, and writing it down with what it claims of what is shared."""

import msgspec

from tidegate.engine.acting import ACTOR
from tidegate.engine.recording import TRIES_MAX
from tidegate.gates.brakes import Brakes, concerning
from tidegate.journal.chain import Note
from tidegate.journal.facts import Bound, Mode
from tidegate.kinds.upgrades.app.acting import UpgradeDesk
from tidegate.kinds.upgrades.app.ledgers import Ledgers
from tidegate.kinds.upgrades.core.history import History
from tidegate.kinds.upgrades.core.journal.facts import HistoryNews, Planned
from tidegate.kinds.upgrades.core.journal.past import news_of
from tidegate.kinds.upgrades.core.journal.record import minutes
from tidegate.kinds.upgrades.core.journal.state import UpgradeState, world_of
from tidegate.kinds.upgrades.core.legacy_plan import Theirs, theirs
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import Rules
from tidegate.kinds.upgrades.core.world import World
from tidegate.model.time import Instant
from tidegate.store.port import Claim, Head, Lease, LostClaimError


class Recorded(msgspec.Struct, frozen=True):
    """A decision that stands in the journal, as far as it says anything new."""

    made: "Made"
    planned: Planned
    frees: bool


def decide_and_record(
    desk: UpgradeDesk, ledgers: Ledgers, lease: Lease, head: Head, now: Instant, mode: Mode
) -> Recorded | None:
    """Decide on the state of a desk and write down what is new; None if nothing was read yet."""
    for left in reversed(range(TRIES_MAX)):
        brakes = desk.book.brakes_for(desk.partition, now)
        made = plan_of(desk.state, ledgers, brakes, now)
        if made is None:
            return None
        try:
            return _record(desk, lease, head, made, now, mode)
        except LostClaimError:
            if not left:
                raise
    return None


class Made(msgspec.Struct, frozen=True):
    """What was decided, by whichever rules an organisation is served."""

    world: World
    plan: UpgradePlan
    agreeing: UpgradePlan
    # What the existing service keeps and counts, where its rules decided; None: ours did.
    theirs: Theirs | None = None


def plan_of(state: UpgradeState, ledgers: Ledgers, brakes: Brakes, now: Instant) -> Made | None:
    """Decide on a state; None if nothing was read yet."""
    compat = state.rules is Rules.COMPAT
    kept = ledgers.kept(state) if compat else None
    world = world_of(state, now, ledgers=ledgers.of(state), brakes=brakes, kept=kept)
    if world is None:
        return None
    if unseen := ledgers.unseen(state):
        world = _waiting_for(world, unseen)
    plan = decide(world, now)
    agreeing = decide(msgspec.structs.replace(world, approver=True), now)
    if not compat:
        return Made(world, plan, agreeing)
    found = theirs(world, now, plan, agreeing)
    none = msgspec.structs.replace(agreeing, options=[], actions=[], recheck_at=None)
    return Made(world, found.plan, none, found)


def _waiting_for(world: World, unseen: list[str]) -> World:
    """The world of an organisation that must not go ahead of others nobody has looked at yet."""
    org, *others = world.orgs
    gap = f"it inherits from {', '.join(unseen)}, and nobody has looked there yet"
    org = msgspec.structs.replace(org, partial=org.partial or gap)
    return msgspec.structs.replace(world, orgs=(org, *others))


def _record(
    desk: UpgradeDesk, lease: Lease, head: Head, made: Made, now: Instant, mode: Mode
) -> Recorded:
    world, plan, agreeing = made.world, made.plan, made.agreeing
    binding = _binding(desk.state, world)
    seq = desk.next_seq + (binding is not None)
    kept = _kept(desk.state, made)
    planned = minutes(desk.partition, seq, desk.state, (plan, agreeing), now, mode, kept)
    acts = mode is Mode.ACT
    notes: list[Note] = []
    if planned.changed or planned.kept or (planned.tasks and acts):
        notes = [Note(now, ACTOR, planned)]
        if binding is not None:
            notes.insert(0, Note(now, ACTOR, binding))
    frees = _freed(desk.partition, world.brakes, plan) if acts else []
    if notes or frees or desk.is_staged:
        claims = _claims(desk.partition, plan, planned, now) if acts else []
        desk.write(notes, after=head, token=lease.token, claims=claims, frees=frees)
    return Recorded(made, planned, bool(frees))


def _kept(state: UpgradeState, made: Made) -> HistoryNews | None:
    """What the existing service keeps anew, where its rules decided."""
    if made.theirs is None:
        return None
    org = made.world.orgs[0]
    found = made.theirs.kept.get(f"{org.env}/{org.id}")
    return None if found is None else news_of(state.history or History(), found)


def _binding(state: UpgradeState, world: World) -> Bound | None:
    """The brakes of a decision, where they are not those of the one before; else None."""
    org = world.orgs[0]
    labels = {each.name: brake_labels(org, each) for each in world.clusters}
    brakes = concerning(world.brakes, sorted(labels), labels)
    return None if brakes == state.brakes else Bound(brakes=brakes)


def _claims(partition: str, plan: UpgradePlan, planned: Planned, now: Instant) -> list[Claim]:
    """The places a plan takes, each under the key of the job it is for."""
    keys = {job.name: job.key for job in planned.tasks if job.change.starts_at is not None}
    return [Claim(one.name, one.place, partition, keys[one.target], now) for one in plan.claims]


def _freed(partition: str, brakes: Brakes, plan: UpgradePlan) -> list[str]:
    """Keys of places whose clusters are no longer being upgraded."""
    busy = {member.called for member in plan.members if member.standing.occupies}
    ours = (each for each in brakes.claims if each.partition == partition)
    return sorted({each.key for each in ours if each.target not in busy})
