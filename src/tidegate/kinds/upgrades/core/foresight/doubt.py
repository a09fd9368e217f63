"""What the date of a step depends on besides the calendar, so that a firm date is one that holds.

A date is firm for what is decided now; and for a cluster's first step, if it shares no mutex, room
or budget with others, no newer version may be open by then, and the channel's offers are known.
"""

from collections.abc import Iterable

from tidegate.gates.brakes import Brakes
from tidegate.kinds.upgrades.core.foresight.expected import (
    HOSTED,
    UNWANTED,
    ExpectedUpgrades,
    may_open,
)
from tidegate.kinds.upgrades.core.foresight.fleet_state import FleetState
from tidegate.kinds.upgrades.core.foresight.future import UnknownOffers
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.kinds.upgrades.core.rules.soak import key_or_least
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.model.plan import Option
from tidegate.model.reason import Outcome


def own_doubts(expected: ExpectedUpgrades, unknown: UnknownOffers | None) -> list[str]:
    """What is in doubt about a cluster, whatever others do."""
    found = [HOSTED] if expected.cluster.is_hosted else []
    if unknown is not None:
        found.append(offers_text(unknown))
    if expected.upgrades:
        found.append("its step before")
    return found


def offers_text(unknown: UnknownOffers) -> str:
    """That it is not known what a channel offers."""
    return f"what channel {unknown.channel} offers"


def shared_doubts(state: FleetState, member: FleetMember, brakes: Brakes) -> list[str]:
    """What others may have when its turn comes."""
    found = [f"mutex {each}" for each in member.mutexes if state.is_shared(each)]
    if state.is_crowded(member.sector):
        found.append(f"room in sector {member.sector}")
    if brakes.budgets or brakes.mutexes:
        found.append("a shared budget")
    return found


def choice_doubts(step: UpgradeStep, options: Iterable[Option]) -> list[str]:
    """Newer versions that may be open by then."""
    chosen = key_or_least(step.revision or "")
    found = []
    for option in options:
        shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
        if (
            isinstance(option.change, UpgradeStep)
            and option.change.doing is step.doing
            and shut
            and key_or_least(option.change.revision or "") > chosen
            and not any(each.reason in UNWANTED for each in shut)
            and all(map(may_open, shut))
        ):
            found.append(f"whether {option.change.revision} is open by then")
    return found[:1]
