"""`simulate upgrades`: a fleet that upgrades by its labels, in virtual time."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from tidegate.kinds.upgrades.app.clusters import ClusterRow, list_clusters
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.simulated.event_collector import EventCollector, Outcome
from tidegate.kinds.upgrades.simulated.events import UpgradeEvent
from tidegate.kinds.upgrades.simulated.rehearsal import Rehearsal
from tidegate.model.document import Document, Part, fields_of
from tidegate.model.time import Instant, format_second

# Called with what happened, and the moment; None: nothing more comes.
Heard = Callable[[Sequence[UpgradeEvent], Instant | None], None]


class RehearsedEvent(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened to the fleet, or was decided; only what is said is there."""

    at: str
    starts_at: str = ""
    until: str = ""
    event: str
    org: str = ""
    clusters: tuple[str, ...] = ()
    sector: str = ""
    hosted: bool = False
    pool: str = ""
    addon: str = ""
    to: str = ""
    was: str = ""
    gate: str = ""
    reason: str = ""
    summary: str = ""
    text: str = ""
    opens: str = ""


class RehearsedCluster(ClusterRow, frozen=True, kw_only=True):
    """One cluster in the end."""

    at: str
    event: str = "stands"


class SimulatedUpgrades(Document, frozen=True, kw_only=True):
    """Upgrades in virtual time; with `-o json`, events and clusters come as lines, one by one."""

    start: str
    end: str
    days: int
    # Events by what happened.
    counts: dict[str, int]
    events: tuple[RehearsedEvent, ...]
    clusters: tuple[RehearsedCluster, ...]


class FinishedRehearsal(msgspec.Struct, frozen=True):
    """A simulation that was run, and the fleet as it is in the end."""

    document: SimulatedUpgrades
    fleet: FleetReading


def simulate_upgrades(
    rehearsal: Rehearsal, days: int, heard: Heard = lambda _events, _now: None
) -> FinishedRehearsal:
    """Let so many days pass; every round is told as it ends."""
    collector, start = EventCollector(), rehearsal.now()
    every: list[UpgradeEvent] = []

    def hear(outcome: Outcome) -> None:
        found = collector.events(rehearsal, outcome)
        every.extend(found)
        heard(found, rehearsal.now() if outcome is not None else None)

    rehearsal.hear = lambda _, outcome: hear(outcome)
    rehearsal.live(days * 24)
    hear(None)
    fleet = rehearsal.fleet()
    last = list_clusters(fleet)
    end = last.now or format_second(rehearsal.now())
    document = SimulatedUpgrades(
        start=format_second(start),
        end=end,
        days=days,
        counts=dict(Counter(each.event for each in every)),
        events=tuple(map(event_part, sorted(every, key=lambda each: each.at))),
        clusters=tuple(RehearsedCluster(**fields_of(each), at=end) for each in last.items),
    )
    return FinishedRehearsal(document, fleet)


def event_part(one: UpgradeEvent) -> RehearsedEvent:
    """One event."""
    moments = {"at": one.at, "starts_at": one.starts_at, "until": one.until}
    texts = {name: format_second(at) for name, at in moments.items() if at is not None}
    return RehearsedEvent(**(fields_of(one) | {"starts_at": "", "until": ""} | texts))
