"""`--org` and the settings that open the OpenShift Cluster Manager of its owner."""

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.answers.place import AnswerPlace, service_client
from tidegate.cli.setting_options import settings_options
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.cli.render.progress import Waiting
    from tidegate.kinds.upgrades.app.owners.organisation import DeclaredOrganisation
    from tidegate.kinds.upgrades.cli.owners.service_access import OrganisationService
    from tidegate.kinds.upgrades.core.world import Organisation
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters

Function = Callable[..., Any]

SETTINGS = ("upgrades", "ocm.url", "ocm.tokenUrl", "ocm.token")
SERVICE = ("server", "serverToken")


def owner_options(function: Function) -> Function:
    """`--org` and settings; the command is handed both as `access`, and asks no service."""
    return _owner_options(function, SETTINGS)


def organisation_options(function: Function) -> Function:
    """The same for a command that a service answers, where one is set or logged in to."""
    return _owner_options(function, (*SETTINGS, *SERVICE))


def _owner_options(function: Function, settings: tuple[str, ...]) -> Function:
    @functools.wraps(function)
    def command(*args: Any, merged: Merged, org: str | None, **kwargs: Any) -> Any:
        return function(*args, access=OwnerAccess(merged.settings(), org or ""), **kwargs)

    text = "The id of the organisation; that of your token, or the only one, if left out."
    flagged: Function = settings_options(*settings)(command)
    return click.option("--org", metavar="ID", help=text)(flagged)


def reading() -> "Waiting":
    """What is shown while OpenShift Cluster Manager takes long to answer."""
    from tidegate.cli.render.progress import Waiting

    return Waiting("reading OpenShift Cluster Manager")


class OwnerAccess:
    """One organisation, and the OpenShift Cluster Manager it is in."""

    def __init__(self, settings: Settings, org: str) -> None:
        self._settings = settings
        self._org = org

    def service(self) -> "OrganisationService | None":
        """The organisation at a service; None: its OpenShift Cluster Manager is asked.

        A token, an address or a file that is named beside a service that was logged in to wins;
        named beside --server, it is a mistake.
        """
        settings = self._settings
        given = {
            "--ocm-url": settings.ocm_url,
            "--token": settings.ocm_token,
            "--upgrades": settings.upgrades,
        }
        named = next((name for name, value in given.items() if value), "")
        if named and not settings.server:
            return None
        client = service_client(AnswerPlace.of(settings))
        if client is None:
            return None
        if named:
            raise click.UsageError(f"{named} and --server cannot be combined; leave one out")
        from tidegate.kinds.upgrades.cli.owners.service_access import OrganisationService

        return OrganisationService(client, self._org)

    @asynccontextmanager
    async def opened(self) -> "AsyncIterator[tuple[ManagedClusters, Organisation]]":
        """The OpenShift Cluster Manager, and the organisation without its labels yet."""
        from tidegate.kinds.upgrades.app.owners.organisation import (
            served_organisation,
            token_organisation,
        )
        from tidegate.kinds.upgrades.cli.managers import (
            Managers,
            is_own,
            own_environment,
            service_of,
        )

        async with Managers() as managers:
            if is_own(self._settings):
                manager = managers.of(own_environment(self._settings))
                with reading():
                    own = await token_organisation(manager, self._org)
                yield manager, own
                return
            service = service_of(self._settings)
            found = served_organisation(service, self._org)
            environment = service.environment(found.environment)
            assert environment is not None  # served_organisation says so
            yield managers.of(environment, found), found.org()

    async def read(self) -> "DeclaredOrganisation":
        """What the organisation declares now."""
        from tidegate.kinds.upgrades.app.owners.organisation import read_organisation
        from tidegate.wiring import clock

        async with self.opened() as (manager, org):
            with reading():
                return await read_organisation(manager, org, clock().now())
