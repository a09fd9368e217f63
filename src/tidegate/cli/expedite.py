"""`tidegate expedite`: a version that skips soak and windows, with who, why, and an end.

Kept beside the brakes, and lifting none of them.
"""

from typing import Any

import click

from tidegate.cli.brakes import remover, scope_of
from tidegate.cli.braking import common, known_as, read_one, scope_options, set_down
from tidegate.cli.live import confirmed, opened
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command, LazyGroup
from tidegate.wiring import clock

_STANDS = "mutexes, sectors, holds, freezes, blocks and agreements stand"


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "add": ("tidegate.cli.expedite:add_expedite", "Let a version skip soak and windows"),
        "remove": ("tidegate.cli.expedite:remove_expedite", "Let versions wait again"),
    },
    examples="""
    tidegate expedite add 4.21.3 -l org=o-payments --reason "CVE-2026-1" --until 2d
    tidegate get expedites
    tidegate expedite remove 4.21.3
    """,
)
def expedite() -> None:
    """This version now: clusters go to it without soak, whatever their schedule."""


@click.command(
    cls=Command,
    examples="""
    tidegate expedite add 4.21.3 -l org=o-payments --reason "CVE-2026-1" --until 2d
    tidegate expedite add "4.21.*" --target stage-1 --reason "a customer waits" --until 6h
    """,
)
@click.argument("version")
@click.option("--name", help="What to call it; the version, if left out.")
@click.option("--until", required=True, metavar="WHEN", help="A time, or from now on: 2h, 3d.")
@click.option("--reason", required=True, help="Why; everybody it is about reads it.")
@click.option("--owner", help="Whom to ask about it; you, if left out.")
@click.option("--replace", is_flag=True, help="Set it anew if there is one of this name.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@scope_options
@database_option
def add_expedite(
    version: str, name: str | None, until: str, reason: str, owner: str | None, **rest: Any
) -> None:
    """Let a version skip soak and windows in its scope; * and ? stand for any text.

    Clusters are chosen by name, or by their labels without prefix, beside org and env.
    """
    now = clock().now()
    document = common(name or version, scope_of(rest), reason, owner, until, now, option="--until")
    document["version"] = version
    read_one("expedite", document, now)
    with opened(rest["database"], writes=True) as store:
        known = known_as(store, "expedite", document, now, replace=rest["replace"])
        confirmed(f"{version} skips soak and windows; {_STANDS}", 1, rest["yes"], free=0)
        set_down(store, "expedite", document, now, anew=known is not None)


remove_expedite = remover(
    "expedite",
    "Let versions wait again for soak and windows; what was asked for already goes on.",
    "tidegate expedite remove 4.21.3",
)
