"""A change of files, offered: one branch, one commit, one push, one merge request.

Whatever was done before is found and not done again, so that whoever was interrupted, at whichever
point, runs it once more and has it complete. A branch is replaced only while all that is on it is
ours (`ours.py`), and only if the remote has it still where it was seen. Nothing is approved and
nothing is merged here.
"""

import asyncio
import enum
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tidegate.forge.port import Forge, MergeRequest, Proposal
from tidegate.git.port import Repository
from tidegate.kinds.promotions.app.ours import changes_of, is_it, message_of, stranger
from tidegate.model.errors import StaleError, TidegateError, UserError
from tidegate.model.problem import Problem

# From the commit that a change is made on to what files become; None takes one away. It may refuse
# with UserError or StaleError, and is asked again whenever the target branch has moved.
Files = Callable[[str], Mapping[str, bytes | None]]

# Whoever finds the target or the branch moved this often in a row is told so.
TRIES_MAX = 5


class Upto(enum.IntEnum):
    """How far to go; each includes those before."""

    COMMIT = 1
    PUSH = 2
    OPEN = 3


class Outcome(enum.Enum):
    """What became of a commit, a push or a merge request."""

    NONE = "none"  # not asked for, or nothing to do
    FOUND = "found"  # it was there, as it should be
    MADE = "made"
    CHANGED = "changed"  # it was there, and was brought up to date


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """What was done."""

    branch: str
    target: str
    # The commit of the target that the change is made on.
    base: str
    # Empty: nothing would change, and nothing was proposed.
    commit: str = ""
    paths: tuple[str, ...] = ()
    committed: Outcome = Outcome.NONE
    pushed: Outcome = Outcome.NONE
    requested: Outcome = Outcome.NONE
    # None: none was asked for.
    request: MergeRequest | None = None


class _Change(NamedTuple):
    """What is committed: which files, under which name, and what is said of it."""

    files: Files
    key: str
    message: str


class _MovedError(Exception):
    """Somebody was quicker: look again."""


async def propose(
    repository: Repository,
    forge: Forge | None,
    proposal: Proposal,
    files: Files,
    *,
    key: str,
    upto: Upto,
    message: str = "",
    named: bool = False,
) -> Proposed:
    """Offer a change, as far as asked for. The key says which proposal it is, on whatever branch.

    The message is the commit's; empty: the title. A branch that somebody `named` is taken, unless
    the same is offered from another one already. StaleError if somebody else's work is in the way,
    with what to do about it.
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
            # One of this title where somebody works is theirs; ours goes where they say.
            known = known if await asyncio.to_thread(_is_ours, repository, known, key) else None
        # What is offered already is offered from its branch.
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


def _offer(repository: Repository, proposal: Proposal, change: _Change, upto: Upto) -> Proposed:
    """Commit and push, on the newest target there is."""
    for _ in range(TRIES_MAX):
        try:
            return _offer_once(repository, proposal, change, upto)
        except _MovedError:
            continue
    moved = f"{proposal.target} or {proposal.source} moved {TRIES_MAX} times meanwhile"
    raise StaleError(f"{moved}; nothing was overwritten; try again")


def _offer_once(
    repository: Repository, proposal: Proposal, change: _Change, upto: Upto
) -> Proposed:
    repository.fetch()
    branch, target = proposal.source, proposal.target
    base = repository.tip(target)
    done = Proposed(branch=branch, target=target, base=base)
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
        committed=Outcome.FOUND if found else Outcome.MADE,
    )
    if upto is Upto.COMMIT:
        return done
    return replace(done, pushed=_push(repository, done, there))


def _push(repository: Repository, done: Proposed, there: str) -> Outcome:
    """Put the remote's branch at the commit, if neither it nor its target has moved."""
    if there == done.commit:
        return Outcome.FOUND
    if repository.pushed(done.target) != done.base:
        raise _MovedError
    try:
        repository.push(done.branch, done.commit, there)
    except StaleError:
        raise _MovedError from None
    return Outcome.CHANGED if there else Outcome.MADE


def _check_ours(
    repository: Repository, proposal: Proposal, key: str, base: str, there: str, here: str
) -> None:
    """Refuse to replace a branch with anything on it that we did not put there."""
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
    """Whether nothing is offered by a merge request but what we put there."""
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


async def _request(forge: Forge, proposal: Proposal) -> tuple[MergeRequest, Outcome]:
    """Open a merge request, or give the one there is these words."""
    source = proposal.source
    known = await _open_one(forge, proposal, source=source)
    if known is None:
        try:
            return await forge.open(proposal), Outcome.MADE
        except TidegateError:
            # Somebody else opened it just now, or the answer to us was lost.
            known = await _open_one(forge, proposal, source=source)
            if known is None:
                raise
    if _says(known, proposal):
        return known, Outcome.FOUND
    return await forge.update(known.number, proposal), Outcome.CHANGED


def _says(known: MergeRequest, proposal: Proposal) -> bool:
    """Whether a merge request has these words and labels; forges change the ends of lines."""
    return (
        known.title == proposal.title
        and known.description.split() == proposal.description.split()
        and set(proposal.labels) <= set(known.labels)
    )
