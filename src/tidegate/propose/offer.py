"""What an offer consists of, and how it is carried out: in files here, or as a merge request.

The title and the key identify an offer: the same key goes to the same branch, and an open merge
request with the same title is updated instead of opened a second time.
"""

import functools
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from tidegate.forge.port import Forge, Proposal
from tidegate.git.port import Repository
from tidegate.propose.change import ProposedChange, Upto, propose
from tidegate.propose.ownership import changes_of

# Every branch that Tidegate creates starts with this.
PREFIX = "tidegate/"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A change of files with its words."""

    # One line; an open merge request of the same title is updated.
    title: str
    # Markdown, or a function of the forge: each forge mentions people in its own way.
    description: str | Callable[[Forge], Awaitable[str]]
    # Which proposal it is; the name of its branch follows from it.
    key: str
    # What files become on a commit: `{path: bytes}`, paths from the root, None deletes one. It is
    # called again when the target branch moved, and may raise StaleError or UserError.
    files: Callable[[Repository, str], Mapping[str, bytes | None]]
    # Of the commit; empty: the title.
    message: str = ""
    labels: tuple[str, ...] = ()
    # The branch it is for; empty: the one that changes of the repository are merged into.
    target: str = ""


class OfferOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How far to go with an offer, and where to."""

    upto: Upto
    # Empty: the branch that the key names.
    branch: str = ""
    # Empty: the branch that changes of the repository are merged into.
    target: str = ""
    labels: tuple[str, ...] = ()


class FileEdits(msgspec.Struct, frozen=True):
    """Files that an offer changes in a working tree, by path."""

    old: Mapping[str, bytes]
    # None deletes a file.
    new: Mapping[str, bytes | None]


async def carry_out(
    offer: Offer, repository: Repository, forge: Forge | None, options: OfferOptions
) -> ProposedChange:
    """Commit, push or request a change. A forge is needed for a merge request only."""
    key = offer.key.removeprefix(PREFIX)
    words = offer.description if isinstance(offer.description, str) else ""
    if forge is not None and not isinstance(offer.description, str):
        words = await offer.description(forge)
    proposal = Proposal(
        title=offer.title,
        description=words,
        source=options.branch or f"{PREFIX}{key}",
        target=options.target,
        labels=tuple(dict.fromkeys((*offer.labels, *options.labels))),
    )
    return await propose(
        repository,
        forge,
        proposal,
        functools.partial(offer.files, repository),
        key=key,
        upto=options.upto,
        message=offer.message,
        named=bool(options.branch),
    )


def edits_here(offer: Offer, repository: Repository) -> FileEdits:
    """What the offer changes on the commit that is checked out."""
    base = repository.resolve("HEAD")
    changed = changes_of(repository, base, offer.files(repository, base))
    there = repository.files(base)
    old = dict(repository.read(base, [path for path in changed if path in there]))
    return FileEdits(old, changed)
