"""`tidegate pending`: what is merged and not promoted, by author and age."""

from typing import Any

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.promotions.cli.ground import SETTINGS
from tidegate.settings.settings import Merged

FORMATS = ("table", "json", "yaml")


@click.command(
    cls=Command,
    examples="""
    tidegate pending                        everything that is merged and not everywhere
    tidegate pending --author ann           what is mine to promote, or to revert
    tidegate pending --older-than 8h        exit 1 if something has waited for longer
    """,
)
@click.option("--to", "to", multiple=True, metavar="ENV", help="Only in this environment.")
@click.option("--author", default="", metavar="TEXT", help="Whose name or address has this in it.")
@click.option("--older-than", metavar="TIME", help="Only what was merged so long ago; exit 1.")
@click.option("--promotion", "name", metavar="NAME", help="Which, where several are declared.")
@click.option("--base", default="", metavar="REF", help="Read this revision of the bundle.")
@click.option("--no-fetch", is_flag=True, help="Use what was fetched before.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@settings_options(*SETTINGS)
def pending(merged: Merged, author: str, older_than: str | None, output: str, **asked: Any) -> None:
    """List commits that are merged and not promoted: author, age, and where they are missing.

    To undo a commit that cannot be deployed, see `tidegate revert`. With --older-than exits 1 if
    there is any; and always if the version of an environment is unknown.
    """
    from tidegate.cli.moment import moment
    from tidegate.cli.output import emit, terminal_width
    from tidegate.explain.table import layout
    from tidegate.kinds.promotions.cli.promotions import lacking
    from tidegate.kinds.promotions.core.model import SHORT
    from tidegate.kinds.promotions.core.pending import overdue, pending_in
    from tidegate.model.time import format_age
    from tidegate.wiring import clock

    now = clock().now()
    lacks, whole = lacking(merged.settings(), **asked)
    found = pending_in(lacks)
    wanted = author.lower()
    found = tuple(
        each
        for each in found
        if wanted in each.commit.author.lower() or wanted in each.commit.email.lower()
    )
    if older_than is not None:
        found = overdue(found, moment("--older-than", older_than, now))
    if output != "table":
        emit({"kind": "PendingList", "items": [_item(each) for each in found]}, output)
    elif not found:
        click.echo("nothing is pending" if whole else "nothing else is pending", err=True)
    else:
        rows = [
            (
                each.commit.author,
                format_age(now - each.commit.at),
                each.commit.sha[:SHORT],
                "everywhere" if len(each.missing) == len(lacks) > 1 else ", ".join(each.missing),
                each.commit.subject,
            )
            for each in found
        ]
        head = ("AUTHOR", "AGE", "COMMIT", "MISSING IN", "SUBJECT")
        for line in layout(head, rows, terminal_width()):
            click.echo(line)
    if not whole or (found and older_than is not None):
        raise click.exceptions.Exit(FAILURE)


def _item(each: Any) -> dict[str, Any]:
    from tidegate.kinds.promotions.cli.text import commit_doc

    commit = each.commit
    return {
        **commit_doc(commit),
        "author": {"name": commit.author, "email": commit.email},
        "missing": list(each.missing),
    }
