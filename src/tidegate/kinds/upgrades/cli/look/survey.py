"""Everybody who is served, read now: all environments at once, each organisation in its own world.

Only reading methods are ever called. Soak, brakes and refusals come from the journal; soak that was
published goes before it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import click
import msgspec

from tidegate.kinds.upgrades.app.reading import AskAlerts, Read, publishing, read_organisations
from tidegate.kinds.upgrades.cli.look.flags import Asked
from tidegate.kinds.upgrades.cli.look.ground import Ground, Looked
from tidegate.kinds.upgrades.cli.look.journal import Journal, journal_of
from tidegate.kinds.upgrades.cli.look.reading import Moments, counting, gaps, moments, soaked
from tidegate.kinds.upgrades.cli.managers import Managers, health_of, service_of
from tidegate.kinds.upgrades.cli.published_soak import published
from tidegate.kinds.upgrades.core.service import Environment, Registration, Service
from tidegate.kinds.upgrades.core.world import World
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.kinds.upgrades.wire.published_soak import Soak
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant
from tidegate.settings.settings import Settings

SOAK_UNTOLD = "is not known: shown as 0; name the journal with --database, or write --soak"


def as_operator(asked: Asked) -> Looked:
    """Everybody who is served, or some of them, each in its own world."""
    service, soak, when = service_of(asked.settings), published(asked.soak), moments(asked)
    wanted = _wanted(service, asked.orgs)
    worlds, troubles = asyncio.run(_operator(asked.settings, service, wanted, when.now))
    if not worlds and troubles:
        raise OutsideError("; ".join(troubles))
    with journal_of(asked.settings) as journal:
        grounds = tuple(
            _operated(service, each, worlds[each.id], (soak, journal), when)
            for each in wanted
            if each.id in worlds
        )
    return Looked(grounds, tuple(troubles))


def _operated(
    service: Service,
    of: Registration,
    world: World,
    sources: tuple[Soak, Journal | None],
    when: Moments,
) -> Ground:
    """One organisation, with what the journal knows of it; published soak goes before."""
    soak, journal = sources
    world = msgspec.structs.replace(world, read_at=when.read_at)
    notes: tuple[str, ...] = ()
    if journal is not None:
        world = journal.known_of(of.partition, world)
    if soak.of(of.environment, of.id) is not None:
        world, notes = soaked(world, of, soak, when.now)
    elif f"{of.environment}/{of.id}" not in world.ledgers:
        notes = (f"soak of {of.id} {SOAK_UNTOLD}",)
    environment = service.environment(of.environment)
    return Ground(
        world=world,
        service=Service(() if environment is None else (environment,), (of,)),
        where=environment.url if environment is not None else "",
        read_at=when.read_at,
        notes=notes,
    )


def _wanted(service: Service, orgs: Sequence[str]) -> tuple[Registration, ...]:
    served = service.served()
    for name in orgs:
        if not any(name in (each.id, each.name) for each in served):
            hint = nearest_or_all(name, [each.id for each in served], "none")
            raise click.UsageError(f'--org: no organisation "{name}" is served; {hint}')
    chosen = (each for each in served if not orgs or {each.id, each.name} & set(orgs))
    return tuple(sorted(chosen, key=lambda each: (each.environment, each.id)))


async def _operator(
    settings: Settings, service: Service, wanted: Sequence[Registration], now: Instant
) -> tuple[dict[str, World], list[str]]:
    """Every environment at once; one that cannot be read keeps nobody from the others."""
    async with Managers() as managers, AsyncExitStack() as stack:
        groups: dict[int, tuple[ManagedClusters, Environment, list[Registration]]] = {}
        for each in wanted:
            environment = service.environment(each.environment)
            if environment is not None:
                manager = managers.of(environment, each)
                groups.setdefault(id(manager), (manager, environment, []))[2].append(each)
        ways = {environment.name: manager for manager, environment, _ in groups.values()}
        asks = {
            environment.name: _asking(settings, environment, stack)
            for _, environment, _ in groups.values()
        }
        found = await asyncio.gather(
            *(
                _read(manager, environment, mine, now, (ways, asks[environment.name]))
                for manager, environment, mine in groups.values()
            )
        )
    worlds: dict[str, World] = {}
    troubles: list[str] = []
    for (_, _, mine), read in zip(groups.values(), found, strict=True):
        if isinstance(read, str):
            troubles.append(read)
        else:
            worlds |= {one.id: world for one, world in zip(mine, read.worlds, strict=True)}
            troubles += gaps(read)
    return worlds, troubles


async def _read(
    manager: ManagedClusters,
    environment: Environment,
    mine: list[Registration],
    now: Instant,
    beside: tuple[dict[str, ManagedClusters], AskAlerts],
) -> Read | str:
    ways, ask = beside
    try:
        async with counting(manager, f"reading the clusters of {environment.name}"):
            return await read_organisations(manager, mine, now, publishing(ways), ask)
    except OutsideError as error:
        return f"environment {environment.name}: {error}"


def _asking(settings: Settings, environment: Environment, stack: AsyncExitStack) -> AskAlerts:
    """Who is asked for alerts; where nobody is named, nobody is taken to be well for that."""
    try:
        health = health_of(settings, environment)
    except UserError as error:
        return _silent(error.text())
    if health is None:
        return _silent("nobody is named")
    stack.push_async_callback(health.close)
    return health.alerts


def _silent(why: str) -> AskAlerts:
    async def ask(_: str) -> dict[str, tuple[str, ...]]:
        raise OutsideError(why)

    return ask
