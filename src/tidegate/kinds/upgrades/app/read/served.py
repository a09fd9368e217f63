"""Every organisation that is managed, read now: all environments at once, one world each.

Only reading methods are called. Soak, brakes and refusals come from the journal; published soak
takes precedence over it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Protocol

import msgspec

from tidegate.kinds.upgrades.app.read.journal import UpgradeJournal
from tidegate.kinds.upgrades.app.read.organisations import (
    AskAlerts,
    OrganisationsRead,
    publishing,
    read_organisations,
)
from tidegate.kinds.upgrades.app.read.soak import ReadMoment, unusable, with_published_soak
from tidegate.kinds.upgrades.app.read.world import (
    FleetReading,
    WorldReading,
    unknown_organisation,
)
from tidegate.kinds.upgrades.core.service import OcmEnvironment, Registration, UpgradeService
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.kinds.upgrades.health_port import ClusterHealth
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.kinds.upgrades.wire.published_soak import PublishedSoak
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.time import Instant

SOAK_UNKNOWN = "is not known: shown as 0; name the journal with --database, or write --soak"

HealthSource = Callable[[OcmEnvironment], ClusterHealth | None]
"""The health of an environment's clusters; None: no Prometheus is named. UserError: a wrong one."""


class ManagerSource(Protocol):
    """Opens OpenShift Cluster Managers."""

    def of(self, environment: OcmEnvironment, of: Registration | None = None) -> ManagedClusters:
        """The one of an environment, with its credentials or with those of an organisation."""
        ...


class ServedSources(msgspec.Struct, frozen=True, kw_only=True):
    """What the organisations of a service are read with."""

    managers: ManagerSource
    health: HealthSource
    soak: PublishedSoak = PublishedSoak()
    # None: there is no journal here.
    journal: UpgradeJournal | None = None


async def read_served(
    service: UpgradeService, orgs: Sequence[str], sources: ServedSources, when: ReadMoment
) -> FleetReading:
    """Every organisation that is managed, or some of them; OutsideError if none can be read."""
    wanted = _wanted(service, orgs)
    worlds, troubles = await _worlds(service, wanted, sources, when.now)
    if not worlds and troubles:
        raise OutsideError("; ".join(troubles))
    readings = tuple(
        _reading(service, each, worlds[each.id], sources, when)
        for each in wanted
        if each.id in worlds
    )
    return FleetReading(readings, tuple(troubles))


def _wanted(service: UpgradeService, orgs: Sequence[str]) -> tuple[Registration, ...]:
    served = service.served()
    for name in orgs:
        if not any(name in (each.id, each.name) for each in served):
            raise unknown_organisation(name, [each.id for each in served], what=" is served")
    chosen = (each for each in served if not orgs or {each.id, each.name} & set(orgs))
    return tuple(sorted(chosen, key=lambda each: (each.environment, each.id)))


def _reading(
    service: UpgradeService,
    of: Registration,
    world: UpgradeWorld,
    sources: ServedSources,
    when: ReadMoment,
) -> WorldReading:
    """One organisation, with what the journal knows of it."""
    world = msgspec.structs.replace(world, read_at=when.read_at)
    notes: tuple[str, ...] = ()
    if sources.journal is not None:
        world = sources.journal.completed(of.partition, world)
    if sources.soak.of(of.environment, of.id) is not None:
        world, notes = with_published_soak(world, of, sources.soak, when.now)
    elif f"{of.environment}/{of.id}" not in world.ledgers:
        notes = (f"soak of {of.id} {SOAK_UNKNOWN}",)
    environment = service.environment(of.environment)
    return WorldReading(
        world=world,
        service=UpgradeService(() if environment is None else (environment,), (of,)),
        where=environment.url if environment is not None else "",
        read_at=when.read_at,
        notes=notes,
    )


async def _worlds(
    service: UpgradeService, wanted: Sequence[Registration], sources: ServedSources, now: Instant
) -> tuple[dict[str, UpgradeWorld], list[str]]:
    """Every environment at once; one that cannot be read does not stop the others."""
    groups: dict[int, tuple[ManagedClusters, OcmEnvironment, list[Registration]]] = {}
    for each in wanted:
        environment = service.environment(each.environment)
        if environment is not None:
            manager = sources.managers.of(environment, each)
            groups.setdefault(id(manager), (manager, environment, []))[2].append(each)
    managers = {environment.name: manager for manager, environment, _ in groups.values()}
    async with AsyncExitStack() as stack:
        alerts = {
            environment.name: _alerts(sources.health, environment, stack)
            for _, environment, _ in groups.values()
        }
        found = await asyncio.gather(
            *(
                _read(manager, environment, mine, now, managers, alerts[environment.name])
                for manager, environment, mine in groups.values()
            )
        )
    worlds: dict[str, UpgradeWorld] = {}
    troubles: list[str] = []
    for (_, _, mine), read in zip(groups.values(), found, strict=True):
        if isinstance(read, str):
            troubles.append(read)
        else:
            worlds |= {one.id: world for one, world in zip(mine, read.worlds, strict=True)}
            troubles += unusable(read)
    return worlds, troubles


async def _read(
    manager: ManagedClusters,
    environment: OcmEnvironment,
    mine: list[Registration],
    now: Instant,
    managers: Mapping[str, ManagedClusters],
    alerts: AskAlerts,
) -> OrganisationsRead | str:
    try:
        return await read_organisations(manager, mine, now, publishing(managers), alerts)
    except OutsideError as error:
        return f"environment {environment.name}: {error}"


def _alerts(health: HealthSource, environment: OcmEnvironment, stack: AsyncExitStack) -> AskAlerts:
    """The source of alerts; without one, no cluster is taken to be healthy for that."""
    try:
        found = health(environment)
    except UserError as error:
        return _failing(error.text())
    if found is None:
        return _failing("no Prometheus is named")
    stack.push_async_callback(found.close)
    return found.alerts


def _failing(why: str) -> AskAlerts:
    async def ask(_: str) -> dict[str, tuple[str, ...]]:
        raise OutsideError(why)

    return ask
