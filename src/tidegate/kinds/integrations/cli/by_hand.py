"""What people change on clusters by hand: kept from doing it by brakes, and written down."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tidegate.cli.live import opened, signed
from tidegate.cli.worker_options import brake_book, gatherer
from tidegate.explain.sentence import sentence
from tidegate.gates.ask import Ask, Purpose, shut_now
from tidegate.gates.brakes import LISTS, Brakes, Coverages
from tidegate.gates.scope import KindOfChange
from tidegate.journal.facts import Handled, HandledObject
from tidegate.kinds.integrations.app.applying import Done
from tidegate.kinds.integrations.core.workloads.change import ACTING, Change, Verb
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.model.time import Duration, Instant
from tidegate.settings.settings import Settings
from tidegate.store.port import Store
from tidegate.wiring import clock, open_store

# Where it is written down: it is of no rollout.
PARTITION = "by-hand/clusters"


def brakes_now(settings: Settings, now: Instant) -> Brakes:
    """Every brake there is."""
    with any_store(settings.database) as store:
        return brake_book(settings, store, gatherer(settings)).read(now)


def braked(settings: Settings, estate: Estate, changes: Iterable[Change]) -> tuple[Change, ...]:
    """Changes as the brakes have it: what one of them covers is held, and says by which."""
    every = tuple(changes)
    now = clock().now()
    brakes = brakes_now(settings, now)
    if not any(getattr(brakes, field) for field in LISTS):
        return every
    labels = {unit.name: unit.labels for place in estate.places for unit in place.units}
    brakes = msgspec.structs.replace(brakes, kind=KindOfChange.INTEGRATIONS)
    coverages = Coverages(brakes, labels)

    def held(change: Change) -> Change:
        if change.verb not in ACTING:
            return change
        purpose = Purpose.REMOVE if change.verb is Verb.REMOVE else Purpose.ROLL_OUT
        ask = Ask(purpose=purpose, now=now, revision=None, need=Duration(0))
        shut = shut_now(coverages.of(change.shard or change.name), ask)
        if shut is None:
            return change
        return msgspec.structs.replace(change, verb=Verb.HELD, reason=sentence(shut), held="")

    return tuple(map(held, every))


@contextmanager
def any_store(database: str) -> Iterator[Store]:
    """The journal; an empty one where there is none yet."""
    missing = "://" not in database and not Path(database).exists()
    with opened("memory:" if missing else database) as store:
        yield store


def write_down(
    settings: Settings, partition: str, objects: Iterable[HandledObject], reason: str
) -> None:
    """Write down what was done by hand, by whom, and why."""
    with opened(settings.database, writes=True) as store:
        fact = Handled(objects=tuple(objects), reason=reason)
        store.append(partition, [signed(fact, clock().now())])


class Minutes:
    """Writes down what was done by hand; opened before, so that nothing is done unseen."""

    def __init__(self, settings: Settings, reason: str) -> None:
        self._store = open_store(settings.database, writes=True)
        self._reason = reason
        self._done: list[Done] = []

    def note(self, done: Done) -> None:
        """One thing was done."""
        self._done.append(done)

    def close(self) -> None:
        """Write it down, whatever ended it."""
        try:
            if self._done:
                objects = tuple(
                    HandledObject(
                        f"{each.change.cluster}/{each.change.namespace}/{each.change.where}",
                        each.outcome.value,
                        each.detail,
                    )
                    for each in self._done
                )
                fact = Handled(objects=objects, reason=self._reason)
                self._store.append(PARTITION, [signed(fact, clock().now())])
        finally:
            self._store.close()
