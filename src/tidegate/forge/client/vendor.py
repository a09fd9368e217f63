"""What forges over HTTP share: a filter of merge requests, and one comment for each key."""

from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from tidegate.forge.client.session import ForgeSession
from tidegate.forge.port import Forge, MergeRequest, Proposal, RequestState


class OwnComment(msgspec.Struct, frozen=True):
    """A comment of ours."""

    id: int
    body: str


class Anything(msgspec.Struct, frozen=True):
    """An answer of which nothing is needed."""


async def matching(
    found: AsyncIterator[MergeRequest], source: str, title: str, state: RequestState | None
) -> tuple[MergeRequest, ...]:
    """Of all that a forge answered, what was asked for, the newest first."""
    kept = [
        each
        async for each in found
        if (not source or each.source == source)
        and (not title or each.title == title)
        and (state is None or each.state is state)
    ]
    return tuple(sorted(kept, key=lambda each: -each.number))


async def between(forge: Forge, proposal: Proposal) -> MergeRequest | None:
    """The one that is open between the branches of a proposal."""
    found = await forge.find(source=proposal.source)
    return next((each for each in found if each.target == proposal.target), None)


async def say(
    asking: ForgeSession,
    ours: Callable[[], Awaitable[list[OwnComment]]],
    body: str,
    path: str,
    change: tuple[str, str],
) -> None:
    """Say something in one comment, in the place of what we said before.

    `path` is where comments are made; `change` is how one is changed, and where, without its
    number. Should there be several of ours, after answers that came too late, the others go.
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
