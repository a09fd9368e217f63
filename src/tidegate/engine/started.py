"""A kind that was started from settings: the kind, its telemetry, and what is closed in the end."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
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


async def for_ever() -> None:
    """Nothing happens by itself."""
    await asyncio.Event().wait()


class Living(msgspec.Struct, frozen=True, kw_only=True):
    """A kind whose outside is simulated, and what people and clusters do there meanwhile."""

    started: Started
    # Before the first round.
    set_up: Callable[[], Coroutine[Any, Any, None]] = nothing
    # Until it is cancelled.
    live: Callable[[], Coroutine[Any, Any, None]] = for_ever
    # Told of every round, as what people do may depend on it.
    hear: Callable[[str, object], None] = lambda _partition, _outcome: None
