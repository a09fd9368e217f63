"""What is known of one pipeline: a fold over its facts, from which its world is built."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from tidegate.journal.fact import Fact
from tidegate.kinds.promotions.core.channels.bisection import (
    Bisection,
    BisectTry,
    with_result,
    with_try,
)
from tidegate.kinds.promotions.core.channels.history import (
    DeploymentSeen,
    PublisherHistory,
    fold_configured,
)
from tidegate.kinds.promotions.core.channels.journal.facts import (
    BisectConfirmed,
    DeploymentsSeen,
    EvidenceReported,
    PipelineRead,
    QuarantineLifted,
    RequestsSeen,
    RunsSeen,
    SlosSeen,
)
from tidegate.kinds.promotions.core.channels.model import (
    NamedEvidence,
    Quarantine,
    ShardRuns,
    SloState,
)
from tidegate.kinds.promotions.core.channels.sources import (
    PipelineReading,
    SaasPublisher,
    SaasSubscriber,
)
from tidegate.kinds.promotions.core.requests.model import RequestOrigin
from tidegate.model.time import Instant

# Versions with reports, quarantines and good promotions that are remembered; older ones are not
# promoted any more, and would be reported again.
REMEMBERED_MAX = 128


class SubscriberMove(msgspec.Struct, frozen=True, kw_only=True):
    """The last time that another version was written for a subscriber."""

    old: str
    version: str
    at: Instant


class PipelineKnown(msgspec.Struct):
    """What is known of one pipeline. Mutable: a fold over many facts makes one, not many."""

    reading: PipelineReading | None = None
    read_at: Instant | None = None
    histories: dict[str, PublisherHistory] = {}
    runs: dict[str, ShardRuns] = {}
    slos: dict[str, SloState] = {}
    # By version, then by name.
    named: dict[str, dict[str, NamedEvidence]] = {}
    quarantined: dict[str, Quarantine] = {}
    # Searches for what broke a version, by that version.
    bisections: dict[str, Bisection] = {}
    moves: dict[str, SubscriberMove] = {}
    # Versions that were promoted and run well, the newest last, and how many there were in all.
    well: tuple[str, ...] = ()
    well_number: int = 0
    # Those that are open, and what all that ended show.
    requests: RequestsSeen = RequestsSeen()
    requests_at: Instant | None = None

    def subscriber(self, name: str) -> SaasSubscriber | None:
        """A subscriber by its name."""
        some = () if self.reading is None else self.reading.subscribers
        return next((each for each in some if each.name == name), None)


def take(known: PipelineKnown, at: Instant, fact: Fact, actor: str) -> None:
    """Take one fact into account; facts that are not about pipelines change nothing."""
    if isinstance(fact, EvidenceReported):
        _reported(known, at, fact, actor)
        return
    if isinstance(fact, BisectConfirmed):
        _confirmed(known, at, fact, actor)
        return
    step = _STEPS.get(type(fact))
    if step is not None:
        step(known, at, fact)


def _read(known: PipelineKnown, at: Instant, fact: PipelineRead) -> None:
    reading = known.reading
    if reading is None:
        if fact.pipeline is None:  # it says only what changed, and there is nothing to change
            return
        reading = PipelineReading(pipeline=fact.pipeline)
    plain = ("pipeline", "base", "blocked", "hotfixes", "slos", "unread", "commits")
    news: dict[str, Any] = {
        name: getattr(fact, name) for name in plain if getattr(fact, name) is not None
    }
    subscribers = {each.name: each for each in reading.subscribers}
    publishers = {each.name: each for each in reading.publishers}
    for each in fact.subscribers:
        _moved(known, at, subscribers.get(each.name), each)
        subscribers[each.name] = each
    publishers |= {each.name: each for each in fact.publishers}
    for name in fact.gone:
        subscribers.pop(name, None)
        publishers.pop(name, None)
        for some in (known.histories, known.runs, known.moves):
            some.pop(name, None)
    known.reading = replace(
        reading,
        subscribers=_in_order(subscribers),
        publishers=_in_order(publishers),
        **news,
    )
    known.read_at = at


def _in_order(some: dict[str, Any]) -> Any:
    return tuple(some[name] for name in sorted(some))


def _moved(
    known: PipelineKnown, at: Instant, before: SaasSubscriber | None, after: SaasSubscriber
) -> None:
    if before is None or before.ref == after.ref:
        return
    known.moves[after.name] = SubscriberMove(old=before.ref, version=after.ref, at=at)
    _count(known, after.name)


def _deployed(known: PipelineKnown, at: Instant, fact: DeploymentsSeen) -> None:
    for each in fact.deployments:
        known.bisections = {
            version: with_result(one, each) for version, one in known.bisections.items()
        }
        before = known.histories.get(each.target)
        after = fold_configured(before, each, at)
        if after == before:
            continue  # it says nothing that was not known: it arrived twice
        known.histories[each.target] = after
        if each.good:
            _count(known, each.target)
        else:
            _quarantine(known, each, before)


def _quarantine(
    known: PipelineKnown, fact: DeploymentSeen, before: PublisherHistory | None
) -> None:
    """A version that failed goes nowhere else, until a person lifts it."""
    good = _last_good(before, fact.version)
    if fact.version in known.quarantined:
        return
    known.quarantined[fact.version] = Quarantine(
        version=fact.version, target=fact.target, at=fact.at, why=fact.why, good=good
    )
    _forget(known.quarantined)
    if fact.version in known.well:  # it did not go well after all
        known.well = tuple(each for each in known.well if each != fact.version)
        known.well_number -= 1


def _last_good(history: PublisherHistory | None, bad: str) -> str:
    if history is None:
        return ""
    if history.good and history.version != bad:
        return history.version
    return next((each for each, _ in reversed(history.spent) if each != bad), "")


def _count(known: PipelineKnown, name: str) -> None:
    """A promotion went well once what it wrote runs: counted once for each version."""
    move, history = known.moves.get(name), known.histories.get(name)
    if move is None or history is None or not history.good or history.version != move.version:
        return
    if move.version in known.quarantined or move.version in known.well:
        return
    known.well = (*known.well, move.version)[-REMEMBERED_MAX:]
    known.well_number += 1


def _ran(known: PipelineKnown, _: Instant, fact: RunsSeen) -> None:
    known.runs |= fact.runs


def _slos(known: PipelineKnown, _: Instant, fact: SlosSeen) -> None:
    known.slos = dict(fact.slos)


def _reported(known: PipelineKnown, at: Instant, fact: EvidenceReported, actor: str) -> None:
    said = NamedEvidence(good=fact.good, at=at, by=actor, why=fact.reason)
    mine = known.named.pop(fact.version, {})
    known.named[fact.version] = mine | {fact.name: said}
    _forget(known.named)


def _confirmed(known: PipelineKnown, at: Instant, fact: BisectConfirmed, actor: str) -> None:
    if fact.version not in known.quarantined:  # it was lifted meanwhile
        return
    began = Bisection(version=fact.version, target=fact.target, ref=fact.ref)
    one = known.bisections.get(fact.version, began)
    known.bisections[fact.version] = with_try(one, BisectTry(version=fact.step, at=at, by=actor))
    _forget(known.bisections)


def _forget(some: dict[str, Any]) -> None:
    while len(some) > REMEMBERED_MAX:
        del some[next(iter(some))]


def _lifted(known: PipelineKnown, _: Instant, fact: QuarantineLifted) -> None:
    known.quarantined.pop(fact.version, None)
    known.bisections.pop(fact.version, None)


def _requests(known: PipelineKnown, at: Instant, fact: RequestsSeen) -> None:
    before = known.requests
    known.requests = RequestsSeen(
        requests=fact.requests,
        failed=_with(before.failed, fact.failed),
        declined=_with(before.declined, fact.declined),
    )
    known.requests_at = at


def _with(before: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """What ended before and what ended since, each once; a request can be opened again."""
    numbers = {each.number for each in new}
    kept = tuple(each for each in before if each.number not in numbers)
    return (*kept, *new)[-REMEMBERED_MAX:]


_STEPS: dict[type, Callable[[PipelineKnown, Instant, Any], None]] = {
    PipelineRead: _read,
    DeploymentsSeen: _deployed,
    RunsSeen: _ran,
    SlosSeen: _slos,
    QuarantineLifted: _lifted,
    RequestsSeen: _requests,
}


def read_fact(known: PipelineKnown, reading: PipelineReading) -> PipelineRead | None:
    """What a reading found that is not as before; None: nothing that matters to a decision."""
    before = known.reading or PipelineReading(pipeline=reading.pipeline)
    first = known.reading is None
    plain = ("pipeline", "blocked", "hotfixes", "slos", "unread", "commits")
    news: dict[str, Any] = {
        name: getattr(reading, name)
        for name in plain
        if getattr(before, name) != getattr(reading, name)
    }
    subscribers = _changed(before.subscribers, reading.subscribers)
    publishers = _changed(before.publishers, reading.publishers)
    gone = _gone(before, reading)
    if not (first or news or subscribers or publishers or gone):
        return None
    if first:
        news["pipeline"] = reading.pipeline
    if before.base != reading.base:
        news["base"] = reading.base
    return PipelineRead(subscribers=subscribers, publishers=publishers, gone=gone, **news)


def _changed(before: Any, after: Any) -> Any:
    known = {each.name: each for each in before}
    return tuple(each for each in after if known.get(each.name) != each)


def _gone(before: PipelineReading, after: PipelineReading) -> tuple[str, ...]:
    some: tuple[SaasSubscriber | SaasPublisher, ...] = (*after.subscribers, *after.publishers)
    there = {each.name for each in some}
    known: tuple[SaasSubscriber | SaasPublisher, ...] = (*before.subscribers, *before.publishers)
    return tuple(sorted({each.name for each in known} - there))


def requests_news(known: PipelineKnown, seen: RequestsSeen) -> RequestsSeen | None:
    """What a reading of merge requests shows that is not known; None: nothing."""
    before = known.requests
    numbers = {each.number for each in before.requests}
    first = known.requests_at is None
    news = RequestsSeen(
        requests=seen.requests,
        merged=seen.merged,
        # What was open before the first look was not opened since; what was not open is not closed.
        opened=() if first else tuple(_new_requests(seen, numbers)),
        closed=tuple(each for each in seen.closed if each[0] in numbers),
        failed=tuple(each for each in seen.failed if each not in before.failed),
        declined=tuple(each for each in seen.declined if each not in before.declined),
    )
    same = news.requests == before.requests and not (news.merged or news.failed or news.declined)
    return None if same and not first else news


def _new_requests(seen: RequestsSeen, known: set[int]) -> Iterator[int]:
    ours = (each for each in seen.requests if each.origin is RequestOrigin.TIDEGATE)
    return (each.number for each in ours if each.number not in known)


def news_of(known: PipelineKnown, seen: tuple[DeploymentSeen, ...]) -> tuple[DeploymentSeen, ...]:
    """Deployments that say something that is not known."""
    found: list[DeploymentSeen] = []
    histories: dict[str, PublisherHistory | None] = {}
    for each in seen:
        before = histories.get(each.target, known.histories.get(each.target))
        after = fold_configured(before, each, each.at)
        if _says_more(before, after):
            found.append(each)
            histories[each.target] = after
    return tuple(found)


def _says_more(before: PublisherHistory | None, after: PublisherHistory) -> bool:
    """Whether more follows than that a version was seen to run on."""
    if before is None:
        return True
    return replace(before, seen_at=after.seen_at) != after
