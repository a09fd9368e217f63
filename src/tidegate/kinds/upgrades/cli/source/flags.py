"""The flags and settings that say where upgrades are read from.

--world FILE                      a world in a file
--ocm-url URL --token …           one's own organisation, nothing else
--upgrades FILE                   every organisation that is served, read now
--server URL                      the journal of a service
"""

import functools
from collections.abc import Callable
from typing import Any

import click
import msgspec

from tidegate.cli.setting_options import settings_options
from tidegate.settings.settings import Merged, Settings

Function = Callable[..., Any]

SETTINGS = (
    "upgrades", "ocm.url", "ocm.tokenUrl", "ocm.token", "database", "brakes", "holdFiles",
    "prometheus", "bundle", "revision", "color", "server", "serverToken",
)  # fmt: skip


class WorldQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which world a command is about, and as of when."""

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
        """Whether it is about a file or one's own organisation, so that no journal applies."""
        return bool(self.world or self.settings.ocm_url or self.settings.ocm_token)


def named_source(merged: Merged, *, recorded: bool) -> Settings:
    """Settings in which a source that a flag names wins over one that a variable or file does."""
    own = {"ocm.url": "ocm_url", "ocm.token": "ocm_token"}
    settings = merged.settings()
    flagged = {name for name, origin in merged.origins.items() if origin.place == "flag"}
    if flagged & own.keys() or not (recorded or flagged & {"upgrades", "database"}):
        return settings
    return msgspec.structs.replace(settings, **dict.fromkeys(own.values(), ""))


def source_options(*more: str) -> Callable[[Function], Function]:
    """The flags and settings; the command is handed all of them as `query`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(*, merged: Merged, **kwargs: Any) -> Any:
            chosen = {field: kwargs.pop(field) for field in FLAGS}
            for warning in merged.warnings:
                click.echo(f"warning: {warning}", err=True)
            settings = named_source(merged, recorded=chosen["recorded"])
            return function(query=WorldQuery(settings=settings, **chosen), **kwargs)

        flagged: Function = settings_options(*dict.fromkeys((*SETTINGS, *more)))(command)
        return source_flags(flagged)

    return decorate


def source_flags(function: Function) -> Function:
    """The flags alone, for a command that has settings of its own."""
    text = "Use the last recorded survey; make no API calls."
    function = click.option("--recorded", is_flag=True, help=text)(function)
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
    """The rules that clusters are decided on by."""
    text = "Of upgrades: Tidegate's rules, or those of AUS; default: as registered."
    choice = click.Choice(("strict", "compat"))
    return click.option("--mode", type=choice, help=text)(function)


_FLAGS = (
    ("--world", "world", "FILE", "Read a world from a file, as `decide upgrades` does."),
    ("--org", "orgs", "ID", "Only this organisation, by id or name; may be repeated."),
    ("--soak", "soak", "FILE|URL", "Published soak, by environment and organisation."),
    ("--now", "at", "TIME", "Decide as of this moment (RFC 3339), or so long from now."),
)
FLAGS = ("recorded", *(field for _, field, _, _ in _FLAGS))
