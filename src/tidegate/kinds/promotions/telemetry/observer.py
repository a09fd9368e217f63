"""Metrics of promotions: open merge requests as of the last round, and what the journal got."""

from collections import Counter
from collections.abc import Iterator
from threading import Lock

from tidegate.engine.round import RoundResult
from tidegate.journal.fact import Fact
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.kinds.promotions.core.journal.facts import (
    MergeRequestSeen,
    Offered,
    PromotionRefused,
    Verified,
)
from tidegate.kinds.promotions.core.world import OfferState, PromotionWorld
from tidegate.kinds.promotions.telemetry.table import EVENTS, OLDEST, OPEN
from tidegate.model.time import SECOND
from tidegate.telemetry.exposition import family, lines
from tidegate.telemetry.kind import KindTelemetry

_Samples = list[tuple[dict[str, str], float]]


class PromotionTelemetry(KindTelemetry):
    """Numbers of the promotions that are led here; events are counted since the process began."""

    def __init__(self) -> None:
        self._worlds: dict[str, PromotionWorld] = {}
        self._events: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    def round_ended(self, result: RoundResult) -> None:
        """The world of a round is the one to count from now on."""
        if isinstance(result.world, PromotionWorld):
            with self._lock:
                self._worlds[result.partition] = result.world

    def on_lease_lost(self, partition: str) -> None:
        """Another worker counts it."""
        with self._lock:
            self._worlds.pop(partition, None)

    def written(self, partition: str, fact: Fact) -> None:
        """Count what became of environments."""
        with self._lock:
            for event, number in _events(fact):
                self._events[_name(partition), event] += number

    def text(self) -> bytes:
        """The numbers as they are now."""
        with self._lock:
            worlds, events = dict(self._worlds), dict(self._events)
        requests: _Samples = []
        oldest: _Samples = []
        for partition, world in sorted(worlds.items()):
            promotion = _name(partition)
            found = {n: o for n, o in world.offers.items() if o.state is OfferState.OPEN}
            for each in world.targets():
                labels = {"promotion": promotion, "environment": each.name}
                requests.append((labels, int(each.name in found)))
            if found:
                first = min(each.offered_at for each in found.values())
                oldest.append(({"promotion": promotion}, first / SECOND))
        counted: _Samples = [
            ({"promotion": promotion, "event": event}, number)
            for (promotion, event), number in sorted(events.items())
        ]
        told = ((OPEN, requests), (OLDEST, oldest), (EVENTS, counted))
        return "".join(family(known, lines(known.name, some)) for known, some in told).encode()


def _name(partition: str) -> str:
    return partition.removeprefix(f"{KIND}/")


def _events(fact: Fact) -> Iterator[tuple[str, int]]:
    """What a fact says, and of how many environments."""
    if isinstance(fact, Offered):
        yield "offered", len(fact.environments)
    elif isinstance(fact, MergeRequestSeen) and fact.state is not OfferState.OPEN:
        yield fact.state.value, len(fact.environments)
    elif isinstance(fact, PromotionRefused):
        yield "refused", len(fact.environments)
    elif isinstance(fact, Verified):
        for check in fact.checks:
            yield ("verified" if check.matches else "differs"), 1
