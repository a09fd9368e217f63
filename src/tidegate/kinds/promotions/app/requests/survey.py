"""Reads the merge requests of a pipeline: those that are open, and what became of known ones.

A description says what a request holds, the commits of its branch whether it is still ours, the
checks of its newest commit whether it passed. Open requests are found by their label, so that one
is found that a worker opened and did not live to record.
"""

import asyncio
from collections.abc import Collection, Iterable

import msgspec

from tidegate.forge.port import Forge, MergeRequest, RequestState, StatusState
from tidegate.git.history import Ancestry
from tidegate.git.port import Repository
from tidegate.kinds.promotions.app.requests.names import LABEL, is_branch_of
from tidegate.kinds.promotions.core.compat import description as existing
from tidegate.kinds.promotions.core.requests.data_block import (
    DataBlockError,
    RequestData,
    read_block,
)
from tidegate.kinds.promotions.core.requests.model import (
    ChecksResult,
    HeldPromotion,
    RequestOrigin,
    SeenRequest,
)
from tidegate.kinds.promotions.core.requests.record import ClosedRequest
from tidegate.propose.foreign import foreign_work

_RESULTS = {
    None: ChecksResult.NONE,
    StatusState.PENDING: ChecksResult.PENDING,
    StatusState.SUCCESS: ChecksResult.PASSED,
    StatusState.FAILURE: ChecksResult.FAILED,
    StatusState.ERROR: ChecksResult.FAILED,
}
# What a promotion of the existing manager is called: its hashes are made otherwise.
_EXISTING_CONTENT = "0" * 32


class MergedRequest(msgspec.Struct, frozen=True):
    """A request that was merged, and what it held."""

    number: int
    url: str
    holds: tuple[HeldPromotion, ...]
    merged_as: str = ""
    # Empty: the forge does not say.
    by: str = ""


class RequestsReading(msgspec.Struct, frozen=True, kw_only=True):
    """The open requests of a pipeline, and what became of known ones that are not open."""

    open: tuple[SeenRequest, ...] = ()
    closed: tuple[ClosedRequest, ...] = ()
    merged: tuple[MergedRequest, ...] = ()


async def read_requests(
    forge: Forge,
    repository: Repository,
    pipeline: str,
    known: Iterable[int] = (),
    channels: Collection[str] = (),
) -> RequestsReading:
    """Read everything that the requests of a pipeline show.

    `known` are numbers of requests that were open when last seen. With `channels`, requests of the
    existing manager that hold one of them are read, too.
    """
    await asyncio.to_thread(repository.fetch)
    found = [
        await forge.get(each.number) or each
        for each in await forge.find(label=LABEL)
        if is_branch_of(pipeline, each.source)
    ]
    there = [await _seen(forge, repository, pipeline, each) for each in found]
    seen = [each for each in there if each is not None]
    if channels:
        seen += await _existing(forge, frozenset(channels))
    closed: list[ClosedRequest] = []
    merged: list[MergedRequest] = []
    for number in sorted(set(known) - {each.number for each in seen}):
        ended = await forge.get(number)
        if ended is not None:
            _add_ended(ended, closed, merged)
    return RequestsReading(
        open=tuple(sorted(seen, key=lambda each: each.number)),
        closed=tuple(closed),
        merged=tuple(merged),
    )


def _add_ended(
    ended: MergeRequest, closed: list[ClosedRequest], merged: list[MergedRequest]
) -> None:
    try:
        data = read_block(ended.description)
    except DataBlockError:
        return
    if ended.state is RequestState.CLOSED:
        closed.append(ClosedRequest(ended.number, data, ended.ended_by))
    if ended.state is RequestState.MERGED:
        merged.append(
            MergedRequest(ended.number, ended.url, data.holds, ended.merged_as, ended.ended_by)
        )


async def _seen(
    forge: Forge, repository: Repository, pipeline: str, request: MergeRequest
) -> SeenRequest | None:
    """One of ours; None: it is of another pipeline."""
    data: RequestData | None = None
    unreadable = ""
    try:
        data = read_block(request.description)
    except DataBlockError as error:
        unreadable = str(error)
    if data is not None and data.pipeline != pipeline:
        return None
    head, foreign = await asyncio.to_thread(foreign_work, repository, request)
    checked = await forge.checks(head) if head else None
    return SeenRequest(
        number=request.number,
        url=request.url,
        branch=request.source,
        holds=data.holds if data is not None else (),
        batchable=data.batchable if data is not None else False,
        check=_RESULTS[checked],
        conflict=request.conflicts and await asyncio.to_thread(_behind, repository, request, head),
        foreign=foreign,
        labels=frozenset(request.labels),
        unreadable=unreadable or ("" if head else "its branch is gone"),
    )


def _behind(repository: Repository, request: MergeRequest, head: str) -> bool:
    """Whether the target has commits that the branch has not; else there is no conflict.

    A forge that is still looking for conflicts says of a new request that it cannot be merged.
    """
    target = repository.tip(request.target)
    return not head or repository.ancestry(target, head) not in (Ancestry.AHEAD, Ancestry.SAME)


async def _existing(forge: Forge, channels: frozenset[str]) -> list[SeenRequest]:
    """Requests of the existing manager with one of the channels, as it reads them itself.

    What it could not read itself is left out: it would close it, and opens it again.
    """
    requests = await forge.find(label=existing.LABEL)
    parsed = existing.parse_requests(
        [
            # One that conflicts is open all the same.
            existing.FoundRequest(description=each.description, labels=each.labels)
            for each in requests
        ]
    )
    found: list[SeenRequest] = []
    for at, usable in parsed.usable:
        if usable.channels & channels:
            holds = HeldPromotion(tuple(sorted(usable.channels)), _EXISTING_CONTENT)
            found.append(
                SeenRequest(
                    number=requests[at].number,
                    url=requests[at].url,
                    branch=requests[at].source,
                    holds=(holds,),
                    batchable=usable.batchable,
                    labels=frozenset(requests[at].labels),
                    origin=RequestOrigin.EXISTING,
                )
            )
    return found
