"""What forges over HTTP share: a filter of merge requests, and one comment for each key."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import msgspec

from tidegate.forge.client.session import ForgeSession
from tidegate.forge.port import Forge, MergeRequest, Proposal, RequestState, StatusState


class OwnComment(msgspec.Struct, frozen=True):
    """One of our own comments."""

    id: int
    body: str


class Anything(msgspec.Struct, frozen=True):
    """An answer whose content is not needed."""


def together(states: Iterable[StatusState]) -> StatusState | None:
    """What several checks say: one that failed decides, then one that is pending."""
    said = set(states)
    order = (StatusState.FAILURE, StatusState.ERROR, StatusState.PENDING, StatusState.SUCCESS)
    return next((each for each in order if each in said), None)


async def matching(
    found: AsyncIterator[MergeRequest],
    source: str,
    title: str,
    label: str,
    state: RequestState | None,
) -> tuple[MergeRequest, ...]:
    """The merge requests with this branch, title, label and state, the newest first."""
    kept = [
        each
        async for each in found
        if (not source or each.source == source)
        and (not title or each.title == title)
        and (not label or label in each.labels)
        and (state is None or each.state is state)
    ]
    return tuple(sorted(kept, key=lambda each: -each.number))


async def declined(
    forge: Forge, number: int, close: Callable[[], Awaitable[MergeRequest]]
) -> MergeRequest:
    """Close a merge request, if it is open."""
    known = await forge.get(number)
    is_ended = known is not None and known.state is not RequestState.OPEN
    return known if known is not None and is_ended else await close()


async def between(forge: Forge, proposal: Proposal) -> MergeRequest | None:
    """The open merge request between the branches of a proposal."""
    found = await forge.find(source=proposal.source)
    return next((each for each in found if each.target == proposal.target), None)


async def say(
    asking: ForgeSession,
    ours: Callable[[], Awaitable[list[OwnComment]]],
    body: str,
    path: str,
    change: tuple[str, str],
) -> None:
    """Write one comment, in place of our earlier one.

    `path` is where comments are created; `change` is the method and the path, without the number,
    to change one. Duplicates of ours, left by late answers, are deleted.
    """

    async def make() -> OwnComment:
        return await asking.send("POST", path, {"body": body}, OwnComment, again=False)

    async def find() -> OwnComment | None:
        return next(iter(await ours()), None)

    said = await ours()
    if not said:
        await asking.once(make, find)
        return
    method, one = change
    if said[0].body != body:
        await asking.send(method, f"{one}/{said[0].id}", {"body": body}, OwnComment)
    for more in said[1:]:
        gone = await asking.ask("DELETE", f"{one}/{more.id}")
        if gone.status not in (200, 204, 404):
            raise asking.refused(gone, f"DELETE {one}/{more.id}")
