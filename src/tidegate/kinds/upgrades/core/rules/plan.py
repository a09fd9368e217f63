"""The result of a round: every option with its verdicts, the actions, and the service logs."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tidegate.gates.claims import Claim
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.model.plan import Action, Option, Plan
from tidegate.model.time import Instant
from tidegate.model.verdict import all_pass

CLUSTER_WRONG = "Cluster upgrade policy validation errors"
"""The title of a service log about mistakes, which owners know from the predecessor."""


class OwnerNotice(msgspec.Struct, frozen=True):
    """A service log for the owner of a cluster."""

    uuid: str
    summary: str
    description: str
    # In the words of OpenShift Cluster Manager; this one for what should be fixed.
    severity: str = "Moderate"
    # What the predecessor writes of the same; empty: nothing, or not the same.
    known: str = ""


class UpgradePlan(Plan, frozen=True, kw_only=True):
    """All that was decided; positions are those of `members`, actions name external ids."""

    fleets: tuple[OrganisationFleet, ...]
    members: tuple[FleetMember, ...]
    # By `env/org`, of add-ons by `env/org/addon`, with this look folded in.
    ledgers: dict[str, SoakLedger]
    owner_notices: tuple[OwnerNotice, ...] = ()
    warnings: tuple[str, ...] = ()
    # Places of budgets and mutexes to be claimed before the plan is acted on.
    claims: tuple[Claim, ...] = ()


def actions_of(
    options: list[Option], members: Sequence[FleetMember] | Mapping[int, FleetMember]
) -> list[Action]:
    """Every option whose verdicts all pass: what is taken back first, upgrades, then the rest."""
    chosen = [each for each in options if all_pass(each.verdicts)]
    return [
        Action(members[each.target].cluster.uuid, each.change) for each in sorted(chosen, key=_rank)
    ]


def recheck_of(options: list[Option], more: Iterable[Instant], now: Instant) -> Instant | None:
    """The first moment at which time alone may change something; None: there is none."""
    known = {id(each): each for option in options for each in option.verdicts}
    untils = [each.until for each in known.values() if each.until is not None]
    return min((each for each in (*untils, *more) if each > now), default=None)


_RANKS = {
    StepKind.CANCEL: 0,
    StepKind.CANCEL_ADDON: 0,
    StepKind.UPGRADE: 1,
    StepKind.POOL: 1,
    StepKind.ADDON: 1,
    StepKind.CHANNEL: 2,
    StepKind.AGREE: 3,
    StepKind.LABELS: 4,
}


def _rank(option: Option) -> int:
    change = option.change
    return _RANKS[change.doing] if isinstance(change, UpgradeStep) else 0
