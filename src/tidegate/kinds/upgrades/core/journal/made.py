"""The plan of an organisation, by the rules it is served by."""

from collections.abc import Mapping

import msgspec

from tidegate.gates.brakes import Brakes, concerning
from tidegate.journal.facts import Bound
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.journal.label_state import requested_unlabelled
from tidegate.kinds.upgrades.core.journal.state import (
    UpgradeState,
    ledgers_of,
    past_of,
    world_of,
)
from tidegate.kinds.upgrades.core.labels.label_requests import LabelRequests
from tidegate.kinds.upgrades.core.legacy_plan import LegacyRun, theirs
from tidegate.kinds.upgrades.core.rules.agreements import agree
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.kinds.upgrades.core.rules.label_requests import LabelRequestPlan, label_plan
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import RuleSet as ServiceRules
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld
from tidegate.model.plan import Action, Option
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import Instant
from tidegate.model.verdict import verdict


class OrganisationWorld(msgspec.Struct, frozen=True):
    """The world of one organisation, and by whose rules it is served."""

    world: UpgradeWorld
    compat: bool = False
    paused: bool = False
    # Organisations it inherits from that are served, and were never observed.
    unseen: tuple[str, ...] = ()
    # Labels that people requested.
    requested: LabelRequests = LabelRequests()
    # Clusters without labels: they may get their first ones.
    unlabelled: tuple[ManagedCluster, ...] = ()


class OrganisationPlan(msgspec.Struct, frozen=True):
    """What was decided for one organisation."""

    world: UpgradeWorld
    plan: UpgradePlan
    # The agreements to version gates, decided with the rights of an approver.
    agreeing: UpgradePlan
    # What the predecessor would keep and count, where its rules decided; None: ours did.
    theirs: LegacyRun | None = None
    unseen: tuple[str, ...] = ()
    # The labels that people requested; None: nothing is requested.
    labelling: LabelRequestPlan | None = None


def organisation_world(
    state: UpgradeState,
    brakes: Brakes,
    now: Instant,
    others: Mapping[str, UpgradeState],
    served: frozenset[str] = frozenset(),
) -> OrganisationWorld | None:
    """The world of an organisation; None: nothing was read yet.

    `others` are the states of organisations it inherits from, by `env/org`; those of `served` that
    were never observed must not be passed by.
    """
    compat = state.rules is ServiceRules.COMPAT
    ledgers = {
        name: ledger
        for key, each in others.items()
        for name, ledger in ledgers_of(key, each).items()
    }
    kept: Mapping[str, SoakHistory] | None = None
    if compat:
        kept = {key: past_of(each) for key, each in others.items()}
    world = world_of(state, now, ledgers=ledgers, brakes=brakes, kept=kept)
    if world is None:
        return None
    unseen = tuple(
        each.id
        for each in state.others
        if (key := f"{each.env}/{each.id}") in served and others[key].surveyed_at is None
    )
    return OrganisationWorld(
        waiting_for(world, unseen),
        compat,
        state.paused,
        unseen,
        state.requested,
        tuple(state.unlabelled.values()),
    )


def other_keys(state: UpgradeState) -> list[str]:
    """The organisations that one inherits from, by `env/org`."""
    return [f"{each.env}/{each.id}" for each in state.others]


def waiting_for(world: UpgradeWorld, unseen: tuple[str, ...]) -> UpgradeWorld:
    """The world of an organisation that must not pass others that were never observed."""
    if not unseen:
        return world
    org, *others = world.orgs
    gap = f"it inherits from {', '.join(unseen)}, which was not observed yet"
    org = msgspec.structs.replace(org, partial=org.partial or gap)
    return msgspec.structs.replace(world, orgs=(org, *others))


def organisation_plan(found: OrganisationWorld, now: Instant) -> OrganisationPlan:
    """Decide upgrades, agreements and the labels that people requested."""
    world = found.world
    plan = decide(world, now)
    # Where no service is disabled for an organisation, the approver serves the same fleets.
    fleets = None if any(each.disabled for each in world.orgs) else plan.fleets
    agreeing = agree(msgspec.structs.replace(world, approver=True), now, fleets)
    legacy: LegacyRun | None = None
    if found.compat:
        legacy = theirs(world, now, plan, agreeing)
        plan = legacy.plan
        agreeing = msgspec.structs.replace(agreeing, options=[], actions=[], recheck_at=None)
    if found.paused:
        plan, agreeing = _paused(plan), _paused(agreeing)
    # By whichever rules upgrades are decided, and in a pause: they are declarations.
    labelling: LabelRequestPlan | None = None
    if found.requested:
        labelling = label_plan(world, found.requested, now, found.unlabelled)
    return OrganisationPlan(world, plan, agreeing, legacy, found.unseen, labelling)


_BACK = (StepKind.CANCEL, StepKind.CANCEL_ADDON)


def _paused(plan: UpgradePlan) -> UpgradePlan:
    """A plan in which nothing new starts; what is taken back is taken back all the same."""
    shut = verdict(ProgressReason.Paused)
    options = [
        each if _is_back(each) else msgspec.structs.replace(each, verdicts=(shut, *each.verdicts))
        for each in plan.options
    ]
    actions = [each for each in plan.actions if _is_back(each)]
    return msgspec.structs.replace(plan, options=options, actions=actions, claims=())


def _is_back(one: Option | Action) -> bool:
    return isinstance(one.change, UpgradeStep) and one.change.doing in _BACK


def bound_of(state: UpgradeState, world: UpgradeWorld) -> Bound | None:
    """The brakes of a decision, where they are not those of the one before."""
    org = world.orgs[0]
    every = (*world.clusters, *requested_unlabelled(state))
    labels = {each.name: brake_labels(org, each) for each in every}
    brakes = concerning(world.brakes, sorted(labels), labels)
    return None if brakes == state.brakes else Bound(brakes=brakes)


def freed_keys(partition: str, brakes: Brakes, plan: UpgradePlan) -> list[str]:
    """Keys of places whose clusters are no longer being upgraded."""
    busy = {member.called for member in plan.members if member.progress.occupies}
    ours = (each for each in brakes.claims if each.partition == partition)
    return sorted({each.key for each in ours if each.target not in busy})
