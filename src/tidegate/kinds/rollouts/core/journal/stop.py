"""What ended a rollout that is aborted, as its journal has it.

Targets that failed are back by then, so that no gate has them to say any more.
"""

from collections.abc import Iterable

from tidegate.journal.chain import Entry
from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.rollouts.core.journal.facts import Decided, Observed
from tidegate.model.plan import Event
from tidegate.model.target import Status
from tidegate.model.time import format_second


def stopped_by(entries: Iterable[Entry]) -> str:
    """The failures or the person that ended a rollout; empty: not known."""
    failed: dict[str, str] = {}
    told = ""
    for entry in entries:
        fact = entry.fact()
        if isinstance(fact, Observed):
            for each in fact.reports:
                failed.pop(each.name, None)
                if each.status in (Status.Failed, Status.TimeOut):
                    failed[each.name] = each.detail
        elif isinstance(fact, Asked) and fact.verb is Verb.ABORT:
            told = f"{entry.actor} aborted it" + (f": {fact.reason}" if fact.reason else "")
        elif isinstance(fact, Decided) and Event.ABORTED in fact.events and failed:
            some = (f"{name}: {why}" if why else name for name, why in sorted(failed.items()))
            told = f"{format_second(entry.at)} {'; '.join(some)}"
    return told
