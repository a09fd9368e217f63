"""A verdict is one gate's answer about an option: pass, wait or stop, with its reason and numbers.

Verdicts are values shared by every target they are true of: one a rollout, one a group, one an
instant. That is what makes explaining 100,000 targets cost little more than deciding them.
"""

import msgspec

from tidegate.model.reason import Gate, Outcome, Reason
from tidegate.model.time import Instant

FactValue = int | str | tuple[str, ...]


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What one gate says, and why. Make one with `verdict`."""

    gate: Gate
    outcome: Outcome
    reason: Reason
    # Values of the facts that the entry of the reason names, in that order.
    facts: tuple[FactValue, ...] = ()
    # The earliest moment at which time alone could change it; None: time alone never does.
    until: Instant | None = None
    # The moment depends on more than time: on other targets behaving, for one.
    estimate: bool = False


def verdict(
    reason: Reason, *facts: FactValue, until: Instant | None = None, estimate: bool = False
) -> Verdict:
    """The verdict of a reason, with its facts."""
    entry = reason.entry
    if len(facts) != len(entry.facts):
        raise TypeError(f"{reason.value} takes {len(entry.facts)} facts, not {len(facts)}")
    return Verdict(entry.gate, entry.outcome, reason, facts, until, estimate)


def dated(one: Verdict, until: Instant) -> Verdict:
    """The same verdict with its moment; there may be one for every target, so it is made bare."""
    return Verdict(one.gate, one.outcome, one.reason, one.facts, until)


def all_pass(verdicts: tuple[Verdict, ...]) -> bool:
    """Whether an option with these verdicts is acted on."""
    return all(each.outcome is Outcome.PASS for each in verdicts)
