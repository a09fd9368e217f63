"""Reads the world that flags and settings name, through the ports they name."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click
import msgspec

from tidegate import wiring
from tidegate.cli.moment import point
from tidegate.cli.render.progress import Progress, Waiting
from tidegate.cli.worker.options import brake_book
from tidegate.documents.files import bounded_bytes
from tidegate.kinds.upgrades.app.read.journal import UpgradeJournal, read_recorded
from tidegate.kinds.upgrades.app.read.soak import ReadMoment
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.cli.managers import (
    TOKEN_VARIABLE,
    Managers,
    health_of,
    own_environment,
    service_of,
)
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery
from tidegate.kinds.upgrades.cli.source.recorded import is_recorded, store_of
from tidegate.kinds.upgrades.wire.published_soak import PublishedSoak, read_soak
from tidegate.model.errors import UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem
from tidegate.model.time import Instant
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import Settings
from tidegate.wiring import outside

if TYPE_CHECKING:
    from tidegate.documents.strict_yaml import YamlDocument

NO_SOURCE = (
    "no source of clusters: write --upgrades FILE (the organisations that are served), --ocm-url"
    " URL with a token of your own, --world FILE, --database with the journal of a worker, or"
    " --server URL"
)
# How often the number of requests is shown on a terminal.
SHOW_S = 0.2
_URLS = ("http://", "https://")


def read_fleet(query: WorldQuery) -> FleetReading:
    """Read the world now, from the source that a query names."""
    if query.world:
        from tidegate.documents.files import read_document

        return read_document_world(read_document(query.world), query)
    if not query.alone and (query.recorded or not query.settings.upgrades):
        if query.recorded or is_recorded(query.settings):
            return _read_journal(query)
        if TOKEN_VARIABLE not in os.environ:
            raise click.UsageError(_no_source(query.settings))
        return _read_own(query)
    return _read_own(query) if query.alone else _read_served(query)


def _no_source(settings: Settings) -> str:
    if settings.database == TABLE["database"].default:
        return NO_SOURCE
    return f"{settings.database}: this journal has no upgrades; {NO_SOURCE}"


def read_document_world(document: "YamlDocument", query: WorldQuery) -> FleetReading:
    """The world in a document; problems with their line."""
    from tidegate.documents.files import located
    from tidegate.kinds.upgrades.app.read.document import read_world_document

    moment = partial(_moment, query.at)
    try:
        return FleetReading(
            (read_world_document(document.data, document.name, query.orgs, moment),)
        )
    except UserError as error:
        raise located(document, error) from None


@contextmanager
def journal_of(settings: Settings) -> Iterator[UpgradeJournal | None]:
    """The journal of the settings; None: there is none at the default place."""
    with store_of(settings) as store:
        book = brake_book(settings, store, None) if store is not None else None
        yield UpgradeJournal(store, book) if store is not None and book is not None else None


def _read_journal(query: WorldQuery) -> FleetReading:
    now = wiring.clock().now()
    at = _moment(query.at, now) if query.at else None
    with journal_of(query.settings) as journal:
        if journal is None:
            raise click.UsageError("there is no journal here; name one with --database")
        return read_recorded(journal, query.orgs, now, query.settings.database, at)


def _read_served(query: WorldQuery) -> FleetReading:
    from tidegate.kinds.upgrades.app.read.served import ServedSources, read_served

    settings = query.settings
    service, soak, when = service_of(settings), published_soak(query.soak), _read_moment(query.at)

    async def read(journal: UpgradeJournal | None) -> FleetReading:
        async with Managers() as managers, _showing(managers, "reading clusters"):
            sources = ServedSources(
                managers=managers,
                health=partial(health_of, settings),
                soak=soak,
                journal=journal,
            )
            return await read_served(service, query.orgs, sources, when)

    with journal_of(settings) as journal:
        return asyncio.run(read(journal))


def _read_own(query: WorldQuery) -> FleetReading:
    from tidegate.kinds.upgrades.app.read.own import read_own

    environment = own_environment(query.settings)
    when = _read_moment(query.at)
    # Without a place to read it from, what the service publishes.
    soak = published_soak(query.soak) if query.soak else outside.published

    async def read() -> FleetReading:
        async with Managers() as managers, _showing(managers, "reading your clusters"):
            return await read_own(managers.of(environment), environment, query.orgs, soak, when)

    return asyncio.run(read())


def _read_moment(at: str) -> ReadMoment:
    """Now, or the moment that flags name."""
    read_at = wiring.clock().now()
    now = _moment(at, read_at)
    return ReadMoment(min(read_at, now), now)


def _moment(at: str, otherwise: Instant) -> Instant:
    return point("--now", at, otherwise) if at else otherwise


def published_soak(place: str) -> PublishedSoak:
    """What `--soak FILE|URL` has; nothing if none is named."""
    if not place:
        return PublishedSoak()
    raw = _raw(place)
    try:
        return read_soak(decode_json(raw))
    except msgspec.DecodeError as error:
        what = str(error).removeprefix("JSON is malformed: ")
        problem = Problem("--soak", f"not JSON: {what}", "name what was published, as JSON")
        raise UserError((problem,), where=place) from None
    except UserError as error:
        raise UserError(error.problems, where=place) from None


def _raw(place: str) -> bytes:
    if place.startswith(_URLS):
        with Waiting(f"fetching {place}"):
            return asyncio.run(outside.published(place))
    try:
        return bounded_bytes(place)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise click.UsageError(f"--soak {place}: {why}") from None


@asynccontextmanager
async def _showing(managers: Managers, what: str) -> AsyncIterator[None]:
    """Show on a terminal how many requests were made so far."""

    async def show(progress: Progress) -> None:
        shown = 0
        while True:
            await asyncio.sleep(SHOW_S)
            made = sum(managers.calls().values())
            progress.tell(made - shown)
            shown = made

    with Progress(f"{what}, requests:") as progress:
        task = asyncio.create_task(show(progress))
        try:
            yield
        finally:
            task.cancel()
