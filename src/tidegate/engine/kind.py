"""A kind of change as a worker tends it: what there is of it, and one round of one of them."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Protocol, TypeVar

import msgspec

from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.desk import AnyDesk
from tidegate.journal.facts import Mode
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant
from tidegate.store.port import Lease, Store


class TroubleError(OutsideError):
    """Something beside a round could not be found out or told; the round itself went on."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker has to know of a round that is over."""

    recheck_at: Instant | None = None
    # Why something could not be found out, by what it is.
    troubles: dict[str, str] = {}
    took_s: float = 0.0
    # Whether something that others wait for was freed.
    frees: bool = False


S = TypeVar("S")


class Kind(Protocol[S]):
    """One kind of change."""

    async def partitions(self) -> list[str]:
        """What there is of it, by name: `kind/name`."""
        ...

    def changes(self) -> AsyncIterator[str]:
        """Names of what may have changed, as it happens; it may end, and is asked again later."""
        ...

    def desk(self, store: Store, partition: str, book: BrakeBook) -> AnyDesk[S]:
        """The desk of one of them."""
        ...

    async def round(self, desk: AnyDesk[S], clock: Clock, lease: Lease, mode: Mode) -> Ended:
        """Observe, decide, record, act."""
        ...

    async def told(self, desk: AnyDesk[S], clock: Clock, lease: Lease, ended: Any) -> None:
        """A round is over and was reported: what is left to do."""
        ...

    def left(self, partition: str) -> None:
        """Somebody else leads it now."""
        ...

    def beside(self, wake: Callable[[str], None]) -> Coroutine[Any, Any, None] | None:
        """What goes on beside the rounds, for as long as the worker runs; None: nothing."""
        ...

    def stop(self) -> None:
        """Begin nothing more."""
        ...
