"""`tidegate revert`: a merge request that undoes a commit, for whoever cannot promote it today."""

from typing import TYPE_CHECKING

import click

from tidegate.cli.proposing import Offer, Proposing, proposing_options
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.promotions.cli.ground import SETTINGS
from tidegate.settings.settings import Merged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.forge.port import Forge
    from tidegate.git.history import Commit
    from tidegate.git.port import Repository


@click.command(
    cls=Command,
    examples="""
    tidegate revert 1a2b3c4                   which files it would set back, and whose work that is
    tidegate revert 1a2b3c4 --open-mr --reason "its author is away, and it is not promoted"
    tidegate revert 1a2b3c4 --here            a commit of the bundle, a promotion for one
    """,
)
@click.argument("sha")
@click.option("--here", is_flag=True, help="A commit of the bundle, and not of the artifact.")
@click.option("--promotion", "name", metavar="NAME", help="Which, where several are declared.")
@click.option("--no-fetch", is_flag=True, help="Use what was fetched before.")
@proposing_options
@settings_options(*SETTINGS)
def revert(
    merged: Merged, sha: str, here: bool, name: str | None, no_fetch: bool, proposing: Proposing
) -> None:
    """Prepare the revert of a commit that is merged and not promoted, in the artifact's repository.

    Nothing is written unless --commit, --push or --open-mr says so; with --here, --write too.
    """
    from tidegate.kinds.promotions.cli.ground import Ground
    from tidegate.kinds.promotions.core.model import SHORT

    ground = Ground(merged.settings(), name, fetch=not no_fetch)
    repository = ground.repository if here else ground.source()
    commit = repository.resolve(sha)
    tip = repository.tip(proposing.target or ground.branch(here=here))
    told = _one(repository, commit, tip)
    files = repository.reverted(commit, tip)
    click.echo(f"revert {commit[:SHORT]} {told.subject} ({told.author} <{told.email}>)")
    for path, content in sorted(files.items()):
        click.echo(f"  {path} {'deleted' if content is None else 'set back'}")
    offer = offer_of(told, proposing.reason)
    elsewhere = None if here else repository
    proposing.carry_out(offer, ground.folder, ground.settings, repository=elsewhere)


def _one(repository: "Repository", commit: str, tip: str) -> "Commit":
    """Who wrote it; a usage error if the branch does not have it."""
    from tidegate.git.history import Ancestry

    if repository.ancestry(commit, tip) not in (Ancestry.AHEAD, Ancestry.SAME):
        raise click.UsageError(f"{commit[:10]} is not in {tip[:10]}: there is nothing to revert")
    return repository.show(commit)


def offer_of(told: "Commit", reason: str) -> Offer:
    """The revert of a commit, as it is offered; whoever wrote it is told."""
    from tidegate.explain.markup import code
    from tidegate.kinds.promotions.core.model import SHORT

    said = f"\n\n{reason}" if reason else ""

    async def described(forge: "Forge") -> str:
        whom = await forge.mention(told.author, told.email)
        why = f"\n\n{code(reason)}" if reason else ""
        return f"Undoes {told.sha}, {code(told.subject)} by {whom}.{why}\n"

    def files(repository: "Repository", base: str) -> "Mapping[str, bytes | None]":
        return repository.reverted(told.sha, base)

    return Offer(
        title=f'Revert "{told.subject}"',
        description=described,
        key=f"revert-{told.sha[:SHORT]}",
        files=files,
        message=f'Revert "{told.subject}"\n\nThis reverts commit {told.sha}.{said}\n',
    )
