"""What reading for a tenant and for the service share: moments, published soak, and progress."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from tidegate import wiring
from tidegate.cli.render.progress import Progress
from tidegate.kinds.upgrades.app.reading import Read
from tidegate.kinds.upgrades.cli.look.flags import Asked, moment
from tidegate.kinds.upgrades.core.service import Registration
from tidegate.kinds.upgrades.core.world import World
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.kinds.upgrades.wire.published_soak import Soak, history_of, ledger_of
from tidegate.model.time import Instant, format_age, format_second

# How often somebody who waits is told how many requests were made.
TELL_S = 0.2


class Moments(msgspec.Struct, frozen=True):
    """When something was read, and the moment it is looked at."""

    read_at: Instant
    now: Instant


def moments(asked: Asked) -> Moments:
    """Now, or the moment somebody asks about; nothing is read after it."""
    at = wiring.clock().now()
    now = moment(asked.at, at)
    return Moments(min(at, now), now)


def soaked(
    world: World, of: Registration, soak: Soak, now: Instant
) -> tuple[World, tuple[str, ...]]:
    """The world with what was published, and how old that is; nothing is said if nothing was."""
    found = soak.of(of.environment, of.id)
    documents = {key: each for key, each in soak.documents.items() if key}
    if found is not None:
        documents[f"{of.environment}/{of.id}"] = found
    ledgers = {key: ledger_of(each) for key, each in documents.items()}
    kept = {key: history_of(each) for key, each in documents.items()}
    world = msgspec.structs.replace(world, ledgers=ledgers, kept=kept)
    if found is None:
        return world, ()
    at = ledger_of(found).checked_at
    age = "of a time unknown" if at is None else _aged(at, now)
    return world, (f"soak of {of.id} is {age}",)


def _aged(at: Instant, now: Instant) -> str:
    return f"that of {format_second(at)} ({format_age(max(0, now - at))} ago)"


def gaps(read: Read) -> tuple[str, ...]:
    return tuple(f"{one.kind} {one.id}: set aside, {one.why}" for one in read.set_aside)


@asynccontextmanager
async def counting(manager: ManagedClusters, what: str) -> AsyncIterator[None]:
    """Somebody who waits is told how many requests were made."""

    async def telling(progress: Progress) -> None:
        told = 0
        while True:
            await asyncio.sleep(TELL_S)
            made = sum(manager.calls().values())
            progress.tell(made - told)
            told = made

    with Progress(f"{what}, requests:") as progress:
        task = asyncio.create_task(telling(progress))
        try:
            yield
        finally:
            task.cancel()
