"""OpenShift Cluster Managers read now, as a tenant sees one or as the service sees all of them.

Only reading methods are ever called. Soak is what no OpenShift Cluster Manager knows: it comes from
what is published, or it is not known, and that is said.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import click
import msgspec

from tidegate import wiring
from tidegate.cli.managers import Managers, own_environment, service_of
from tidegate.cli.progress import Progress
from tidegate.cli.published_soak import published
from tidegate.cli.upgrade_flags import Asked, moment
from tidegate.cli.upgrade_ground import Ground, Looked
from tidegate.core.errors import OutsideError
from tidegate.core.model.problem import nearest_or_all
from tidegate.core.model.time import Instant, format_age, format_second
from tidegate.core.upgrades.declared.orders import read_orders
from tidegate.core.upgrades.history import parse_check_in
from tidegate.core.upgrades.service import Environment, Registration, Service
from tidegate.core.upgrades.world import Org, World
from tidegate.engine.upgrades.survey import PREFIX, Survey, survey
from tidegate.engine.upgrades.worlds import world_of
from tidegate.ports.cluster_manager import LabelType, ManagedClusters
from tidegate.wire.published_soak import Soak, history_of, ledger_of

# How often somebody who waits is told how many requests were made.
TELL_S = 0.2
PUBLISH = "version-data.publish"

SOAK_UNKNOWN = (
    "soak is not known to you: shown as 0; ask the operator for the published soak and name it"
    " with --soak"
)
SOAK_UNTOLD = "soak is not known: shown as 0; name what was published with --soak"
UNSEEN = "not known to you: holds, freezes and health checks of the service, and what is expedited"


class Seen(msgspec.Struct, frozen=True):
    """What was read of some organisations with one token."""

    environment: Environment
    registrations: tuple[Registration, ...]
    survey: Survey


def as_tenant(asked: Asked) -> Looked:
    """One organisation, as whoever belongs to it sees it; nothing else, whatever the token sees."""
    environment = own_environment(asked.settings)
    soak = published(asked.soak)
    seen = asyncio.run(_tenant(asked, environment))
    (own,) = seen.registrations
    known = soak.environments(own.id)
    if len(known) > 1:
        raise click.UsageError(f"--soak: {own.id} stands there under {', '.join(known)}; keep one")
    name = known[0] if known else environment.name
    environment = msgspec.structs.replace(environment, name=name)
    own = msgspec.structs.replace(own, environment=name)
    seen = Seen(environment, (own,), seen.survey)
    notes = [UNSEEN]
    if soak.of(name, own.id) is None:
        notes.insert(0, SOAK_UNKNOWN)
    ground = _ground(environment, [seen], soak, asked, notes)
    ground, presumed = _presumed(ground, own)
    return Looked((msgspec.structs.replace(ground, notes=(*ground.notes, *presumed)),))


async def _tenant(asked: Asked, environment: Environment) -> Seen:
    async with Managers() as managers:
        manager = managers.of(environment)
        async with _counted(manager, "reading your clusters"):
            own = await _own_organization(manager, asked.orgs)
            return Seen(environment, (own,), await survey(manager, organizations=(own.id,)))


async def _own_organization(manager: ManagedClusters, orgs: Sequence[str]) -> Registration:
    """The organisation a token belongs to; a service account belongs to none, and must name one."""
    found = (await manager.account()).organization
    if found is None or not found.id:
        if len(orgs) != 1:
            raise click.UsageError("your token belongs to no organisation; name one with --org")
        (ident,) = orgs
        named = (await manager.organizations([ident])).items
        name = named[0].name if named else ident
        return Registration(id=ident, name=name or ident, environment="")
    if others := [each for each in orgs if each not in (found.id, found.name)]:
        what = f'--org "{others[0]}": your token is of {found.id}'
        raise click.UsageError(f"{what}, and only that is shown")
    return Registration(id=found.id, name=found.name or found.id, environment="")


def _presumed(ground: Ground, own: Registration) -> tuple[Ground, tuple[str, ...]]:
    """Whom a tenant inherits from publishes to it, as far as it can know: it sees no others."""
    world = ground.world
    labels = next((each.labels for each in world.orgs if each.id == own.id), {})
    known = {each.id for each in world.orgs}
    others = [each for each in read_orders(labels, own.id).inherit if each not in known]
    if not others:
        return ground, ()
    orgs = tuple(
        Org(each, each, own.environment, {PUBLISH: own.id}, registered=False) for each in others
    )
    world = msgspec.structs.replace(world, orgs=(*world.orgs, *orgs))
    note = f"inherits from {', '.join(others)}, whom you do not see: taken as publishing to you"
    return msgspec.structs.replace(ground, world=world), (note,)


def as_operator(asked: Asked) -> Looked:
    """Everybody who is served, or some of them; one ground an environment."""
    service = service_of(asked.settings)
    wanted = _wanted(service, asked.orgs)
    soak = published(asked.soak)
    seen, troubles = asyncio.run(_operator(service, wanted))
    notes = [] if asked.soak else [SOAK_UNTOLD]
    grounds = []
    for environment in service.environments:
        if mine := [each for each in seen if each.environment.name == environment.name]:
            ground = _ground(environment, mine, soak, asked, notes)
            grounds.append(_with_others(ground, seen))
            notes = []  # told once
    if not grounds and troubles:
        raise OutsideError("; ".join(troubles))
    return Looked(tuple(grounds), tuple(troubles))


def _wanted(service: Service, orgs: Sequence[str]) -> tuple[Registration, ...]:
    served = service.served()
    for name in orgs:
        if not any(name in (each.id, each.name) for each in served):
            hint = nearest_or_all(name, [each.id for each in served], "none")
            raise click.UsageError(f'--org: no organisation "{name}" is served; {hint}')
    return tuple(each for each in served if not orgs or {each.id, each.name} & set(orgs))


async def _operator(
    service: Service, wanted: Iterable[Registration]
) -> tuple[list[Seen], list[str]]:
    """Every environment at once; one that cannot be read keeps nobody from the others."""
    async with Managers() as managers:
        by_manager: dict[int, tuple[ManagedClusters, Environment, list[Registration]]] = {}
        for each in wanted:
            environment = service.environment(each.environment)
            if environment is not None:
                manager = managers.of(environment, each)
                entry = by_manager.setdefault(id(manager), (manager, environment, []))
                entry[2].append(each)
        found = await asyncio.gather(*(_seen(*each) for each in by_manager.values()))
    seen = [each for each in found if isinstance(each, Seen)]
    return seen, [each for each in found if isinstance(each, str)]


async def _seen(
    manager: ManagedClusters, environment: Environment, of: list[Registration]
) -> Seen | str:
    try:
        async with _counted(manager, f"reading the clusters of {environment.name}"):
            ids = [each.id for each in of]
            return Seen(environment, tuple(of), await survey(manager, organizations=ids))
    except OutsideError as error:
        return f"environment {environment.name}: {error}"


@asynccontextmanager
async def _counted(manager: ManagedClusters, what: str) -> AsyncIterator[None]:
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


def _ground(
    environment: Environment, seen: list[Seen], soak: Soak, asked: Asked, notes: list[str]
) -> Ground:
    at = wiring.clock().now()
    now = moment(asked.at, at)
    read_at = min(at, now)
    worlds = [
        world_of(each.survey, [one.org() for one in each.registrations], now) for each in seen
    ]
    world = _joined(worlds)
    registrations = tuple(one for each in seen for one in each.registrations)
    kept = {
        f"{environment.name}/{one.id}": found
        for one in registrations
        if (found := soak.of(environment.name, one.id)) is not None
    } | {key: each for key, each in soak.documents.items() if key}
    world = msgspec.structs.replace(
        world,
        read_at=read_at,
        ledgers={key: ledger_of(each) for key, each in kept.items()},
        kept={key: history_of(each) for key, each in kept.items()},
        # Nobody is asked for health here, and nobody is taken to be well for that.
        health_fails=any(one.health_checks for one in registrations),
    )
    return Ground(
        world=world,
        service=Service((environment,), registrations),
        where=environment.url,
        read_at=read_at,
        gaps=tuple(
            f"{one.kind} {one.id}: set aside, {one.why}"
            for each in seen
            for one in each.survey.set_aside
        ),
        notes=(*notes, *_ages(world, registrations, now)),
        ends={
            one.raw_id: one.end_of_life_timestamp
            for each in seen
            for one in each.survey.versions
            if one.end_of_life_timestamp
        },
    )


def _joined(worlds: Sequence[World]) -> World:
    """One environment seen with several tokens."""
    first = worlds[0]
    gates = {gate.id: gate for world in worlds for gate in world.gates}
    return msgspec.structs.replace(
        first,
        orgs=tuple(org for world in worlds for org in world.orgs),
        clusters=tuple(cluster for world in worlds for cluster in world.clusters),
        gates=tuple(gates.values()),
        unread={uuid: why for world in worlds for uuid, why in world.unread.items()},
    )


def _with_others(ground: Ground, seen: Iterable[Seen]) -> Ground:
    """With the labels of organisations whose soak may be inherited, wherever they are."""
    world = ground.world
    known = {each.id for each in world.orgs}
    others: dict[str, Org] = {}
    for each in seen:
        for ident, labels in _org_labels(each.survey).items():
            if ident not in known and PUBLISH in labels:
                org = Org(ident, ident, each.environment.name, labels, registered=False)
                others.setdefault(ident, org)
    world = msgspec.structs.replace(world, orgs=(*world.orgs, *others.values()))
    return msgspec.structs.replace(ground, world=world)


def _org_labels(found: Survey) -> Mapping[str, dict[str, str]]:
    labels: dict[str, dict[str, str]] = {}
    for each in found.labels:
        if each.type == LabelType.ORGANIZATION.value:
            labels.setdefault(each.organization_id, {})[each.key.removeprefix(PREFIX)] = each.value
    return labels


def _ages(world: World, registrations: Iterable[Registration], now: Instant) -> list[str]:
    """How old the soak is that was published."""
    told = []
    for each in registrations:
        found = world.kept.get(f"{each.environment}/{each.id}")
        at = parse_check_in(found.check_in) if found is not None else None
        if at is not None:
            age = format_age(max(0, now - at))
            told.append(f"soak of {each.id} is that of {format_second(at)} ({age} ago)")
    return told
