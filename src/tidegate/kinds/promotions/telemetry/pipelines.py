"""Metrics of pipelines: distances and ages as of the last round, and what the journal got."""

from collections import Counter
from collections.abc import Iterator
from threading import Lock

from tidegate.engine.plain.rules import PlainWorld
from tidegate.engine.round import RoundResult
from tidegate.journal.fact import Fact
from tidegate.kinds.promotions.core.channels.gates import publishers_of
from tidegate.kinds.promotions.core.channels.journal.facts import (
    DeploymentsSeen,
    EvidenceReported,
    QuarantineLifted,
    RequestsSeen,
)
from tidegate.kinds.promotions.core.channels.pipeline import KIND
from tidegate.kinds.promotions.core.channels.plan import PipelineWorld
from tidegate.kinds.promotions.core.channels.sources import (
    CommitRange,
    SaasSubscriber,
    range_key,
)
from tidegate.kinds.promotions.telemetry.table import (
    COMMIT_DISTANCE,
    OLDEST_COMMIT,
    PIPELINE_EVENTS,
    PIPELINE_QUARANTINED,
    PIPELINE_REQUEST_EVENTS,
    PIPELINE_REQUESTS,
)
from tidegate.model.time import SECOND
from tidegate.telemetry.exposition import family, lines
from tidegate.telemetry.kind import KindTelemetry

_Samples = list[tuple[dict[str, str], float]]


class PipelineTelemetry(KindTelemetry):
    """Numbers of the pipelines that are led here; events are counted since the process began."""

    def __init__(self) -> None:
        self._worlds: dict[str, PipelineWorld] = {}
        self._events: Counter[tuple[str, str]] = Counter()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    def round_ended(self, result: RoundResult) -> None:
        """The world of a round is the one to count from now on."""
        world = result.world
        if isinstance(world, PlainWorld) and isinstance(world.inner, PipelineWorld):
            with self._lock:
                self._worlds[result.partition] = world.inner

    def on_lease_lost(self, partition: str) -> None:
        """Another worker counts it."""
        with self._lock:
            self._worlds.pop(partition, None)

    def written(self, partition: str, fact: Fact) -> None:
        """Count what became of versions."""
        if not partition.startswith(f"{KIND}/"):
            return
        name = partition.removeprefix(f"{KIND}/")
        with self._lock:
            for event, number in _events(fact):
                self._events[name, event] += number
            if isinstance(fact, RequestsSeen):
                self._requests.update((name, event) for event in _request_events(fact))

    def text(self) -> bytes:
        """The numbers as they are now."""
        with self._lock:
            worlds, events = dict(self._worlds), dict(self._events)
            ended = dict(self._requests)
        distances: _Samples = []
        oldest: _Samples = []
        requests: _Samples = []
        quarantined: _Samples = []
        for partition, world in sorted(worlds.items()):
            mine = {"pipeline": partition.removeprefix(f"{KIND}/")}
            distances += list(_distances(world))
            moments = [each.oldest_at for _, each in _ahead(world) if each.oldest_at is not None]
            if moments:
                oldest.append((mine, min(moments) / SECOND))
            if world.requests is not None:
                checks = Counter(each.check.value for each in world.requests.requests)
                requests += [({**mine, "check": c}, n) for c, n in sorted(checks.items())]
            quarantined.append((mine, len(world.channels.quarantined)))
        told = (
            (COMMIT_DISTANCE, distances),
            (OLDEST_COMMIT, oldest),
            (PIPELINE_REQUESTS, requests),
            (PIPELINE_QUARANTINED, quarantined),
            (PIPELINE_EVENTS, _counted(events)),
            (PIPELINE_REQUEST_EVENTS, _counted(ended)),
        )
        return "".join(family(known, lines(known.name, some)) for known, some in told).encode()


def _counted(events: dict[tuple[str, str], int]) -> _Samples:
    return [
        ({"pipeline": pipeline, "event": event}, number)
        for (pipeline, event), number in sorted(events.items())
    ]


def _request_events(fact: RequestsSeen) -> Iterator[str]:
    """What became of merge requests, a word each."""
    yield from ("opened" for _ in fact.opened)
    yield from ("merged" for _ in fact.merged)
    yield from (cause for _, cause in fact.closed)


def _ahead(world: PipelineWorld) -> Iterator[tuple[SaasSubscriber, CommitRange]]:
    """Subscribers whose publishers are ahead of them, with the commits between."""
    for one in world.reading.subscribers:
        names = publishers_of(world.channels, one.channels)
        versions = {world.channels.publishers[name].version for name in names}
        for version in versions:
            found = world.reading.commits.get(range_key(one.ref, version or ""))
            if found is not None:
                yield one, found


def _distances(world: PipelineWorld) -> Iterator[tuple[dict[str, str], float]]:
    """As the existing exporter has them, by channel, publisher and subscriber."""
    places = {each.name: each.place for each in world.reading.publishers}
    for one in world.reading.subscribers:
        for channel in sorted(set(one.channels)):
            for name in world.channels.channels.get(channel, ()):
                version = world.channels.publishers[name].version
                found = world.reading.commits.get(range_key(one.ref, version or ""))
                number = 0 if version == one.ref else None if found is None else found.number
                if number is None:
                    continue
                labels = {
                    "channel": channel,
                    "app": one.place.app,
                    "publisher": places[name].saas,
                    "publisher_namespace": places[name].namespace,
                    "subscriber": one.place.saas,
                    "subscriber_namespace": one.place.namespace,
                }
                yield labels, number


def _events(fact: Fact) -> Iterator[tuple[str, int]]:
    """What a fact says, and how often."""
    if isinstance(fact, DeploymentsSeen):
        for each in fact.deployments:
            yield ("deployed" if each.good else "failed"), 1
    elif isinstance(fact, QuarantineLifted):
        yield "lifted", 1
    elif isinstance(fact, EvidenceReported):
        yield ("reported good" if fact.good else "reported bad"), 1
