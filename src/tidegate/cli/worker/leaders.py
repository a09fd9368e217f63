"""Rollouts that another worker leads, for a run that ends: is that worker alive, or is it gone?

A worker that is alive renews its leases. One that was killed does not, and nothing says so before
they end: a run that took its word for it would end with nothing done, and say that all is well.
"""

import asyncio
from collections.abc import Callable

from tidegate.journal.lease import KeptLease
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.time import format_second
from tidegate.store.port import Store

# How often leases are looked at while it is not known.
LOOK_S = 0.25


class OtherLeaders:
    """Leases of others, from the first time they are seen until they are renewed or over."""

    def __init__(self, store: Store, clock: Clock, ours: str, say: Callable[[str], None]) -> None:
        self._store = store
        self._ours = ours
        self._clock = clock
        self._say = say
        self._first: dict[str, KeptLease | None] = {}
        self._told: set[str] = set()
        # Rollouts that another worker leads and looks after.
        self.led: set[str] = set()

    def meet(self, partition: str) -> None:
        """Another worker has the lease of a rollout."""
        self._first[partition] = None

    def forget(self, partition: str) -> None:
        """None has, or we do."""
        self._first.pop(partition, None)
        self.led.discard(partition)

    async def run(self, changed: Callable[[], None]) -> None:
        """Look at the leases until it is cancelled."""
        while True:
            if self._first:
                try:
                    leases = await asyncio.to_thread(self._store.leases)
                except OutsideError:
                    leases = {}  # the worker says so
                for each in list(self._first):
                    self._look(each, leases.get(each))
                changed()
            await asyncio.sleep(LOOK_S)

    def _look(self, partition: str, record: KeptLease | None) -> None:
        if record is None or not record.runs(self._clock.now()):
            return
        first, holder = self._first.get(partition), record.lease.holder
        if holder == self._ours:
            # Taken after it had ended; the worker has not reported that yet.
            self.forget(partition)
        elif first is None:
            self._first[partition] = record
            until = format_second(record.lease.until)
            what = "waits for its lease, which worker"
            self._tell(f"waits {holder}", f"{partition}: {what} {holder} has until {until}")
        elif first.lease != record.lease:
            del self._first[partition]
            self.led.add(partition)
            told = f"{partition}: worker {holder} leads it; this one stands by"
            self._tell(f"leads {holder}", told)

    def _tell(self, key: str, line: str) -> None:
        """Say something once: a worker may lead a thousand rollouts."""
        if key not in self._told:
            self._told.add(key)
            self._say(line)
