"""What happened in a rehearsal since the last round: in every environment, and in decisions."""

from collections.abc import Iterator

from tidegate.engine.round import RoundResult
from tidegate.engine.vitals import Led
from tidegate.kinds.upgrades.core.journal.made import OrganisationPlan
from tidegate.kinds.upgrades.ocm.simulated.upgrades import live
from tidegate.kinds.upgrades.simulated.events import SILENT, EventWatch, UpgradeEvent, of_happening
from tidegate.kinds.upgrades.simulated.rehearsal import Rehearsal
from tidegate.model.time import Instant

Outcome = RoundResult | Led | Exception | None


class EventCollector:
    """Hears of every round of a rehearsal, and knows what happened since the last."""

    def __init__(self) -> None:
        self._watch = EventWatch()

    def events(self, rehearsal: Rehearsal, outcome: Outcome) -> list[UpgradeEvent]:
        """What happened up to now: in every environment, and in what was decided."""
        now = rehearsal.now()
        found = list(_happened(rehearsal, now))
        if isinstance(outcome, Exception):
            found.append(UpgradeEvent(at=now, event=SILENT, text=str(outcome)))
        elif isinstance(outcome, RoundResult) and isinstance(outcome.plan, OrganisationPlan):
            made = outcome.plan
            if outcome.is_new:
                found += self._watch.news(now, (made.plan, made.agreeing))
        return found


def _happened(rehearsal: Rehearsal, now: Instant) -> Iterator[UpgradeEvent]:
    """What happened in all environments up to now, as they themselves tell it."""
    for state in rehearsal.states.values():
        live(state, now)
        while state.happened:
            yield of_happening(state, state.happened.popleft())
