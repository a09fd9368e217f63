"""Flags of commands that change files of a bundle: `--write`, `--commit`, `--push`, `--open-mr`.

A command decorates itself with `@proposing_options`, shows what it would change, and passes it on:

    @proposing_options
    def promote(proposing: Proposing, …) -> None:
        …
        offer = Offer(title=…, description=…, key="promote-x-to-y", files=…)
        proposing.carry_out(offer, folder, settings, output)

Settings: FORGE_SETTINGS.
"""

import functools
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import click

from tidegate.kinds.integrations.cli.estate import confirm
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.forge.port import Forge
    from tidegate.git.port import Repository
    from tidegate.propose.change import ProposedChange, Upto
    from tidegate.propose.offer import Offer

Function = Callable[..., Any]

# The settings that say where merge requests are; a command needs them besides its own.
FORGE_SETTINGS = ("forge", "forgeUrl", "forgeToken")

_OPTIONS: dict[str, Callable[[Function], Function]] = {
    "write": click.option("--write", is_flag=True, help="Edit the files here, in this clone."),
    "commit": click.option("--commit", is_flag=True, help="Commit, on a branch of its own."),
    "push": click.option("--push", is_flag=True, help="Commit, and push that branch."),
    "open_mr": click.option("--open-mr", is_flag=True, help="Push, and open a merge request."),
    "branch": click.option("--branch", default="", metavar="NAME", help="Offer it on this branch."),
    "target": click.option("--target", default="", metavar="NAME", help="Merge into this branch."),
    "labels": click.option(
        "--label", "labels", multiple=True, help="A label of the merge request."
    ),
    "reason": click.option("--reason", default="", help="Why; part of the commit message."),
    "yes": click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
}


@overload
def proposing_options(function: Function) -> Function: ...
@overload
def proposing_options(*, but: tuple[str, ...]) -> Callable[[Function], Function]: ...
def proposing_options(function: Function | None = None, *, but: tuple[str, ...] = ()) -> Any:
    """Add the flags; the command receives them as `proposing`.

    `but` names flags that the command defines itself (`reason`, `yes`); those count here as well.
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
    """How far to go with a change, as the flags say."""

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
        """Whether anything is to be done besides showing the change."""
        return self.write or any(self._offers.values())

    @property
    def opens(self) -> bool:
        """Whether a merge request is to be opened."""
        return self._offers["open"]

    @property
    def _is_pushed(self) -> bool:
        return self._offers["push"] or self._offers["open"]

    def carry_out(
        self,
        offer: "Offer",
        folder: Path | None,
        settings: Settings,
        output: str = "table",
        repository: "Repository | None" = None,
    ) -> "ProposedChange | None":
        """Change the repository that a folder is in as far as the flags say, and print each step.

        Another repository can be passed; it has no files to edit here. The folder is then a clone
        of it; None: there is none, so that a branch in it is nowhere to be seen. With JSON or YAML
        output the steps are printed on stderr.
        """
        to_stderr = output != "table"
        if not self.wanted:
            here = "" if repository is not None else "--write edits the files, "
            click.echo(f"nothing was changed: {here}--open-mr offers it", err=True)
            return None
        from tidegate.wiring import repositories

        if self.write and repository is not None:
            raise click.UsageError("--write: there is no working tree of it here; use --push")
        if folder is None and not self._is_pushed:
            raise click.UsageError(
                "--commit: there is no clone of it here to commit to; use --push or --open-mr, "
                "or name your clone with --source"
            )
        if repository is None:
            assert folder is not None, "a repository or the folder it is in"
            repository = repositories.repository(folder)
        if self.write and folder is not None:
            _print(_written(repository, offer, folder), to_stderr)
        if not any(self._offers.values()):
            return None
        done = self._proposed(repository, offer, settings)
        _print(_step_lines(done, repository.url), to_stderr)
        elsewhere = folder if folder is not None and not _is_here(folder) else None
        _print(_next_lines(done, elsewhere), to_stderr=True)
        return done

    def _proposed(
        self, repository: "Repository", offer: "Offer", settings: Settings
    ) -> "ProposedChange":
        import asyncio

        from tidegate.cli.render.progress import Waiting
        from tidegate.propose.change import Upto

        furthest = next(name for name, wanted in self._offers.items() if wanted)
        upto = Upto[furthest.upper()]
        target = self.target or offer.target or repository.branch()
        if upto > Upto.COMMIT:
            what = "Open a merge request" if upto is Upto.OPEN else "Push a branch"
            confirm(f'{what} for "{offer.title}" into {target}?', self.yes)
        with Waiting("offering the change"):
            return asyncio.run(self._propose(repository, offer, settings, upto, target))

    async def _propose(
        self,
        repository: "Repository",
        offer: "Offer",
        settings: Settings,
        upto: "Upto",
        target: str,
    ) -> "ProposedChange":
        from tidegate.propose.change import Upto
        from tidegate.propose.offer import OfferOptions, carry_out

        options = OfferOptions(upto=upto, branch=self.branch, target=target, labels=self.labels)
        forge = forge_of(settings, repository.url) if upto is Upto.OPEN else None
        try:
            return await carry_out(offer, repository, forge, options)
        finally:
            if forge is not None:
                await forge.close()


def forge_of(settings: Settings, remote: str) -> "Forge":
    """The forge of a remote; UserError if it cannot be determined."""
    from tidegate.wiring import forges

    if not remote:
        raise click.UsageError(
            "the repository has no remote; run `git remote add origin ADDRESS` in it"
        )
    return forges.forge(remote, settings.forge, settings.forge_url, settings.forge_token)


def _written(repository: "Repository", offer: "Offer", folder: Path) -> Iterator[str]:
    """Edit the files of the working tree; a line each."""
    from tidegate.propose.offer import edits_here
    from tidegate.wiring import repositories

    root = repositories.working_tree(folder)
    if root is None:
        raise click.UsageError(f"{folder}: has no working tree to write to; use --commit")
    edits = edits_here(offer, repository)
    repositories.write_files(root, edits.old, edits.new)
    for path, content in sorted(edits.new.items()):
        created = "edited" if path in edits.old else "created"
        yield f"{path} {'deleted' if content is None else created}"
    if not edits.new:
        yield "nothing to write: the files are so already"


def _print(lines: Iterator[str], to_stderr: bool) -> None:
    for line in lines:
        click.echo(line, err=to_stderr)


def _step_lines(done: "ProposedChange", url: str) -> Iterator[str]:
    """What was done, a line a step."""
    from tidegate.propose.change import StepResult

    if not done.commit:
        yield f"nothing to offer: {done.target} has it already"
        return
    files = f"{len(done.paths):,} file" + ("" if len(done.paths) == 1 else "s")
    steps = {
        StepResult.FOUND: f"commit {done.commit[:10]} is there already: {files}",
        StepResult.MADE: f"commit {done.commit[:10]} made: {files}",
    }
    yield f"branch {done.branch}: {steps[done.committed]}"
    pushes = {
        StepResult.FOUND: f"{url} has it already",
        StepResult.MADE: f"pushed to {url}",
        StepResult.CHANGED: f"pushed to {url}, in place of what Tidegate had there",
    }
    if done.pushed in pushes:
        yield f"branch {done.branch}: {pushes[done.pushed]}"
    words = {
        StepResult.FOUND: "unchanged",
        StepResult.MADE: "opened",
        StepResult.CHANGED: "updated",
    }
    if done.request is not None:
        yield f"merge request {words[done.requested]}: {done.request.url}"


def _is_here(folder: Path) -> bool:
    """Whether a folder is in the repository that the command runs in."""
    from tidegate.wiring import repositories

    return repositories.working_tree(Path.cwd()) == repositories.working_tree(folder)


def _next_lines(done: "ProposedChange", elsewhere: Path | None) -> Iterator[str]:
    """What to run next; in the clone of another repository, with its path."""
    from tidegate.propose.change import StepResult

    if not done.commit:
        return
    if done.pushed is StepResult.NONE:
        at = f" -C {shlex.quote(str(elsewhere))}" if elsewhere is not None else ""
        yield f"look at it with `git{at} show {done.branch}`; --push or --open-mr offers it"
    elif done.request is None:
        yield "run the same with --open-mr to open a merge request"
    else:
        yield "a reviewer has to approve and merge it; Tidegate does neither"
