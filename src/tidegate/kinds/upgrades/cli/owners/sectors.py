"""`tidegate sectors`: which sector waits for which, and how many of one are upgraded at once."""

import asyncio
from collections.abc import Iterable
from typing import Any

import click

from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Command, LazyGroup
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.owners.relabel import Manner, org_change, relabel, writing_options
from tidegate.kinds.upgrades.cli.owners.tenancy import (
    Declared,
    Tenant,
    listed_items,
    read_org,
    tenant_options,
)
from tidegate.kinds.upgrades.core.declared.orders import read_orders
from tidegate.kinds.upgrades.core.labels.label_edit import Change, replacing
from tidegate.kinds.upgrades.core.labels.labels import (
    SECTOR_DEPENDENCIES,
    SECTOR_MAX_PARALLEL,
    split,
)
from tidegate.kinds.upgrades.core.labels.sector_edit import (
    SectorWish,
    sector_labels,
    sector_wishes,
    waiting_for,
    without_sectors,
)
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

# So many clusters are named; more would not fit on a line.
NAMES_SHOWN = 3


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": (
            "tidegate.kinds.upgrades.cli.owners.sectors:get",
            "Show the sectors of an organisation",
        ),
        "set": (
            "tidegate.kinds.upgrades.cli.owners.sectors:set_",
            "Set parts of a sector, or a whole file",
        ),
        "remove": ("tidegate.kinds.upgrades.cli.owners.sectors:remove", "Remove sectors"),
    },
    examples="""
    tidegate upgrades sectors get
    tidegate upgrades sectors set stage                                a sector without dependencies
    tidegate upgrades sectors set prod --depends-on stage --max-parallel 2
    """,
)
def sectors() -> None:
    """Sectors of an organisation: a version goes to one once those before it have it."""


@click.command(cls=Command, examples="tidegate upgrades sectors get -o yaml > sectors.yaml")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@tenant_options
def get(tenant: Tenant, output: str) -> None:
    """Show the sectors of an organisation; -o json or yaml prints what `sectors set -f` reads."""
    from tidegate.kinds.upgrades.wire.labels_doc import sector_documents

    declared = asyncio.run(read_org(tenant))
    if output != "table":
        emit(sector_documents(declared.org.labels), output)
        return
    orders = read_orders(declared.org.labels, declared.org.id)
    rows = [
        (
            name,
            ", ".join(sector.dependencies) or "-",
            declared.org.labels.get(SECTOR_MAX_PARALLEL + name, "") or "-",
            str(sum(each.labels.get("sector", "").strip() == name for each in declared.clusters())),
            _note(declared.org.labels, name),
        )
        for name, sector in orders.sectors.items()
    ]
    head = ("SECTOR", "DEPENDS ON", "MAX PARALLEL", "CLUSTERS", "")
    if rows:
        for line in layout(head, rows, terminal_width()):
            click.echo(line.rstrip())
    else:
        click.echo(f"{declared.org.id} has no sectors", err=True)
    for each in orders.complaints:
        if each.label.startswith("sector-"):
            click.echo(f"warning: {each.text()}", err=True)


def _inside(declared: Declared, name: str) -> str:
    """The clusters that are in a sector, in few words; empty: none is."""
    names = [
        declared.holder(each).called
        for each in declared.clusters()
        if each.labels.get("sector", "").strip() == name
    ]
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return (
        ", ".join(names[:NAMES_SHOWN]) + more + (" is" if len(names) == 1 else " are")
        if names
        else ""
    )


def _note(labels: dict[str, str], name: str) -> str:
    """Whether a sector is there only because another waits for it."""
    own = SECTOR_DEPENDENCIES + name in labels or labels.get(SECTOR_MAX_PARALLEL + name, "").strip()
    return "" if own else f"declared by {', '.join(waiting_for(labels, name))} alone"


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades sectors set prod --depends-on stage,canary --max-parallel 25%
    tidegate upgrades sectors set prod --add-dependency canary
    tidegate upgrades sectors set prod --max-parallel ""                 no limit any more
    tidegate upgrades sectors set -f sectors.yaml --replace --dry-run    exactly these
    """,
)
@click.argument("name", required=False)
@click.option("-f", "--file", metavar="FILE", help="Sectors in JSON or YAML; - reads stdin.")
@click.option("--depends-on", multiple=True, metavar="NAMES", help="All it waits for.")
@click.option("--add-dependency", multiple=True, metavar="NAMES", help="It waits for these, too.")
@click.option("--remove-dependency", multiple=True, metavar="NAMES", help="No longer for these.")
@click.option("--max-parallel", metavar="N|N%", help="So many of it at once; empty: no limit.")
@click.option("--replace", is_flag=True, help="With -f: take every other sector away.")
@writing_options
@tenant_options
def set_(
    tenant: Tenant,
    name: str | None,
    file: str | None,
    replace: bool,
    manner: Manner,
    **flags: Any,
) -> None:
    """Set the named parts of a sector; all else is unchanged.

    A NAME alone declares a sector without dependencies and without a limit.
    """
    flagged = {flag for flag, value in flags.items() if value not in (None, ())}
    if (file is None) == (name is None):
        raise click.UsageError("which sectors? name one, or a file with -f")
    if file is not None and flagged:
        raise click.UsageError("-f says what is set; leave the other flags out")
    if replace and file is None:
        raise click.UsageError("--replace takes away all sectors but those of a file; name one")
    if file is not None:
        wishes = _from_file(file)
        relabel(tenant, lambda declared: _whole(declared, wishes, replace), manner)
        return
    asked = name or ""
    relabel(
        tenant,
        lambda declared: _whole(declared, [_flagged(declared, asked, flags)], replace=False),
        manner,
    )


def _from_file(file: str) -> tuple[SectorWish, ...]:
    from tidegate.documents.files import read_as
    from tidegate.kinds.upgrades.wire.labels_doc import read_sectors

    return read_as(file, read_sectors)[0]


def _whole(declared: Declared, wishes: Iterable[SectorWish], replace: bool) -> list[Change]:
    there = declared.org.labels
    if not replace:
        return org_change(declared, sector_wishes(there, wishes))
    return org_change(declared, replacing(there, sector_wishes({}, wishes), sector_labels(there)))


def _flagged(declared: Declared, name: str, flags: dict[str, Any]) -> SectorWish:
    """What flags ask for of a sector."""
    label = SECTOR_DEPENDENCIES + name
    there = [each.strip() for each in split(declared.org.labels.get(label)) or ()]
    given, more = listed_items(flags["depends_on"]), listed_items(flags["add_dependency"])
    fewer = listed_items(flags["remove_dependency"])
    strangers = [each for each in fewer if each not in there]
    if strangers:
        what = f'does not depend on "{strangers[0]}"'
        hint = nearest_or_all(strangers[0], there)
        raise UserError((Problem(f"sector {name}", what, hint),))
    behind: tuple[str, ...] | None = None
    if flags["depends_on"] or more or fewer:
        base = given if flags["depends_on"] else there
        kept = [each for each in (*base, *more) if each and each not in fewer]
        behind = tuple(dict.fromkeys(kept))
    return SectorWish(name, behind, flags["max_parallel"])


@click.command(cls=Command, examples="tidegate upgrades sectors remove canary")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@writing_options
@tenant_options
def remove(tenant: Tenant, names: tuple[str, ...], manner: Manner) -> None:
    """Remove sectors that no cluster is in and no other sector waits for."""

    def plan(declared: Declared) -> list[Change]:
        there = declared.org.labels
        known = read_orders(there, declared.org.id).sectors
        problems: list[Problem] = []
        for name in names:
            behind = [each for each in waiting_for(there, name) if each not in names]
            if name not in known:
                problems.append(Problem(f"sector {name}", "not there", nearest_or_all(name, known)))
            elif inside := _inside(declared, name):
                remedy = "put them into another with `tidegate policy set`"
                problems.append(Problem(f"sector {name}", f"{inside} in it", remedy))
            elif behind:
                what = f"{', '.join(behind)} waits for it"
                remedy = f"`tidegate sectors set {behind[0]} --remove-dependency {name}`"
                problems.append(Problem(f"sector {name}", what, remedy))
        if problems:
            raise UserError(tuple(problems))
        return org_change(declared, without_sectors(names))

    relabel(tenant, plan, manner)
