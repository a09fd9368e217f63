"""One organisation as its owner sees it, with a token and nothing else.

Only reading methods are called. What an owner cannot know is said, and not guessed.
"""

from collections.abc import Sequence

import msgspec

from tidegate.kinds.upgrades.app.owners.organisation import token_organisation
from tidegate.kinds.upgrades.app.owners.soak_address import FetchSoak, FoundSoak, find_soak
from tidegate.kinds.upgrades.app.read.organisations import (
    PublishingOrganisations,
    read_organisations,
)
from tidegate.kinds.upgrades.app.read.soak import ReadMoment, unusable, with_published_soak
from tidegate.kinds.upgrades.app.read.world import FleetReading, WorldReading
from tidegate.kinds.upgrades.core.declared.organisation_policy import read_organisation_policy
from tidegate.kinds.upgrades.core.service import OcmEnvironment, Registration, UpgradeService
from tidegate.kinds.upgrades.core.world import Organisation, UpgradeWorld
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.kinds.upgrades.wire.published_soak import PublishedSoak
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

PUBLISH = "version-data.publish"
SOAK_UNKNOWN = (
    "soak is not known to you: shown as 0, for the service publishes none to your organisation; ask"
    " its operator, or name it with --soak"
)
NOT_VISIBLE = (
    "not known to you: holds, freezes and health checks of the service, and what is expedited"
)


async def read_own(
    manager: ManagedClusters,
    environment: OcmEnvironment,
    orgs: Sequence[str],
    soak: PublishedSoak | FetchSoak,
    when: ReadMoment,
) -> FleetReading:
    """The organisation of a token, and no other, even if the token sees more.

    `soak` is what its owner names; or how to read what the service publishes.
    """
    own = await own_organisation(manager, environment.name, orgs)
    given = isinstance(soak, PublishedSoak)
    if isinstance(soak, PublishedSoak):
        found = FoundSoak(soak)
    else:
        found = await find_soak(manager, own.id, soak)
    soak = found.soak
    read = await read_organisations(manager, [own], when.now, _no_others())
    known = soak.environments(own.id)
    if len(known) > 1:
        message = f"{own.id} is published under {', '.join(known)}"
        raise UserError((Problem("--soak", message, "keep one"),))
    name = known[0] if known else environment.name
    environment = msgspec.structs.replace(environment, name=name)
    own = msgspec.structs.replace(own, environment=name)
    world, assumed = _with_assumed_publishers(_in_environment(read.worlds[0], name), own, soak)
    # The service publishes that of others only where they agree.
    agreed = [] if given else [key.partition("/")[2] for key in soak.documents]
    assumed = [each for each in assumed if each not in agreed]
    world, aged = with_published_soak(world, own, soak, when.now)
    unknown = ("soak is shown as 0",) if found.trouble else (SOAK_UNKNOWN,)
    notes = (*_assumed_note(assumed), *(aged or unknown))
    troubles = (found.trouble,) if found.trouble else ()
    reading = WorldReading(
        world=msgspec.structs.replace(world, read_at=when.read_at),
        service=UpgradeService((environment,), (own,)),
        where=environment.url,
        read_at=when.read_at,
        notes=(*notes, NOT_VISIBLE),
        assumed=tuple(assumed),
    )
    return FleetReading((reading,), (*troubles, *unusable(read)))


async def _no_others() -> PublishingOrganisations:
    """An owner does not see the labels of other organisations."""
    return PublishingOrganisations()


async def own_organisation(
    manager: ManagedClusters, environment: str, orgs: Sequence[str]
) -> Registration:
    """The organisation of a token; a service account has none, and must name one."""
    found = (await manager.account()).organization
    if found is None or not found.id:
        if len(orgs) != 1:
            what = "your token belongs to no organisation"
            raise UserError((Problem("", what, "name one with --org"),))
        (ident,) = orgs
        named = await token_organisation(manager, ident)
        return Registration(id=named.id, name=named.name or named.id, environment=environment)
    if others := [each for each in orgs if each not in (found.id, found.name)]:
        what = f"your token is of {found.id}, and only that is shown"
        raise UserError((Problem(f'--org "{others[0]}"', what),))
    return Registration(id=found.id, name=found.name or found.id, environment=environment)


def _in_environment(world: UpgradeWorld, environment: str) -> UpgradeWorld:
    """The same world, its environment named as published soak names it."""
    orgs = tuple(msgspec.structs.replace(each, env=environment) for each in world.orgs)
    return msgspec.structs.replace(world, orgs=orgs)


def _with_assumed_publishers(
    world: UpgradeWorld, own: Registration, soak: PublishedSoak
) -> tuple[UpgradeWorld, list[str]]:
    """Organisations that are inherited from publish to this one, as far as its owner can see."""
    labels = next((each.labels for each in world.orgs if each.id == own.id), {})
    known = {each.id for each in world.orgs}
    others = [
        each for each in read_organisation_policy(labels, own.id).inherit if each not in known
    ]
    orgs = tuple(
        Organisation(
            each,
            each,
            next(iter(soak.environments(each)), own.environment),
            {PUBLISH: own.id},
            registered=False,
        )
        for each in others
    )
    return msgspec.structs.replace(world, orgs=(*world.orgs, *orgs)), others


def _assumed_note(others: Sequence[str]) -> tuple[str, ...]:
    if not others:
        return ()
    return (f"inherits from {', '.join(others)}, not visible to you: assumed to publish to you",)
