"""Organisations read now, each as the world it is decided in: its clusters, their health, and the
organisations it inherits from, in any environment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from tidegate.kinds.upgrades.app.read.survey import PREFIX, survey
from tidegate.kinds.upgrades.app.read.worlds import CHANGED, labels_of, world_of
from tidegate.kinds.upgrades.core.service import Registration
from tidegate.kinds.upgrades.core.world import Organisation, UpgradeWorld
from tidegate.kinds.upgrades.health_port import Alerts
from tidegate.kinds.upgrades.ocm.port import LabelType, ManagedClusters, UnreadableDocument
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant

# Asked for the alerts of an organisation.
AskAlerts = Callable[[str], Awaitable[Alerts]]

_INHERIT, _SHARED = "version-data.inherit", "version-data."


class PublishingOrganisations(msgspec.Struct, frozen=True):
    """Organisations that publish or inherit, and environments that may have more of them."""

    orgs: Mapping[str, Organisation] = {}
    # Why not all of an environment's are known, by its name.
    unsure: Mapping[str, str] = {}


class OrganisationsRead(msgspec.Struct, frozen=True):
    """What was read with one token."""

    # One an organisation, in the order they were asked for; the others in it are not served.
    worlds: tuple[UpgradeWorld, ...]
    # Documents that could not be used.
    unreadable: tuple[UnreadableDocument, ...] = ()


async def read_organisations(
    manager: ManagedClusters,
    wanted: Sequence[Registration],
    now: Instant,
    others: Awaitable[PublishingOrganisations],
    ask: AskAlerts | None = None,
) -> OrganisationsRead:
    """Some organisations at once; OutsideError if they cannot be read."""
    ids = [each.id for each in wanted]
    addons = [each.id for each in wanted if each.addons]
    found, known = await asyncio.gather(survey(manager, organizations=ids, addons=addons), others)
    whole = world_of(found, [each.org() for each in wanted], now)
    worlds = await asyncio.gather(*(_world(each, whole, known, ask) for each in wanted))
    return OrganisationsRead(tuple(worlds), found.unreadable)


async def _world(
    registration: Registration,
    whole: UpgradeWorld,
    others: PublishingOrganisations,
    ask: AskAlerts | None,
) -> UpgradeWorld:
    """The world of one organisation by itself."""
    org = next(each for each in whole.orgs if each.id == registration.id)
    clusters = tuple(each for each in whole.clusters if each.org == org.id)
    ill: Alerts = {}
    # Without a source of alerts no cluster is taken to be healthy.
    fails = bool(org.health_checks) and ask is None
    if org.health_checks and ask is not None:
        try:
            ill = await ask(org.id)
        except (OutsideError, TimeoutError, OSError):
            fails = True
    known, gap = _inherited(org, others)
    mine = {each.uuid for each in clusters}
    return msgspec.structs.replace(
        whole,
        orgs=(msgspec.structs.replace(org, partial=org.partial or gap), *known),
        clusters=tuple(
            msgspec.structs.replace(each, alerts=ill.get(each.uuid, ())) for each in clusters
        ),
        unread={uuid: why for uuid, why in whole.unread.items() if uuid in mine},
        health_fails=fails,
    )


async def publishing(ways: Mapping[str, ManagedClusters]) -> PublishingOrganisations:
    """The organisations that publish soak, and to which others, in any environment."""

    async def one(environment: str) -> tuple[list[Organisation], str]:
        try:
            read = await ways[environment].labels(PREFIX + _SHARED, LabelType.ORGANIZATION)
        except OutsideError:
            return [], f"{environment} does not answer"
        gap = "" if read.complete else CHANGED
        labels = labels_of(read.items, PREFIX)
        orgs = [
            Organisation(
                id=owner, name=owner, env=environment, labels=mine, registered=False, partial=gap
            )
            for (_, owner), mine in sorted(labels.items())
        ]
        return orgs, f"{gap} in {environment}" if gap else ""

    answers = await asyncio.gather(*map(one, ways))
    return PublishingOrganisations(
        {each.id: each for orgs, _ in answers for each in orgs},
        {name: gap for name, (_, gap) in zip(ways, answers, strict=True) if gap},
    )


def _inherited(
    org: Organisation, others: PublishingOrganisations
) -> tuple[list[Organisation], str]:
    """The organisations one inherits from, and why they may not be all; empty: they are all.

    One that is not known may publish: its owner is not warned that it does not.
    """
    wanted = {each.strip() for each in org.labels.get(_INHERIT, "").split(",")} - {"", org.id}
    unknown = wanted - others.orgs.keys()
    gap = ""
    if unknown and others.unsure:
        who, why = ", ".join(sorted(unknown)), ", ".join(others.unsure.values())
        gap = f"it inherits from {who}, and {why}"
    return [others.orgs[each] for each in sorted(wanted & others.orgs.keys())], gap
