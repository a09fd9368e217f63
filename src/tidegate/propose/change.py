"""Proposes a change of files: one branch, one commit, one push, one merge request.

Every step first looks for its result, so that a run that was interrupted at any point is completed
by running it again. A branch is replaced only while every commit on it is ours (`ownership.py`),
and only if the remote still has it where it was read. Nothing is approved or merged here.
"""

import asyncio
import enum
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from tidegate.forge.port import Forge, MergeRequest, Proposal
from tidegate.git.port import Repository
from tidegate.model.document import Document
from tidegate.model.errors import StaleError, TidegateError, UserError
from tidegate.model.problem import Problem
from tidegate.propose.ownership import changes_of, is_it, message_of, stranger

# From the commit that a change is based on to what files become; None deletes one. It may raise
# UserError or StaleError, and is called again whenever the target branch has moved.
FilesOnCommit = Callable[[str], Mapping[str, bytes | None]]

# After so many attempts in a row that found the target or the branch moved, we give up.
TRIES_MAX = 5


class Upto(enum.IntEnum):
    """How far to go; each includes those before."""

    COMMIT = 1
    PUSH = 2
    OPEN = 3


class StepResult(enum.Enum):
    """The result of one step: commit, push or merge request."""

    NONE = "none"  # not requested, or nothing to do
    FOUND = "found"  # it existed, as it should be
    MADE = "made"
    CHANGED = "changed"  # it existed, and was updated


class ProposedChange(Document, frozen=True, kw_only=True):
    """What was committed, pushed and requested."""

    branch: str
    target: str
    # The commit of the target that the change is based on.
    base: str
    # Empty: nothing would change, so nothing was proposed.
    commit: str = ""
    paths: tuple[str, ...] = ()
    committed: StepResult = StepResult.NONE
    pushed: StepResult = StepResult.NONE
    requested: StepResult = StepResult.NONE
    # None: no merge request was wanted.
    request: MergeRequest | None = None


class _Change(NamedTuple):
    """What is committed: the files, the key of the proposal, the message."""

    files: FilesOnCommit
    key: str
    message: str


class _MovedError(Exception):
    """The target or the branch moved meanwhile: read again."""


async def propose(
    repository: Repository,
    forge: Forge | None,
    proposal: Proposal,
    files: FilesOnCommit,
    *,
    key: str,
    upto: Upto,
    message: str = "",
    named: bool = False,
) -> ProposedChange:
    """Propose a change, up to the given step. The key identifies the proposal on any branch.

    The message is the commit's; empty: the title. A branch that the caller `named` is used, unless
    the same change is already offered from another one. StaleError if the branch has commits of
    others; its text says what to do about them.
    """
    proposal = replace(
        proposal,
        title=" ".join(proposal.title.split()),
        target=proposal.target or await asyncio.to_thread(repository.branch),
    )
    known = None
    if upto is Upto.OPEN:
        assert forge is not None, "a merge request needs a forge"
        known = await _known(forge, proposal)
        if known and named and known.source != proposal.source:
            # One of this title with commits of others is not ours; use the named branch.
            known = known if await asyncio.to_thread(_is_ours, repository, known, key) else None
        # What is already offered keeps its branch.
        proposal = replace(proposal, source=known.source) if known else proposal
    if proposal.source == proposal.target:
        remedy = "name another branch to offer it from"
        raise UserError((Problem(proposal.source, "is the target itself", remedy),))
    change = _Change(files, key, message or proposal.title)
    done = await asyncio.to_thread(_offer, repository, proposal, change, upto)
    if not done.commit or upto is not Upto.OPEN:
        return done
    assert forge is not None
    request, outcome = await _request(forge, proposal)
    return replace(done, request=request, requested=outcome)


def _offer(
    repository: Repository, proposal: Proposal, change: _Change, upto: Upto
) -> ProposedChange:
    """Commit and push, on the newest commit of the target."""
    for _ in range(TRIES_MAX):
        try:
            return _offer_once(repository, proposal, change, upto)
        except _MovedError:
            continue
    moved = f"{proposal.target} or {proposal.source} moved {TRIES_MAX} times meanwhile"
    raise StaleError(f"{moved}; nothing was overwritten; try again")


def _offer_once(
    repository: Repository, proposal: Proposal, change: _Change, upto: Upto
) -> ProposedChange:
    repository.fetch()
    branch, target = proposal.source, proposal.target
    base = repository.tip(target)
    done = ProposedChange(branch=branch, target=target, base=base)
    changed = changes_of(repository, base, change.files(base))
    if not changed:
        return done
    there = repository.pushed(branch) if upto >= Upto.PUSH else ""
    here = repository.here(branch)
    here = "" if here == there else here
    _check_ours(repository, proposal, change.key, base, there, here)
    message = message_of(change.message, change.key, changed)
    found = [at for at in (there, here) if at and is_it(repository, base, at, message)]
    commit = found[0] if found else repository.commit(branch, base, changed, message)
    done = replace(
        done,
        commit=commit,
        paths=tuple(sorted(changed)),
        committed=StepResult.FOUND if found else StepResult.MADE,
    )
    if upto is Upto.COMMIT:
        return done
    return replace(done, pushed=_push(repository, done, there))


def _push(repository: Repository, done: ProposedChange, there: str) -> StepResult:
    """Push the commit, if neither the branch nor its target has moved."""
    if there == done.commit:
        return StepResult.FOUND
    if repository.pushed(done.target) != done.base:
        raise _MovedError
    try:
        repository.push(done.branch, done.commit, there)
    except StaleError:
        raise _MovedError from None
    return StepResult.CHANGED if there else StepResult.MADE


def _check_ours(
    repository: Repository, proposal: Proposal, key: str, base: str, there: str, here: str
) -> None:
    """Refuse to replace a branch that has commits of others."""
    branch, remote = proposal.source, repository.url
    for at, where, undo in (
        (there, f"at {remote}", f"delete it (`git push {remote} --delete {branch}`)"),
        (here, "in this clone", f"delete it (`git branch -D {branch}`)"),
    ):
        if at and (other := stranger(repository, base, at, key)):
            what = f'{other.sha[:10]} "{other.subject}" by {other.author}'
            raise StaleError(
                f"branch {branch} {where} has work that is not ours: {what}; nothing was changed: "
                f"have it merged into {proposal.target}, or {undo}, or name another with --branch"
            )


def _is_ours(repository: Repository, request: MergeRequest, key: str) -> bool:
    """Whether the branch of a merge request has only our commits."""
    repository.fetch()
    at = repository.pushed(request.source)
    return not at or stranger(repository, repository.tip(request.target), at, key) is None


async def _known(forge: Forge, proposal: Proposal) -> MergeRequest | None:
    """The open merge request of this branch, or else of this title, into this target."""
    return await _open_one(forge, proposal, source=proposal.source) or await _open_one(
        forge, proposal, title=proposal.title
    )


async def _open_one(
    forge: Forge, proposal: Proposal, *, source: str = "", title: str = ""
) -> MergeRequest | None:
    found = await forge.find(source=source, title=title)
    return next((each for each in found if each.target == proposal.target), None)


async def _request(forge: Forge, proposal: Proposal) -> tuple[MergeRequest, StepResult]:
    """Open a merge request, or update the open one."""
    source = proposal.source
    known = await _open_one(forge, proposal, source=source)
    if known is None:
        try:
            return await forge.open(proposal), StepResult.MADE
        except TidegateError:
            # Another process opened it just now, or the answer was lost.
            known = await _open_one(forge, proposal, source=source)
            if known is None:
                raise
    if _says(known, proposal):
        return known, StepResult.FOUND
    return await forge.update(known.number, proposal), StepResult.CHANGED


def _says(known: MergeRequest, proposal: Proposal) -> bool:
    """Whether a merge request has these words and labels; forges change line endings."""
    return (
        known.title == proposal.title
        and known.description.split() == proposal.description.split()
        and set(proposal.labels) <= set(known.labels)
    )
