"""One rollout: what may be done to it, its gauges, its groups as lanes, and its last day."""

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

import msgspec

from tidegate.access.roles import Caller, Right
from tidegate.app.documents import (
    RequestDoc,
    RolloutDates,
    TargetDates,
    TargetDoc,
    TargetParts,
    request_doc,
)
from tidegate.app.journal.entries import EntryRow
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.app.phase import meaningless
from tidegate.app.tally import has_failed
from tidegate.app.when import dates_of
from tidegate.app.workers import trouble_lines
from tidegate.explain.pace import DatePace
from tidegate.explain.view import TargetRow
from tidegate.journal.facts import Asked, Verb
from tidegate.journal.selection import EntryFilter
from tidegate.model.document import fields_of
from tidegate.model.time import SECOND, Instant, parse_instant
from tidegate.page.fleet import FleetBlock, GroupLane, fleet_block, next_moment
from tidegate.page.frame import ActButton, offer
from tidegate.page.history import newest_entries
from tidegate.page.words import WORDS
from tidegate.store.archive_port import Archive

DAY = 24 * 3600 * SECOND
# What the gate of an approval that a person gave says.
_GIVEN = ("Approved", "ApprovedStanding")
# What a page lists at most; a fleet of 50,000 is looked at on the map.
TARGETS_SHOWN = 200
NEXT_SHOWN = 3
# A film begins so many entries back: an hour or a day of a rollout; the slider reaches further.
FILM_ENTRIES = 300
# Dates of 10,000 targets take 0.4 s of CPU: too much for a page that is made again every second.
DATED_MAX = 2_000


class RolloutLane(GroupLane, frozen=True):
    """A group: who is next, which gate is shut, and what a person may answer."""

    next: tuple[str, ...]
    # The sentence that most of its targets wait for.
    shut: str
    waits_for_approval: bool
    offers: tuple[ActButton, ...]


class RolloutEnd(msgspec.Struct, frozen=True):
    """When a rollout is done, as far as it is known."""

    # When the last of those with a date is done; empty: none has one.
    at: str = ""
    # Whether the rules were not run to the end: it is not before that moment.
    at_least: bool = False
    # How many have no date, and why.
    undated: int = 0
    reason: str = ""


class RolloutGauges(msgspec.Struct, frozen=True):
    """A rollout in a few numbers: those of the fleet's legend, so that both say the same."""

    done: int
    counted: int
    breached: bool
    # By how targets are drawn: those that are always shown, and others that there are.
    looks: dict[str, int]
    end: RolloutEnd


class RequestLine(msgspec.Struct, frozen=True):
    """A change that a person requested, and how it is withdrawn."""

    request: RequestDoc
    withdraw: ActButton


class RolloutPage(msgspec.Struct, frozen=True):
    """All that the page of a rollout shows."""

    id: str
    kind: str
    summary: str
    headline: str
    revision: str
    paused: bool
    block: FleetBlock
    gauges: RolloutGauges
    offers: tuple[ActButton, ...]
    lanes: tuple[RolloutLane, ...]
    gates: tuple[ActButton, ...]
    targets: tuple[TargetDoc, ...]
    more_targets: int
    history: tuple[EntryRow, ...]
    troubles: tuple[str, ...]
    requests: tuple[RequestLine, ...]
    stopped_by: str
    # The entry at which its film begins; empty: there is none.
    film: str
    # When time alone may change what is shown; empty: it does not.
    next: str


def rollout_page(journals: Journals, archive: Archive, caller: Caller, name: str) -> RolloutPage:
    """One rollout, by its name; NotFoundError names the nearest."""
    one = journals.find(name)
    block, view = fleet_block(one), one.view
    lately = EntryFilter(since=Instant(journals.now - DAY))
    parts = TargetParts()
    rows = sorted(view.targets, key=_urgency)
    by_group: dict[str, list[TargetRow]] = {}
    for row in view.targets:
        by_group.setdefault(row.group, []).append(row)
    return RolloutPage(
        id=one.partition,
        kind=one.kind,
        summary=view.summary,
        headline=view.headline,
        revision=view.revision,
        paused=view.paused,
        block=block,
        gauges=_gauges(journals, one, block),
        offers=tuple(_offers(caller, one)),
        lanes=tuple(_lane(caller, one, each, by_group.get(each.name, [])) for each in block.lanes),
        gates=tuple(_gates(caller, one)),
        targets=tuple(parts.one(each) for each in rows[:TARGETS_SHOWN]),
        more_targets=max(0, len(rows) - TARGETS_SHOWN),
        history=tuple(newest_entries(archive, journals, lately, one.partition)),
        troubles=tuple(trouble_lines([one.worker], journals.now)),
        requests=tuple(_requests(caller, one)),
        stopped_by=journals.stopped_by(one),
        film=_film(archive, one.partition),
        next=next_moment(journals, [one]),
    )


def _film(archive: Archive, partition: str) -> str:
    start = max(0, archive.head(partition).seq - FILM_ENTRIES)
    return "".join(
        f"{each.seq}/{partition}" for each in archive.read(partition, after=start, limit=1)
    )


_URGENT = ("Failed", "No answer", "Updating", "Soaking", "Waiting")


def _urgency(row: TargetRow) -> int:
    if has_failed(row):
        return 0
    return _URGENT.index(row.state) if row.state in _URGENT else len(_URGENT)


def _gauges(journals: Journals, one: Decision, block: FleetBlock) -> RolloutGauges:
    counts, few = block.counts, block.size <= DATED_MAX
    found = dates_of(journals, one, DatePace(brief=True)) if few else None
    end = RolloutEnd(reason="" if few else WORDS["ask_when"].format(name=one.partition))
    if isinstance(found, RolloutDates):
        end = rollout_end(found.items, one.now)
    return RolloutGauges(
        done=counts["done"],
        counted=block.size - counts["ignored"],
        breached=one.view.breached,
        looks={name: n for name, n in counts.items() if name in _GAUGED or (n and name != "done")},
        end=end,
    )


def rollout_end(items: Sequence[TargetDates], now: Instant) -> RolloutEnd:
    """The end by the dates of targets: some that failed do not hide when the others are done."""
    later = [each.not_before for each in items if each.not_before is not None]
    undated = [each for each in items if each.done_at is None and each.not_before is None]
    dates = [*later, *(each.done_at for each in items if each.done_at is not None)]
    return RolloutEnd(
        at=max((each for each in dates if parse_instant(each) > now), default=""),
        at_least=bool(later),
        undated=len(undated),
        reason=next((each.held_by for each in undated if each.held_by), ""),
    )


# What a reader looks for even where there is none of it.
_GAUGED = ("failed", "moving", "waiting")


def _offers(caller: Caller, one: Decision) -> Iterator[ActButton]:
    def made(verb: str, label: str, query: str = "") -> ActButton:
        return offer(caller, verb, one.partition, label, Right.OPERATE, one, query=query)

    yield made("resume", "Resume…") if one.view.paused else made("pause", "Pause…")
    yield offer(
        caller, "hold", "", "Hold…", Right.OPERATE, None,
        query=urlencode({"scope": "kind", "kind": one.kind}),
    )  # fmt: skip
    if meaningless(Asked(verb=Verb.RETRY_FAILED), one.view) is None:
        yield made("retry", "Retry what failed…", "failed=1")
    yield made("retry", "Retry all…")
    if meaningless(Asked(verb=Verb.ABORT), one.view) is None:
        yield made("abort", "Abort…")


def _requests(caller: Caller, one: Decision) -> Iterator[RequestLine]:
    for row in one.view.requests:
        query = urlencode({"request": row.ident})
        button = offer(
            caller, "withdraw", one.partition, "Withdraw…", Right.OPERATE, one, query=query
        )
        yield RequestLine(request_doc(row), button)


def _lane(caller: Caller, one: Decision, lane: GroupLane, rows: list[TargetRow]) -> RolloutLane:
    waiting = [each for each in rows if each.waits]
    parts = TargetParts()
    said = Counter(parts.one(each).why for each in waiting[:TARGETS_SHOWN] if not each.starts)
    first = sorted(waiting, key=lambda each: not each.starts)[:NEXT_SHOWN]
    query = urlencode({"group": lane.key})

    def made(verb: str, label: str) -> ActButton:
        groups = (lane.key,)
        return offer(caller, verb, one.partition, label, Right.APPROVE, one, groups, query)

    asks = lane.key in one.view.needs.approvals or lane.name in one.view.needs.approvals
    answers = ["approve", "reject"] if asks else ["revoke"] if _is_approved(rows) else []
    labels = {"approve": "Approve…", "reject": "Reject…", "revoke": "Revoke…"}
    return RolloutLane(
        **fields_of(lane),
        next=tuple(each.name for each in first),
        shut=said.most_common(1)[0][0] if said else "",
        waits_for_approval=asks,
        offers=tuple(made(each, labels[each]) for each in answers),
    )


def _is_approved(rows: list[TargetRow]) -> bool:
    """Whether an approval of the group can be taken back: its gate says that there is one."""
    first = next((row for row in rows if row.options), None)
    verdicts = () if first is None else first.options[0].verdicts
    return any(each.reason.value in _GIVEN for each in verdicts)


def _gates(caller: Caller, one: Decision) -> Iterator[ActButton]:
    for gate in one.view.gates:
        for verb, label in (("approve", "Approve"), ("reject", "Reject"), ("revoke", "Revoke")):
            query = urlencode({"gate": gate})
            text = f"{label} at {gate}…"
            yield offer(caller, verb, one.partition, text, Right.APPROVE, one, query=query)
