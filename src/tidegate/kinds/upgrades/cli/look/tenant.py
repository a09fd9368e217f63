"""One organisation as whoever belongs to it sees it, with a token of their own and nothing else.

Only reading methods are ever called. What a tenant cannot know is said, and not guessed.
"""

import asyncio
from collections.abc import Sequence

import click
import msgspec

from tidegate.kinds.upgrades.app.reading import Others, Read, read_organisations
from tidegate.kinds.upgrades.cli.look.flags import Asked
from tidegate.kinds.upgrades.cli.look.ground import Ground, Looked
from tidegate.kinds.upgrades.cli.look.reading import counting, gaps, moments, soaked
from tidegate.kinds.upgrades.cli.managers import Managers, own_environment
from tidegate.kinds.upgrades.cli.published_soak import published
from tidegate.kinds.upgrades.core.declared.orders import read_orders
from tidegate.kinds.upgrades.core.service import Environment, Registration, Service
from tidegate.kinds.upgrades.core.world import Org, World
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.time import Instant

PUBLISH = "version-data.publish"
SOAK_UNKNOWN = (
    "soak is not known to you: shown as 0; ask the operator for the published soak and name it"
    " with --soak"
)
UNSEEN = "not known to you: holds, freezes and health checks of the service, and what is expedited"


def as_tenant(asked: Asked) -> Looked:
    """One organisation, as whoever belongs to it sees it; nothing else, whatever the token sees."""
    environment, soak, when = own_environment(asked.settings), published(asked.soak), moments(asked)
    own, read = asyncio.run(_tenant(asked, environment, when.now))
    known = soak.environments(own.id)
    if len(known) > 1:
        raise click.UsageError(f"--soak: {own.id} stands there under {', '.join(known)}; keep one")
    name = known[0] if known else environment.name
    environment = msgspec.structs.replace(environment, name=name)
    own = msgspec.structs.replace(own, environment=name)
    world, presumed = _presumed(_renamed(read.worlds[0], name), own)
    world, aged = soaked(world, own, soak, when.now)
    notes = (*presumed, *aged) if aged else (SOAK_UNKNOWN, *presumed)
    ground = Ground(
        world=msgspec.structs.replace(world, read_at=when.read_at),
        service=Service((environment,), (own,)),
        where=environment.url,
        read_at=when.read_at,
        notes=(*notes, UNSEEN),
    )
    return Looked((ground,), gaps(read))


async def _tenant(
    asked: Asked, environment: Environment, now: Instant
) -> tuple[Registration, Read]:
    async with Managers() as managers:
        manager = managers.of(environment)
        async with counting(manager, "reading your clusters"):
            own = await _own_organization(manager, environment.name, asked.orgs)
            return own, await read_organisations(manager, [own], now, _nobody_else())


async def _nobody_else() -> Others:
    """A tenant sees no labels of others, or has no business with them."""
    return Others()


async def _own_organization(
    manager: ManagedClusters, environment: str, orgs: Sequence[str]
) -> Registration:
    """The organisation a token belongs to; a service account belongs to none, and must name one."""
    found = (await manager.account()).organization
    if found is None or not found.id:
        if len(orgs) != 1:
            raise click.UsageError("your token belongs to no organisation; name one with --org")
        (ident,) = orgs
        named = (await manager.organizations([ident])).items
        name = named[0].name if named else ident
        return Registration(id=ident, name=name or ident, environment=environment)
    if others := [each for each in orgs if each not in (found.id, found.name)]:
        what = f'--org "{others[0]}": your token is of {found.id}'
        raise click.UsageError(f"{what}, and only that is shown")
    return Registration(id=found.id, name=found.name or found.id, environment=environment)


def _renamed(world: World, environment: str) -> World:
    """In an environment that is called as what was published calls it."""
    orgs = tuple(msgspec.structs.replace(each, env=environment) for each in world.orgs)
    return msgspec.structs.replace(world, orgs=orgs)


def _presumed(world: World, own: Registration) -> tuple[World, tuple[str, ...]]:
    """Whom a tenant inherits from publishes to it, as far as it can know: it sees no others."""
    labels = next((each.labels for each in world.orgs if each.id == own.id), {})
    known = {each.id for each in world.orgs}
    others = [each for each in read_orders(labels, own.id).inherit if each not in known]
    if not others:
        return world, ()
    orgs = tuple(
        Org(each, each, own.environment, {PUBLISH: own.id}, registered=False) for each in others
    )
    note = f"inherits from {', '.join(others)}, whom you do not see: taken as publishing to you"
    return msgspec.structs.replace(world, orgs=(*world.orgs, *orgs)), (note,)
