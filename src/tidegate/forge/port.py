"""The port of a forge: merge requests, comments and check results of one project.

A call may take long, or fail with OutsideError. A call that is repeated after a lost answer creates
nothing twice.
"""

import enum
from collections.abc import Sequence
from typing import Protocol

import msgspec

from tidegate.model.document import Part


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A merge request to open."""

    title: str
    description: str
    source: str  # the branch that is offered
    target: str  # the branch it is to be merged into
    labels: tuple[str, ...] = ()


class RequestState(enum.Enum):
    """The state of a merge request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class MergeRequest(Part, frozen=True, kw_only=True):
    """An existing merge request."""

    number: int
    url: str
    title: str
    description: str
    source: str
    target: str
    state: RequestState
    labels: tuple[str, ...] = ()
    # The newest commit of its branch; empty: the forge does not say.
    head: str = ""
    # The commit it was merged as; empty: it is not merged, or the forge does not say.
    merged_as: str = ""
    # The account that merged or closed it; empty: it is open, or the forge does not say.
    ended_by: str = ""
    # Whether it is open and conflicts with its target. `get` says it; a list may not know.
    conflicts: bool = False


class StatusState(enum.Enum):
    """The result of a check of a commit."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"


class CheckStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check of a commit, with a text."""

    name: str  # `tidegate/check`
    state: StatusState
    text: str
    url: str = ""


class Forge(Protocol):
    """One project on a forge."""

    async def find(
        self,
        *,
        source: str = "",
        title: str = "",
        label: str = "",
        state: RequestState | None = RequestState.OPEN,
    ) -> tuple[MergeRequest, ...]:
        """The merge requests of a branch, of a title, with a label, or of all, the newest first.

        Only those from branches of the repository itself: branches of forks are not ours to change.
        """
        ...

    async def get(self, number: int) -> MergeRequest | None:
        """A merge request by its number, with all that is known of it; None: there is none.

        GitHub's lists do not say who merged a request; this does.
        """
        ...

    async def of_commit(self, sha: str) -> MergeRequest | None:
        """The merged request that contains a commit; None: there is none, or it is not known."""
        ...

    async def open(self, proposal: Proposal) -> MergeRequest:
        """Open a merge request; one that is open between the same branches is updated instead."""
        ...

    async def update(self, number: int, proposal: Proposal) -> MergeRequest:
        """Change the title, description and target of an open one, and add labels."""
        ...

    async def comment(self, number: int, key: str, text: str) -> None:
        """Comment on a merge request; an earlier comment with the same key is replaced.

        The key is kept in the comment, hidden from readers. Comments of others are never changed.
        """
        ...

    async def label(self, number: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add labels to a merge request, and remove others."""
        ...

    async def status(self, sha: str, status: CheckStatus) -> None:
        """Set the result of a check of a commit."""
        ...

    async def checks(self, sha: str) -> StatusState | None:
        """What all checks of a commit say together; None: no check has said anything.

        One that failed decides, then one that is pending. A failure that the project allows, and a
        check that was skipped, count neither way.
        """
        ...

    async def decline(self, number: int) -> MergeRequest:
        """Close a merge request without merging it; one that is not open stays as it is."""
        ...

    async def mention(self, name: str, email: str) -> str:
        """How to mention a person in a description: `@jdoe`; the name if no account is found."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
