"""What a worker reports beside its rounds: leases, troubles, and how it is doing."""

from collections.abc import Iterator, Mapping

import msgspec

from tidegate.model.errors import OutsideError


class TroubleError(OutsideError):
    """Something beside a round could not be read or sent; the round itself went on."""


class KnownTroubles:
    """What could not be read or sent, by partition: it is told once, for as long as it stays so."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, str]] = {}

    def news(self, partition: str, troubles: Mapping[str, str]) -> Iterator[TroubleError]:
        """Those that were not told yet."""
        before = self._known.get(partition, {})
        self._known[partition] = troubles
        for what, why in troubles.items():
            if before.get(what) != why:
                yield TroubleError(f"{what}: {why}")


class Led(msgspec.Struct, frozen=True):
    """A partition became ours to lead, or is no longer; or it is not, and we stand by."""

    leads: bool
    # The worker that leads it instead; empty: it is not known, or it is us.
    leader: str = ""


class Vitals(msgspec.Struct, frozen=True):
    """How a worker is doing, for probes and metrics."""

    led: frozenset[str]
    # Partitions that rounds are run for here, led or not.
    running: frozenset[str]
    # Rounds that wait for their turn, and rounds under way.
    waiting: int
    under_way: int
    # Entries in the journal that no round has taken into account yet, where we lead.
    behind: int
    discovered: bool
    # The event loop's time when the journal last answered; None: it has not yet.
    journal_at: float | None
