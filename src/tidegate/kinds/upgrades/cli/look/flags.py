"""Where upgrades are looked at, as flags and settings say it; what is there is read when asked for.

--world FILE                      a world that somebody wrote down
--ocm-url URL --token …           a tenant's own view: their organisation, nothing else
--upgrades FILE                   every organisation that is served, read now
"""

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tidegate.cli.setting_options import settings_options
from tidegate.model.time import Instant
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.cli.look.ground import Looked

Function = Callable[..., Any]

SETTINGS = (
    "upgrades", "ocm.url", "ocm.tokenUrl", "ocm.token", "database", "brakes", "holdFiles",
    "prometheus", "bundle", "revision", "color",
)  # fmt: skip
NOWHERE = (
    "nothing says where clusters are: write --upgrades FILE (who is served), --ocm-url URL with a"
    " token of your own, --world FILE, or --database with the journal of whoever tends them"
)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to look at."""

    settings: Settings
    world: str = ""
    soak: str = ""
    orgs: tuple[str, ...] = ()
    # By which rules; None: those an organisation is served by.
    mode: str | None = None
    recorded: bool = False
    at: str = ""

    @property
    def alone(self) -> bool:
        """Whether somebody looks at a file, or with a token of their own: no journal is theirs."""
        return bool(self.world or self.settings.ocm_url or self.settings.ocm_token)

    @property
    def given(self) -> bool:
        """Whether anything says where upgrades are to be seen."""
        return self.alone or bool(self.settings.upgrades) or self._is_recorded()

    def _is_recorded(self) -> bool:
        from tidegate.kinds.upgrades.cli.look.journal import is_known

        return is_known(self.settings)

    def look(self) -> "Looked":
        """Read it, as it is now."""
        if self.world:
            from tidegate.documents.files import read_document
            from tidegate.kinds.upgrades.cli.look.ground import Looked, of_document

            return Looked((of_document(read_document(self.world), self),))
        if not self.alone and (self.recorded or not self.settings.upgrades):
            return self._recorded()
        from tidegate.kinds.upgrades.cli.look import survey as upgrade_survey
        from tidegate.kinds.upgrades.cli.look import tenant as upgrade_tenant

        return upgrade_tenant.as_tenant(self) if self.alone else upgrade_survey.as_operator(self)

    def _recorded(self) -> "Looked":
        """As the journal has it; where there is none, a token in a variable says who asks."""
        from tidegate.kinds.upgrades.cli import managers
        from tidegate.kinds.upgrades.cli.look import journal as upgrade_journal
        from tidegate.kinds.upgrades.cli.look import tenant as upgrade_tenant

        if self.recorded or self._is_recorded():
            return upgrade_journal.as_recorded(self)
        if managers.TOKEN_VARIABLE in os.environ:
            return upgrade_tenant.as_tenant(self)
        raise click.UsageError(NOWHERE)


def ground_options(*more: str) -> Callable[[Function], Function]:
    """Where upgrades are looked at, and settings; the command is handed all that as `asked`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(*, merged: Merged, **kwargs: Any) -> Any:
            chosen = {field: kwargs.pop(field) for field in FLAGS}
            for warning in merged.warnings:
                click.echo(f"warning: {warning}", err=True)
            return function(asked=Asked(settings=merged.settings(), **chosen), **kwargs)

        flagged: Function = settings_options(*dict.fromkeys((*SETTINGS, *more)))(command)
        return ground_flags(flagged)

    return decorate


def ground_flags(function: Function) -> Function:
    """The flags themselves, for a command that has settings of its own."""
    told = "Use the last recorded survey; make no API calls."
    function = click.option("--recorded", is_flag=True, help=told)(function)
    for name, field, metavar, text in reversed(_FLAGS):
        function = click.option(
            name,
            field,
            metavar=metavar,
            multiple=field == "orgs",
            default=None if field == "orgs" else "",
            help=text,
        )(function)
    return function


def mode_option(function: Function) -> Function:
    """By which rules clusters are decided on."""
    told = "Of upgrades: Tidegate's rules, or those of AUS; default: as registered."
    choice = click.Choice(("strict", "compat"))
    return click.option("--mode", type=choice, help=told)(function)


_FLAGS = (
    ("--world", "world", "FILE", "Read a world from a file, as `decide upgrades` does."),
    ("--org", "orgs", "ID", "Only this organisation, by id or name; may be repeated."),
    ("--soak", "soak", "FILE|URL", "Soak that was published, by environment and organisation."),
    ("--now", "at", "TIME", "Decide as of this moment (RFC 3339), or so long from now."),
)
FLAGS = ("recorded", *(field for _, field, _, _ in _FLAGS))


def is_world(data: object) -> bool:
    """Whether a document is a world of upgrades, and not a rollout."""
    return isinstance(data, dict) and "orgs" in data and "clusters" in data


def moment(text: str, otherwise: Instant) -> Instant:
    """The moment somebody asks about."""
    from tidegate.cli.moment import point

    return point("--now", text, otherwise) if text else otherwise
