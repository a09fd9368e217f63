"""Carries out what was planned about one merge request of a pipeline; again is as good as once.

Right before, the request is read again: one that a person merged, closed or pushed to meanwhile is
left, and so is a promotion that another request now holds. Every step looks for its result
first, so that an act that was interrupted anywhere is completed by doing it again.
"""

import asyncio
import functools
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tidegate.forge.port import Forge, MergeRequest, Proposal, RequestState
from tidegate.git.port import Repository
from tidegate.kinds.promotions.app.ports import PromotionPorts
from tidegate.kinds.promotions.app.requests.facts import promoted_files, read_facts
from tidegate.kinds.promotions.app.requests.names import LABEL, branch_of, title_of
from tidegate.kinds.promotions.app.requests.survey import read_requests
from tidegate.kinds.promotions.app.requests.text import (
    closing_comment,
    commit_message,
    description,
)
from tidegate.kinds.promotions.core.requests.data_block import (
    DataBlockError,
    RequestData,
    read_block,
    with_block,
)
from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    CloseCause,
    RequestAct,
    RequestVerb,
)
from tidegate.kinds.promotions.core.requests.record import ClosedRequest
from tidegate.model.errors import StaleError
from tidegate.model.verdict import Verdict
from tidegate.propose.change import ProposedChange, Upto, propose
from tidegate.propose.foreign import foreign_work
from tidegate.propose.offer import PREFIX

# The comment that says why a request was closed is replaced under this key.
CLOSED = "pipeline-closed"


class PipelineOffers(msgspec.Struct, frozen=True, kw_only=True):
    """What the acts of one plan need beside it."""

    pipeline: str
    wanted: tuple[ChannelPromotion, ...]
    # What every gate said of a subscriber, by its name.
    said: Mapping[str, tuple[Verdict, ...]] = {}
    # As declared; the label that all requests have is added.
    labels: tuple[str, ...] = ()
    # The address of a picture of the pipeline; empty: there is none.
    picture: str = ""


class RequestResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an act."""

    verb: RequestVerb
    # None: nothing was to be changed, so nothing was opened.
    number: int | None = None
    url: str = ""
    branch: str = ""
    # A request of the same content that was closed before: it tells why nothing is opened.
    closed_before: ClosedRequest | None = None


async def carry_out_act(
    ports: PromotionPorts, forge: Forge, offers: PipelineOffers, act: RequestAct
) -> RequestResult:
    """Do one thing about a request. StaleError: something changed, and it is planned again."""
    if act.verb is RequestVerb.CLOSE:
        return await _close(ports.bundle, forge, act)
    promotions = _promotions(offers, act)
    if act.verb is RequestVerb.OPEN:
        branch = branch_of(offers.pipeline, act.key)
        await _check_free(ports.bundle, forge, offers.pipeline, branch, promotions)
        before = await _closed_before(forge, branch, act)
        if before is not None:
            return RequestResult(verb=act.verb, branch=branch, closed_before=before)
        return await _offer(ports, forge, offers, act, branch)
    assert act.verb is RequestVerb.UPDATE, "what is left needs no act"
    request = await _still_open(ports.bundle, forge, act)
    return await _offer(ports, forge, offers, act, request.source, request)


def _promotions(offers: PipelineOffers, act: RequestAct) -> tuple[ChannelPromotion, ...]:
    """The promotions that a request is to hold; StaleError if one is not wanted any more."""
    wanted = {each.content: each for each in offers.wanted}
    gone = [",".join(each.channels) for each in act.holds if each.content not in wanted]
    if gone:
        raise StaleError(f"not wanted any more: {'; '.join(gone)}")
    return tuple(wanted[each.content] for each in act.holds)


async def _check_free(
    repository: Repository,
    forge: Forge,
    pipeline: str,
    branch: str,
    promotions: tuple[ChannelPromotion, ...],
) -> None:
    """StaleError where another open request holds one of the promotions."""
    channels = {name for each in promotions for name in each.channels}
    reading = await read_requests(forge, repository, pipeline, channels=channels)
    for request in reading.open:
        if request.branch != branch and any(request.carries(p.channels) for p in promotions):
            raise StaleError(f"!{request.number} holds one of these promotions")


async def _closed_before(forge: Forge, branch: str, act: RequestAct) -> ClosedRequest | None:
    """A request of the same contents that a person closed, or that failed its check.

    One that failed with more is another batch: it grew on this branch, and this is a half of it.
    """
    found = next(iter(await forge.find(source=branch, state=None)), None)
    if found is None or found.state is not RequestState.CLOSED:
        return None
    try:
        data = read_block(found.description)
    except DataBlockError:
        return None
    asked, before = set(act.holds), set(data.holds)
    is_it = asked <= before if data.closed is None else asked == before
    if data.closed not in (None, CloseCause.FAILED) or not is_it:
        return None
    whole = await forge.get(found.number) or found
    return ClosedRequest(found.number, data, whole.ended_by)


async def _still_open(repository: Repository, forge: Forge, act: RequestAct) -> MergeRequest:
    """The request of an act, if it is open and has no work of others."""
    assert act.number is not None
    request = await forge.get(act.number)
    if request is None or request.state is not RequestState.OPEN:
        raise StaleError(f"!{act.number} is not open any more")
    await asyncio.to_thread(repository.fetch)
    _, foreign = await asyncio.to_thread(foreign_work, repository, request)
    if foreign and act.cause is not CloseCause.ADOPTED:
        raise StaleError(f"!{act.number} has work of others, and is left: {foreign}")
    return request


async def _close(repository: Repository, forge: Forge, act: RequestAct) -> RequestResult:
    """Say why, write the cause into the data, then close: a crash before the end repeats it."""
    assert act.number is not None
    assert act.cause is not None
    known = await forge.get(act.number)
    if known is not None and known.state is RequestState.CLOSED:
        return RequestResult(verb=act.verb, number=act.number, url=known.url, branch=known.source)
    request = await _still_open(repository, forge, act)
    await forge.comment(request.number, CLOSED, closing_comment(act.verdict))
    if act.cause is not CloseCause.ADOPTED:
        await _mark_closed(forge, request, act)
    ended = await forge.decline(request.number)
    if ended.state is not RequestState.CLOSED:
        raise StaleError(f"!{act.number} is {ended.state.value} meanwhile")
    return RequestResult(verb=act.verb, number=ended.number, url=ended.url, branch=ended.source)


async def _mark_closed(forge: Forge, request: MergeRequest, act: RequestAct) -> None:
    """The cause, in the data of the request; where that cannot be read, nothing is known of it."""
    try:
        data = read_block(request.description)
    except DataBlockError:
        return
    marked = replace(data, closed=act.cause)
    if marked != data:
        await forge.update(
            request.number, _reworded(request, with_block(request.description, marked))
        )


def _reworded(request: MergeRequest, words: str) -> Proposal:
    return Proposal(
        title=request.title, description=words, source=request.source, target=request.target
    )


async def _offer(
    ports: PromotionPorts,
    forge: Forge,
    offers: PipelineOffers,
    act: RequestAct,
    branch: str,
    known: MergeRequest | None = None,
) -> RequestResult:
    """Branch, commit, push and request; one that is open is brought up to date."""
    promotions = _promotions(offers, act)
    files = functools.partial(promoted_files, ports, promotions)
    title = title_of(offers.pipeline, branch, promotions)
    data = RequestData(pipeline=offers.pipeline, holds=act.holds, batchable=act.batchable)
    words = _words_kept(known, data)
    if not words:
        opened = act.verdict if act.verb is RequestVerb.OPEN else None
        asked = (offers.pipeline, promotions, offers.said, opened)
        facts = await read_facts(ports, forge, *asked)
        words = with_block(description(replace(facts, picture=offers.picture)), data)
    proposal = Proposal(
        title=title,
        description=words,
        source=branch,
        target=known.target if known is not None else "",
        labels=tuple(dict.fromkeys((LABEL, *offers.labels))),
    )
    done: ProposedChange = await propose(
        ports.bundle,
        forge,
        proposal,
        files,
        key=branch.removeprefix(PREFIX),
        upto=Upto.OPEN,
        message=commit_message(title, promotions),
    )
    request = done.request
    return RequestResult(
        verb=act.verb,
        number=None if request is None else request.number,
        url="" if request is None else request.url,
        branch=branch,
    )


def _words_kept(known: MergeRequest | None, data: RequestData) -> str:
    """The description of a request that holds the same as before; empty: it is written anew."""
    if known is None:
        return ""
    try:
        before = read_block(known.description)
    except DataBlockError:
        return ""
    return with_block(known.description, data) if before.holds == data.holds else ""
