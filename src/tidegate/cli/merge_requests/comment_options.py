"""Flags of commands that comment on a merge request: `--comment` and `--mr`.

The merge request is the one of --mr, of the CI job, or of the branch that is checked out.
"""

import functools
import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.merge_requests.proposal_options import FORGE_SETTINGS
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.forge.port import Forge

__all__ = ["FORGE_SETTINGS", "Commenting", "commenting_options"]

Function = Callable[..., Any]

# The ref of a job on GitHub, Gitea and Forgejo; GitLab has a variable for the number.
_PULL = re.compile(r"refs/pull/(\d+)/(?:merge|head)")
_GITLAB_NUMBER, _REF = "CI_MERGE_REQUEST_IID", "GITHUB_REF"
# The branch of a merge request, where a job has no branch checked out.
_BRANCHES = ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH", "GITHUB_HEAD_REF")


def commenting_options(function: Function) -> Function:
    """Add `--comment` and `--mr`; the command receives them as `commenting`."""

    @functools.wraps(function)
    def command(*args: Any, comment: bool, mr: int | None, **kwargs: Any) -> Any:
        if mr is not None and not comment:
            raise click.UsageError("--mr needs --comment")
        return function(*args, commenting=Commenting(comment, mr), **kwargs)

    text = "Comment on the merge request too: one comment, updated on every run."
    number = "The number of the merge request; default: that of the CI job, or of the branch."
    flagged: Function = click.option(
        "--mr", type=click.IntRange(min=1), metavar="NUMBER", help=number
    )(command)
    return click.option("--comment", is_flag=True, help=text)(flagged)


class Commenting:
    """Whether to comment, and on which merge request."""

    def __init__(self, wanted: bool, number: int | None) -> None:
        self.wanted, self._number = wanted, number

    def say(
        self, key: str, text: str, folder: Path, settings: Settings, head: str | None = None
    ) -> None:
        """Comment on the merge request of a folder's branch, or of a head; once for each key."""
        if not self.wanted:
            return
        import asyncio

        from tidegate.cli.render.progress import Waiting

        with Waiting("commenting"):
            number = asyncio.run(self._say(key, text, folder, settings, head))
        click.echo(f"commented on merge request {number}", err=True)

    async def _say(
        self, key: str, text: str, folder: Path, settings: Settings, head: str | None
    ) -> int:
        import os

        from tidegate.cli.merge_requests.proposal_options import forge_of
        from tidegate.wiring import repositories

        forge = forge_of(settings, repositories.repository(folder).url)
        try:
            number = self._number or number_in(os.environ)
            if number is None:
                branch = branch_of(head, os.environ) or repositories.branch_here(folder)
                number = await _number_of(forge, branch)
            await forge.comment(number, key, text)
            return number
        finally:
            await forge.close()


def key_of(command: str, prefix: str) -> str:
    """The key of a command's comment: a repository may have several bundles."""
    if not prefix:
        return command
    return f"{command}/{blake2b(prefix.encode(), digest_size=4).hexdigest()}"


def number_in(env: Mapping[str, str]) -> int | None:
    """The number of the merge request that a CI job runs for; None: there is none."""
    found = env.get(_GITLAB_NUMBER, "").strip()
    if found.isascii() and found.isdigit():
        return int(found)
    pull = _PULL.fullmatch(env.get(_REF, "").strip())
    return int(pull[1]) if pull is not None else None


def branch_of(head: str | None, env: Mapping[str, str]) -> str:
    """The branch of the merge request: of a given head, or of a CI job; empty: neither."""
    if head is not None:
        return head.removeprefix("refs/heads/").removeprefix("origin/")
    return next((env[name] for name in _BRANCHES if env.get(name)), "")


async def _number_of(forge: "Forge", branch: str) -> int:
    """The open merge request of a branch."""
    found = await forge.find(source=branch) if branch else ()
    if len(found) == 1:
        return found[0].number
    if not branch:
        why = "no branch is checked out here"
    elif not found:
        why = f'no merge request of "{branch}" is open'
    else:
        why = f'"{branch}" has several: {", ".join(str(each.number) for each in found)}'
    raise click.UsageError(f"which merge request? Write --mr NUMBER: {why}")
