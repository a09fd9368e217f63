"""`tidegate version-blocks`: versions that no cluster of an organisation goes to."""

import asyncio
from collections.abc import Callable

import click

from tidegate.cli.output import FORMATS, emit, terminal_width
from tidegate.cli.shape import Command, LazyGroup
from tidegate.documents.files import read_as
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.owners.relabel import Manner, org_change, relabel, writing_options
from tidegate.kinds.upgrades.cli.owners.tenancy import Declared, Tenant, read_org, tenant_options
from tidegate.kinds.upgrades.core.declared.patterns import PatternError, is_found
from tidegate.kinds.upgrades.core.labels.label_edit import BLOCKED, Change
from tidegate.kinds.upgrades.core.labels.labels import split
from tidegate.kinds.upgrades.core.versions import is_version, key_of
from tidegate.kinds.upgrades.wire.labels_doc import joined, read_blocks
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

# So many versions are named; more would not fit on a line.
VERSIONS_SHOWN = 5


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "get": (
            "tidegate.kinds.upgrades.cli.owners.version_blocks:get",
            "Show blocked versions, and which are offered now",
        ),
        "add": (
            "tidegate.kinds.upgrades.cli.owners.version_blocks:add",
            "Block more versions",
        ),
        "remove": (
            "tidegate.kinds.upgrades.cli.owners.version_blocks:remove",
            "Unblock versions",
        ),
        "set": (
            "tidegate.kinds.upgrades.cli.owners.version_blocks:set_",
            "Block exactly these versions",
        ),
    },
    examples=r"""
    tidegate upgrades version-blocks get
    tidegate upgrades version-blocks add '^4\.16\.5$' --dry-run
    tidegate upgrades version-blocks remove '^4\.16\.5$'
    """,
)
def version_blocks() -> None:
    """Versions that no cluster of an organisation goes to, as RE2 patterns found anywhere."""


@click.command(cls=Command, examples="tidegate upgrades version-blocks get -o yaml > blocks.yaml")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@tenant_options
def get(tenant: Tenant, output: str) -> None:
    """Show what is blocked; -o json or yaml prints what `version-blocks set -f` reads."""
    declared = asyncio.run(read_org(tenant))
    there = _there(declared)
    if output != "table":
        emit(there, output)
        return
    rows = [(each, *_hit(declared, each.strip())) for each in there]
    for line in layout(("PATTERN", "BLOCKS", "CLUSTERS"), rows, terminal_width()) if rows else ():
        click.echo(line)
    if not rows:
        click.echo(f"{declared.org.id} blocks nothing", err=True)


def _there(declared: Declared) -> list[str]:
    return list(split(declared.org.labels.get(BLOCKED)) or ())


def _hit(declared: Declared, pattern: str) -> tuple[str, str]:
    """The versions that are offered now and blocked by a pattern, and to how many clusters."""
    versions: set[str] = set()
    clusters = 0
    try:
        for each in declared.clusters():
            hit = [one for one in each.available_upgrades if pattern and is_found(pattern, one)]
            versions.update(hit)
            clusters += bool(hit)
    except PatternError as error:
        return f"cannot be read: {error}", "-"
    some = sorted(filter(is_version, versions), key=key_of)
    more = f" and {len(some) - VERSIONS_SHOWN} more" if len(some) > VERSIONS_SHOWN else ""
    return ", ".join(some[:VERSIONS_SHOWN]) + more or "nothing offered now", str(clusters)


Edit = Callable[[list[str]], list[str]]


def _blocks(tenant: Tenant, edit: Edit, manner: Manner) -> None:
    """Make the patterns what an edit of them says, after telling what new ones hit."""

    def plan(declared: Declared) -> list[Change]:
        there = _there(declared)
        wanted = edit(there)
        for each in wanted:
            if each not in there:
                versions, clusters = _hit(declared, each)
                whom = f", offered to {clusters} clusters" if clusters.strip("-0") else ""
                click.echo(f"{each}: {versions}{whom}", err=True)
        return org_change(declared, {BLOCKED: joined(wanted)})

    relabel(tenant, plan, manner)


@click.command(
    cls=Command,
    examples=r"""
    tidegate upgrades version-blocks add '^4\.16\.5$'
    tidegate upgrades version-blocks add --dry-run -- '^4\.17\.' '-rc\.'
    """,
)
@click.argument("patterns", metavar="PATTERN...", nargs=-1, required=True)
@writing_options
@tenant_options
def add(tenant: Tenant, patterns: tuple[str, ...], manner: Manner) -> None:
    """Block versions that match a pattern, in addition to those that are blocked already.

    An upgrade to one of them that has not begun is cancelled; one in progress continues.
    """
    new = [each.strip() for each in patterns]
    _blocks(tenant, lambda there: list(dict.fromkeys((*there, *new))), manner)


@click.command(cls=Command, examples=r"tidegate upgrades version-blocks remove '^4\.16\.5$'")
@click.argument("patterns", metavar="PATTERN...", nargs=-1, required=True)
@writing_options
@tenant_options
def remove(tenant: Tenant, patterns: tuple[str, ...], manner: Manner) -> None:
    """Unblock versions; write a PATTERN as `version-blocks get` shows it."""

    def edit(there: list[str]) -> list[str]:
        known = [each.strip() for each in there]
        strangers = [each for each in patterns if each.strip() not in known]
        if strangers:
            raise UserError(
                tuple(
                    Problem(each, "blocked by no such pattern", nearest_or_all(each, known))
                    for each in strangers
                )
            )
        return [each for each in there if each.strip() not in patterns]

    _blocks(tenant, edit, manner)


@click.command(
    cls=Command,
    examples=r"""
    tidegate upgrades version-blocks set '^4\.16\.5$' '^4\.17\.'
    tidegate upgrades version-blocks set -f blocks.yaml                  - reads stdin
    tidegate upgrades version-blocks set --nothing
    """,
)
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1)
@click.option("-f", "--file", metavar="FILE", help="Patterns in JSON or YAML; - reads stdin.")
@click.option("--nothing", is_flag=True, help="Block nothing any more.")
@writing_options
@tenant_options
def set_(
    tenant: Tenant, patterns: tuple[str, ...], file: str | None, nothing: bool, manner: Manner
) -> None:
    """Block exactly these versions, and no others."""
    if bool(patterns) + (file is not None) + nothing != 1:
        raise click.UsageError("what is blocked? name patterns, a file with -f, or --nothing")
    wanted = [each.strip() for each in patterns]
    if file is not None:
        wanted = list(read_as(file, read_blocks)[0])
    _blocks(tenant, lambda _: wanted, manner)
