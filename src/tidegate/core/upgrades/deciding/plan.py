"""What a round of upgrades comes to: every option with its verdicts, what is done, who is told."""

import enum

import msgspec

from tidegate.core.gates.claims import Claim
from tidegate.core.model.plan import Action, Change, Option, Plan
from tidegate.core.model.time import Instant
from tidegate.core.model.verdict import all_pass
from tidegate.core.upgrades.deciding.fleet import Fleet, Member
from tidegate.core.upgrades.deciding.soak import Ledger


class Doing(enum.Enum):
    """What is asked of OpenShift Cluster Manager."""

    UPGRADE = "upgrade"  # the cluster, or its control plane
    POOL = "pool"  # a node pool follows its control plane
    CHANNEL = "channel"  # the channel of the next minor
    CANCEL = "cancel"  # an upgrade that has not started, to a version that is blocked by now
    AGREE = "agree"  # a version gate


class Step(Change, frozen=True, gc=False, kw_only=True):
    """What an option would do; `revision` is the version, the channel, or the gate's minor."""

    doing: Doing
    # The node pool, for POOL and for CANCEL of one; empty: the cluster, or its control plane.
    pool: str = ""
    # What is deleted or agreed to, by its id.
    ident: str = ""
    # None: it would not start soon, or starts nothing.
    starts_at: Instant | None = None


class Telling(msgspec.Struct, frozen=True):
    """What an owner is told, in the service log of a cluster."""

    uuid: str
    summary: str
    description: str


class UpgradePlan(Plan, frozen=True, kw_only=True):
    """All that was decided; positions are those of `members`, actions name external ids."""

    fleets: tuple[Fleet, ...]
    members: tuple[Member, ...]
    ledgers: dict[str, Ledger]  # by `env/org`, with this look folded in
    tellings: tuple[Telling, ...] = ()
    warnings: tuple[str, ...] = ()
    # Places of budgets and mutexes to be claimed before the plan is acted on.
    claims: tuple[Claim, ...] = ()


def actions_of(options: list[Option], members: tuple[Member, ...]) -> list[Action]:
    """Every option whose verdicts all pass: what is taken back first, upgrades, then the rest."""
    chosen = [each for each in options if all_pass(each.verdicts)]
    return [
        Action(members[each.target].cluster.uuid, each.change) for each in sorted(chosen, key=_rank)
    ]


_RANKS = {Doing.CANCEL: 0, Doing.UPGRADE: 1, Doing.POOL: 1, Doing.CHANNEL: 2, Doing.AGREE: 3}


def _rank(option: Option) -> int:
    change = option.change
    return _RANKS[change.doing] if isinstance(change, Step) else 0
