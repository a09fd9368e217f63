"""What commands share that change files of a bundle: `--write`, `--commit`, `--push`, `--open-mr`.

A command puts `@proposing_options` on itself, shows what it would change, and hands that over:

    @proposing_options
    def promote(proposing: Proposing, …) -> None:
        …
        offer = Offer(title=…, description=…, key="promote-x-to-y", files=…)
        proposing.carry_out(offer, folder, settings, output)

`files` is asked for what files become on a commit of the repository: `{path: bytes}`, with None to
take one away, paths from the root of the repository. It is asked once more whenever the target
branch moved meanwhile, and may raise StaleError or UserError. Settings: FORGE_SETTINGS.
"""

import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import click
import msgspec

from tidegate.kinds.integrations.cli.estate import confirm
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.forge.port import Forge
    from tidegate.git.port import Repository
    from tidegate.kinds.promotions.app.proposing import Proposed, Upto

Function = Callable[..., Any]

# What a command needs besides its own, to know where merge requests are.
FORGE_SETTINGS = ("forge", "forgeUrl", "forgeToken")
# Branches of ours begin so, whatever is offered.
PREFIX = "tidegate/"

_OPTIONS: dict[str, Callable[[Function], Function]] = {
    "write": click.option("--write", is_flag=True, help="Edit the files here, in this clone."),
    "commit": click.option("--commit", is_flag=True, help="Commit, on a branch of its own."),
    "push": click.option("--push", is_flag=True, help="Commit, and push that branch."),
    "open_mr": click.option("--open-mr", is_flag=True, help="Push, and open a merge request."),
    "branch": click.option("--branch", default="", metavar="NAME", help="Offer it on this branch."),
    "target": click.option("--target", default="", metavar="NAME", help="Merge into this branch."),
    "labels": click.option("--label", "labels", multiple=True, help="For the merge request."),
    "reason": click.option("--reason", default="", help="Why; part of the commit message."),
    "yes": click.option("--yes", is_flag=True, help="Do not ask."),
}


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A change that a command has worked out."""

    # One line; an open merge request of the same title is brought up to date.
    title: str
    # Markdown, or made once it is known where: people are mentioned as the forge mentions them.
    description: "str | Callable[[Forge], Awaitable[str]]"
    # Which proposal it is; makes the name of its branch.
    key: str
    # What files become on a commit.
    files: "Callable[[Repository, str], Mapping[str, bytes | None]]"
    # Of the commit; empty: the title.
    message: str = ""
    labels: tuple[str, ...] = ()


@overload
def proposing_options(function: Function) -> Function: ...
@overload
def proposing_options(*, but: tuple[str, ...]) -> Callable[[Function], Function]: ...
def proposing_options(function: Function | None = None, *, but: tuple[str, ...] = ()) -> Any:
    """Flags for how far to go; the command is handed them as `proposing`.

    `but` names what the command has flags for itself (`reason`, `yes`); those count here as well.
    """
    if function is None:
        return functools.partial(proposing_options, but=but)

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        chosen: dict[str, Any] = {
            name: kwargs.get(name) if name in but else kwargs.pop(name) for name in _OPTIONS
        }
        return function(*args, proposing=Proposing(**chosen), **kwargs)

    flagged: Function = command
    for name in reversed(_OPTIONS):
        flagged = flagged if name in but else _OPTIONS[name](flagged)
    return flagged


class Proposing:
    """How far somebody wants to go with a change."""

    def __init__(
        self,
        *,
        write: bool = False,
        commit: bool = False,
        push: bool = False,
        open_mr: bool = False,
        branch: str = "",
        target: str = "",
        labels: tuple[str, ...] = (),
        reason: str | None = "",
        yes: bool = False,
    ) -> None:
        self.write, self.branch, self.target = write, branch, target
        self.labels, self.reason, self.yes = labels, reason or "", yes
        self._offers = {"open": open_mr, "push": push, "commit": commit}

    @property
    def wanted(self) -> bool:
        """Whether anything is to be done besides showing it."""
        return self.write or any(self._offers.values())

    def carry_out(
        self,
        offer: Offer,
        folder: Path,
        settings: Settings,
        output: str = "table",
        repository: "Repository | None" = None,
    ) -> "Proposed | None":
        """Do what was asked for with a change of the repository that a folder is in, and say so.

        Another repository can be named, which has no files to edit here. What was said goes where
        no reader of JSON or YAML trips over it.
        """
        aside = output != "table"
        if not self.wanted:
            here = "" if repository is not None else "--write edits the files, "
            click.echo(f"nothing was changed: {here}--open-mr offers it", err=True)
            return None
        from tidegate import wiring

        if self.write and repository is not None:
            raise click.UsageError("--write: there is no working tree of it here; use --commit")
        repository = repository or wiring.repository(folder)
        if self.write:
            _tell(_written(repository, offer, folder), aside)
        if not any(self._offers.values()):
            return None
        done = self._proposed(repository, offer, settings)
        _tell(_said(done, repository.url), aside)
        for line in _next(done):
            click.echo(line, err=True)
        return done

    def _proposed(self, repository: "Repository", offer: Offer, settings: Settings) -> "Proposed":
        import asyncio

        from tidegate.cli.progress import Waiting
        from tidegate.kinds.promotions.app.proposing import Upto

        furthest = next(name for name, wanted in self._offers.items() if wanted)
        upto = Upto[furthest.upper()]
        target = self.target or repository.branch()
        if upto > Upto.COMMIT:
            what = "Open a merge request" if upto is Upto.OPEN else "Push a branch"
            confirm(f'{what} for "{offer.title}" into {target}?', self.yes)
        with Waiting("offering the change"):
            return asyncio.run(self._propose(repository, offer, settings, upto, target))

    async def _propose(
        self,
        repository: "Repository",
        offer: Offer,
        settings: Settings,
        upto: "Upto",
        target: str,
    ) -> "Proposed":
        from tidegate.forge.port import Proposal
        from tidegate.kinds.promotions.app.proposing import Upto, propose

        key = offer.key.removeprefix(PREFIX)
        forge = None
        if upto is Upto.OPEN:
            forge = forge_of(settings, repository.url)
        try:
            words = offer.description if isinstance(offer.description, str) else ""
            if forge is not None and not isinstance(offer.description, str):
                words = await offer.description(forge)
            proposal = Proposal(
                title=offer.title,
                description=words,
                source=self.branch or f"{PREFIX}{key}",
                target=target,
                labels=tuple(dict.fromkeys((*offer.labels, *self.labels))),
            )
            return await propose(
                repository,
                forge,
                proposal,
                functools.partial(offer.files, repository),
                key=key,
                upto=upto,
                message=offer.message,
                named=bool(self.branch),
            )
        finally:
            if forge is not None:
                await forge.close()


def forge_of(settings: Settings, remote: str) -> "Forge":
    """Where the merge requests of a remote are; UserError if nobody can tell."""
    from tidegate import wiring

    if not remote:
        raise click.UsageError(
            "the repository has no remote; run `git remote add origin ADDRESS` in it"
        )
    return wiring.forge(remote, settings.forge, settings.forge_url, settings.forge_token)


def _written(repository: "Repository", offer: Offer, folder: Path) -> Iterator[str]:
    """Edit the files where somebody works; a line each."""
    from tidegate import wiring
    from tidegate.kinds.promotions.app.ours import changes_of

    root = wiring.working_tree(folder)
    if root is None:
        raise click.UsageError(f"{folder}: has no working tree to write to; use --commit")
    base = repository.resolve("HEAD")
    changed = changes_of(repository, base, offer.files(repository, base))
    there = repository.files(base)
    old = dict(repository.read(base, [path for path in changed if path in there]))
    wiring.write_files(root, old, changed)
    for path, content in sorted(changed.items()):
        yield f"{path} {'deleted' if content is None else 'edited' if path in old else 'created'}"
    if not changed:
        yield "nothing to write: the files are so already"


def _tell(lines: Iterator[str], aside: bool) -> None:
    for line in lines:
        click.echo(line, err=aside)


def _said(done: "Proposed", url: str) -> Iterator[str]:
    """What was done, a line a step."""
    from tidegate.kinds.promotions.app.proposing import Outcome

    if not done.commit:
        yield f"nothing to offer: {done.target} has it already"
        return
    files = f"{len(done.paths):,} file" + ("" if len(done.paths) == 1 else "s")
    steps = {
        Outcome.FOUND: f"commit {done.commit[:10]} is there already: {files}",
        Outcome.MADE: f"commit {done.commit[:10]} made: {files}",
    }
    yield f"branch {done.branch}: {steps[done.committed]}"
    pushes = {
        Outcome.FOUND: f"{url} has it already",
        Outcome.MADE: f"pushed to {url}",
        Outcome.CHANGED: f"pushed to {url}, in place of what Tidegate had there",
    }
    if done.pushed in pushes:
        yield f"branch {done.branch}: {pushes[done.pushed]}"
    words = {Outcome.FOUND: "unchanged", Outcome.MADE: "opened", Outcome.CHANGED: "updated"}
    if done.request is not None:
        yield f"merge request {words[done.requested]}: {done.request.url}"


def _next(done: "Proposed") -> Iterator[str]:
    """What whoever asked may want to do now."""
    from tidegate.kinds.promotions.app.proposing import Outcome

    if not done.commit:
        return
    if done.pushed is Outcome.NONE:
        yield f"look at it with `git show {done.branch}`; --push or --open-mr offers it"
    elif done.request is None:
        yield "run the same with --open-mr to open a merge request"
    else:
        yield "somebody has to approve and merge it; Tidegate does neither"
