"""A forge as Tidegate sees it: where changes are offered as merge requests, and talked about.

What is asked may take long, or fail with OutsideError. Whoever asks again after a lost answer does
not make a second of anything.
"""

import enum
from collections.abc import Sequence
from typing import Protocol

import msgspec

from tidegate.model.document import Part


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A merge request to be."""

    title: str
    description: str
    source: str  # the branch that is offered
    target: str  # the branch it is to be merged into
    labels: tuple[str, ...] = ()


class RequestState(enum.Enum):
    """What became of a merge request."""

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
    # What its branch is at; empty: the forge does not say.
    head: str = ""
    # The commit that brought it in; empty: it is not merged, or the forge does not say.
    merged_as: str = ""


class StatusState(enum.Enum):
    """How a check of a commit stands."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"


class CheckStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a check says of a commit."""

    name: str  # `tidegate/check`
    state: StatusState
    text: str
    url: str = ""


class Forge(Protocol):
    """The project on a forge that a repository is."""

    async def find(
        self, *, source: str = "", title: str = "", state: RequestState | None = RequestState.OPEN
    ) -> tuple[MergeRequest, ...]:
        """The merge requests of a branch, of a title, or of both, the newest first.

        Only those from branches of the repository itself: another's branch is not ours to change.
        """
        ...

    async def of_commit(self, sha: str) -> MergeRequest | None:
        """The merged request that brought a commit in; None: there is none, or nobody knows."""
        ...

    async def open(self, proposal: Proposal) -> MergeRequest:
        """Open a merge request; one that is open between the same branches gets these words."""
        ...

    async def update(self, number: int, proposal: Proposal) -> MergeRequest:
        """Give an open one another title, description and these labels besides those it has."""
        ...

    async def comment(self, number: int, key: str, text: str) -> None:
        """Say something on a merge request; what was said under the same key is replaced.

        The key is kept in the comment, unseen by readers. Comments of others are never touched.
        """
        ...

    async def label(self, number: int, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Put labels on a merge request, and take others off."""
        ...

    async def status(self, sha: str, status: CheckStatus) -> None:
        """Say how a check of a commit stands."""
        ...

    async def mention(self, name: str, email: str) -> str:
        """How to address somebody in a description: `@jdoe`; their name if nobody knows them."""
        ...

    async def close(self) -> None:
        """Let go of whatever it holds open."""
        ...
