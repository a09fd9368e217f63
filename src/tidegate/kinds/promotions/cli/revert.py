"""`tidegate revert`: a merge request that undoes a commit that cannot be promoted today."""

import click

from tidegate.cli.merge_requests.proposal_options import Proposing, proposing_options
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.promotions.cli.ports import SETTINGS
from tidegate.settings.settings import Merged


@click.command(
    cls=Command,
    examples="""
    tidegate revert 1a2b3c4                   which files it would set back, and whose work that is
    tidegate revert 1a2b3c4 --open-mr --reason "its author is away, and it is not promoted"
    tidegate revert 1a2b3c4 --here            a commit of the bundle, such as a promotion
    """,
)
@click.argument("sha")
@click.option("--here", is_flag=True, help="Revert a commit of the bundle, not of the artifact.")
@click.option("--promotion", "name", metavar="NAME", help="The promotion, if several are declared.")
@click.option("--no-fetch", is_flag=True, help="Do not fetch; use what was fetched before.")
@proposing_options
@settings_options(*SETTINGS)
def revert(
    merged: Merged, sha: str, here: bool, name: str | None, no_fetch: bool, proposing: Proposing
) -> None:
    """Prepare the revert of a commit that is merged and not promoted, in the artifact's repository.

    Nothing is written unless --commit, --push or --open-mr says so; with --here, --write too.
    """
    import asyncio
    from pathlib import Path

    from tidegate.git.history import SHORT
    from tidegate.kinds.promotions.app.revert import plan_revert
    from tidegate.kinds.promotions.cli.ports import ports_of

    settings = merged.settings()
    ports = ports_of(settings, fetch=not no_fetch)
    planned = asyncio.run(plan_revert(ports, sha, name=name, here=here, target=proposing.target))
    found = planned.document
    author = f"{found.author.name} <{found.author.email}>"
    click.echo(f"revert {found.sha[:SHORT]} {found.subject} ({author})")
    for file in found.files:
        click.echo(f"  {file.path} {'deleted' if file.deleted else 'set back'}")
    elsewhere = None if here else planned.repository
    offer = planned.offer(proposing.reason)
    clone = Path(settings.source) if settings.source else None
    folder = Path(settings.bundle) if here else clone
    if folder is not None and not here and not (folder / ".git").exists():
        folder = None
    proposing.carry_out(offer, folder, settings, repository=elsewhere)
