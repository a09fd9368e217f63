"""A kind that was started from settings: the kind, its telemetry, and what is closed in the end."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tidegate.engine.kind import Kind
from tidegate.store.port import Store

if TYPE_CHECKING:
    from starlette.routing import Route

    from tidegate.telemetry.kind import KindTelemetry


async def nothing() -> None:
    """Nothing is open."""


class Started(msgspec.Struct, frozen=True):
    """One kind, ready to run."""

    kind: Kind[Any, Any, Any, Any]
    telemetry: "KindTelemetry"
    close: Callable[[], Awaitable[None]] = nothing
    # The first words of the names of its partitions; None: not known before it is asked.
    words: tuple[str, ...] | None = None
    # What it serves over HTTP, on a journal.
    routes: "Callable[[Store], Sequence[Route]]" = lambda _store: ()
