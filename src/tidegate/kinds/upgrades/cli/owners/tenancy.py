"""One organisation as its owner sees it: the way there, what is declared, clusters by any name."""

import functools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tidegate.cli.setting_options import settings_options
from tidegate.gates.block import is_like
from tidegate.kinds.upgrades.core.labels.label_edit import Holder, cluster_holders
from tidegate.kinds.upgrades.core.world import Cluster, Org, World
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest, nearest_or_all
from tidegate.model.target import bare
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.ocm.documents import Subscription
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters

Function = Callable[..., Any]

SETTINGS = ("upgrades", "ocm.url", "ocm.tokenUrl", "ocm.token")
# So many names are offered in place of one that is not there.
NAMES_MAX = 12


def tenant_options(function: Function) -> Function:
    """`--org` and the way to it; the command is handed both as `tenant`."""

    @functools.wraps(function)
    def command(*args: Any, merged: Merged, org: str | None, **kwargs: Any) -> Any:
        return function(*args, tenant=Tenant(merged.settings(), org or ""), **kwargs)

    told = "The id of the organisation; that of your token, if left out."
    flagged: Function = settings_options(*SETTINGS)(command)
    return click.option("--org", metavar="ID", help=told)(flagged)


class Declared(msgspec.Struct, frozen=True):
    """What an organisation declares in labels, and its clusters, those without labels too."""

    org: Org
    world: World
    # By the id of the subscription: what it is shown as.
    displayed: dict[str, str]
    holders: dict[str, Holder]

    def holder(self, cluster: Cluster) -> Holder:
        """Who has the labels of a cluster."""
        return self.holders[cluster.subscribed_as]

    def clusters(self, names: Iterable[str] = (), *, bare_too: bool = False) -> list[Cluster]:
        """Clusters by name; without names all that have labels, or all there are.

        UserError names every name that is not there, or means several.
        """
        wanted = list(names)
        if not wanted:
            found = [each for each in self.world.clusters if each.labels or bare_too]
            return sorted(found, key=lambda each: (each.name, each.uuid))
        problems: list[Problem] = []
        chosen: dict[str, Cluster] = {}
        for name in wanted:
            chosen |= {each.subscribed_as: each for each in self._meant(bare(name), problems)}
        if problems:
            raise UserError(tuple(problems))
        return list(chosen.values())

    def _meant(self, name: str, problems: list[Problem]) -> list[Cluster]:
        found = [each for each in self.world.clusters if name in self.names_of(each)]
        if len(found) > 1:
            some = ", ".join(f"{each.uuid} ({each.version})" for each in found)
            what = f"{len(found)} clusters are called so: {some}"
            problems.append(Problem(f"cluster/{name}", what, "write one of these ids"))
            return []
        if not found and ("*" in name or "?" in name):
            found = [
                each
                for each in self.clusters(bare_too=True)
                if is_like(each.name, name) or is_like(self.displayed[each.subscribed_as], name)
            ]
        if not found:
            known = sorted({each.name for each in self.world.clusters})
            hint = nearest(name, known)
            if not hint:
                more = f", and {len(known) - NAMES_MAX} more" if len(known) > NAMES_MAX else ""
                hint = f"there are {', '.join(known[:NAMES_MAX]) or 'none'}{more}"
            problems.append(Problem(f"cluster/{name}", f"not in {self.org.id}", hint))
        return found

    def names_of(self, cluster: Cluster) -> tuple[str, ...]:
        """All a cluster may be called."""
        shown = self.displayed[cluster.subscribed_as]
        return cluster.name, shown, cluster.ident, cluster.uuid, cluster.subscribed_as


class Tenant:
    """Whoever looks after an organisation, and the way there."""

    def __init__(self, settings: Settings, org: str) -> None:
        self._settings = settings
        self._org = org

    @asynccontextmanager
    async def opened(self) -> "AsyncIterator[tuple[ManagedClusters, Org]]":
        """The OpenShift Cluster Manager, and the organisation without its labels yet."""
        from tidegate.kinds.upgrades.cli.managers import (
            Managers,
            is_own,
            own_environment,
            service_of,
        )

        async with Managers() as managers:
            if is_own(self._settings):
                manager = managers.of(own_environment(self._settings))
                yield manager, await self._own(manager)
                return
            service = service_of(self._settings)
            served = service.served()
            for each in served:
                environment = service.environment(each.environment)
                meant = self._org in (each.id, each.name) or (len(served) == 1 and not self._org)
                if meant and environment is not None:
                    yield managers.of(environment, each), each.org()
                    return
            hint = nearest_or_all(self._org, [each.id for each in served])
            what = f'"{self._org}" is not served' if self._org else "missing"
            raise UserError((Problem("--org", what, hint),))

    async def _own(self, manager: "ManagedClusters") -> Org:
        """The organisation of a person's token, or the one he names."""
        own = (await manager.account()).organization
        if own is not None and own.id and self._org in ("", own.id, own.name):
            return Org(own.id, own.name)
        if not self._org:
            problem = Problem("--org", "missing", "your token is of no organisation; name one")
            raise UserError((problem,))
        found = (await manager.organizations([self._org])).items
        if not found:
            remedy = "write the id of one that your token may see"
            raise UserError((Problem("--org", f'no organisation "{self._org}"', remedy),))
        return Org(found[0].id, found[0].name)


async def look(manager: "ManagedClusters", org: Org) -> Declared:
    """What an organisation declares now; what could not be read is told on stderr."""
    from tidegate.kinds.upgrades.app.owners.label_writer import read_declared
    from tidegate.kinds.upgrades.app.read.worlds import world_of
    from tidegate.wiring import clock

    survey = await read_declared(manager, org.id)
    for each in survey.set_aside:
        told = f"{each.kind} {each.id}".strip()
        click.echo(f"warning: {told} cannot be read: {each.why}", err=True)
    world = world_of(survey, [org], clock().now())
    by_id: dict[str, Subscription] = {each.id: each for each in survey.subscriptions}
    return Declared(
        world.orgs[0],
        world,
        {each.subscribed_as: by_id[each.subscribed_as].display_name for each in world.clusters},
        cluster_holders(world),
    )


async def read_org(tenant: Tenant) -> Declared:
    """What an organisation declares now, and nothing more of it."""
    async with tenant.opened() as (manager, org):
        return await look(manager, org)


def listed_items(texts: Iterable[str]) -> list[str]:
    """The items of flags that may be repeated, and hold several parted by commas; each once."""
    several = (each.strip() for text in texts for each in text.split(","))
    return list(dict.fromkeys(each for each in several if each))
