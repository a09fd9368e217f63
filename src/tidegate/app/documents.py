"""The documents of questions that every kind answers; names of fields are API."""

from tidegate.app.workers import PartitionWorker, StandbyWorker
from tidegate.explain.verdict_part import VerdictPart, VerdictParts, verdict_part
from tidegate.explain.view import GroupRow, OptionRow, PartitionView, RequestRow, TargetRow
from tidegate.model.document import Document, Part, instant_text
from tidegate.model.time import MILLISECOND, Instant, format_instant


class NotedDocument(Document, frozen=True, kw_only=True):
    """An answer with all that could not be read for it, and notes."""

    # What could not be read; commands exit 1 if there is any.
    errors: tuple[str, ...] = ()
    # What else a reader should know: how old the data is, what is not known.
    notes: tuple[str, ...] = ()


class OptionDoc(Part, frozen=True, omit_defaults=True):
    """One thing that could be done to a target."""

    change: str = ""
    starts: bool = False
    verdicts: tuple[VerdictPart, ...] = ()


class TargetDates(Part, frozen=True):
    """When a target is expected to start and to be done."""

    target: str
    group: str
    starts_at: str | None
    done_at: str | None
    depends_on: tuple[str, ...]
    # What no clock opens; None: nothing.
    held_by: str | None
    # What has no date here does not happen before this, and `when` may look further; None: it has
    # dates, or there are none.
    not_before: str | None = None


class TargetDoc(Part, frozen=True, omit_defaults=True):
    """One target: where it is, and what every gate says of each option."""

    name: str
    state: str
    group: str = ""
    revision: str = ""
    next: str = ""
    # What was reported of it last, and since when.
    status: str = ""
    since: str | None = None
    starts: bool = False
    # Why it waits, by the gate that says most; and until when, where time alone opens that gate.
    why: str = ""
    until: str | None = None
    # Whether that is an estimate, as things are.
    estimate: bool = False
    # The dates that `when` has for it; null: they are not known here.
    expected: TargetDates | None = None
    options: tuple[OptionDoc, ...] = ()


class RequestDoc(Part, frozen=True, omit_defaults=True):
    """A change that a person requested, until it is carried out or withdrawn."""

    # Names the request, so that it can be withdrawn.
    id: str
    # What is to be done.
    change: str
    # Waiting, Updating, Done, Failed.
    state: str
    # Which actor requested it, when, and why.
    by: str
    at: str
    reason: str = ""
    # The targets it is about; none: all of the rollout.
    targets: tuple[str, ...] = ()
    # Whether it is carried out as soon as a worker acts.
    starts: bool = False
    # Why it waits, by the gate that says most; and until when, where time alone opens that gate.
    why: str = ""
    until: str | None = None
    verdicts: tuple[VerdictPart, ...] = ()


class GroupCounts(Part, frozen=True):
    """The targets of a group, by what they are doing."""

    waiting: int
    in_flight: int
    soaking: int
    done: int
    failed: int
    ignored: int


class GroupDoc(Part, frozen=True):
    """Targets that go together."""

    name: str
    index: int
    status: str
    counts: GroupCounts


class HistoryEntry(Part, frozen=True):
    """One entry of a journal."""

    seq: int
    at: str
    by: str
    what: str
    target: str
    line: str


class RolloutItem(Part, frozen=True):
    """One partition, in a list."""

    id: str
    kind: str
    summary: str
    breached: bool
    recheck_after: float | None
    revision: str
    # Targets by what they are doing.
    counts: dict[str, int]
    groups: tuple[GroupDoc, ...]
    # What only some kinds have: strategy, lastGood.
    more: dict[str, str]
    worker: PartitionWorker
    # Targets that failed with this revision and were returned since; their states are of now.
    returned: int = 0

    @property
    def was_removed(self) -> bool:
        """Whether its source lists it no more though it had not ended."""
        return self.worker.left and self.summary != "Succeeded"


class RolloutList(Document, frozen=True, kw_only=True):
    """What is going out, of every kind, and how far it is."""

    items: tuple[RolloutItem, ...]
    # Those that a worker leads and cannot see, and of which nothing is known.
    unseen: tuple[PartitionWorker, ...] = ()
    # Of a moment of the past: those whose entries of then were dropped.
    unknown: tuple[str, ...] = ()


class PlannedClaim(Part, frozen=True):
    """A place of a budget or mutex that is taken before a target starts."""

    name: str
    place: int
    target: str


class RolloutDetails(Document, frozen=True, kw_only=True):
    """One partition in full."""

    id: str
    summary: str
    headline: str
    revision: str
    recheck_after: float | None
    paused: bool
    groups: tuple[GroupDoc, ...]
    targets: tuple[TargetDoc, ...]
    # The moment it is decided for.
    at: str
    history: tuple[HistoryEntry, ...] = ()
    stopped_by: str = ""
    origin: str = ""
    # Changes that people requested and that are not carried out yet, the oldest first.
    requests: tuple[RequestDoc, ...] = ()
    # Places to be taken before anything that starts now.
    claims: tuple[PlannedClaim, ...] = ()
    # Targets in no group, which are removed.
    unplaced: tuple[TargetDoc, ...] = ()
    # What is probably a mistake in what was read.
    warnings: tuple[str, ...] = ()
    # Null: it is not in a journal.
    worker: PartitionWorker | None = None


class TargetDetails(Document, frozen=True, kw_only=True):
    """One target of a partition, with every gate."""

    rollout: str
    # The moment it is decided for.
    at: str
    target: TargetDoc
    stopped_by: str = ""
    origin: str = ""
    # Other partitions that the target is in.
    also_in: tuple[str, ...] = ()
    # What is probably a mistake in what was read.
    warnings: tuple[str, ...] = ()
    # Null: it is not in a journal.
    worker: PartitionWorker | None = None


class StatusReport(Document, frozen=True, kw_only=True):
    """Per kind how many targets move, wait and failed; and what needs a person."""

    kinds: dict[str, dict[str, int]]
    needs: dict[str, int]
    # Which worker leads what, by partition; of a moment of the past, it is not known.
    workers: tuple[PartitionWorker, ...]
    # When it was asked, or the moment of the past that it is about.
    at: str
    # Workers that lead nothing, and take over what another leaves.
    standbys: tuple[StandbyWorker, ...] = ()
    # Of a moment of the past: partitions whose entries of then were dropped.
    unknown: tuple[str, ...] = ()


class RolloutDates(Document, frozen=True, kw_only=True):
    """The expected dates of the targets of a partition."""

    rollout: str
    # How long a change is expected to take, and how that is known.
    apply_time: str
    apply_time_from: str
    items: tuple[TargetDates, ...]
    # Null: it is not in a journal.
    worker: PartitionWorker | None = None


def group_part(row: GroupRow) -> GroupDoc:
    """One group."""
    counts = GroupCounts(
        waiting=row.waiting,
        in_flight=row.updating,
        soaking=row.soaking,
        done=row.done,
        failed=row.failed,
        ignored=row.ignored,
    )
    return GroupDoc(name=row.name, index=row.index, status=row.status, counts=counts)


class TargetParts:
    """Targets as parts; what their verdicts and options share is made once."""

    def __init__(self) -> None:
        self._verdicts = VerdictParts()
        self._options: dict[int, tuple[OptionRow, OptionDoc]] = {}

    def one(self, row: TargetRow) -> TargetDoc:
        """One target."""
        shut = None if row.shut is None else self._verdicts.one(row.shut)
        return TargetDoc(
            name=row.name,
            state=row.state,
            group=row.group,
            revision=row.revision,
            next=row.next,
            status=row.status,
            since=instant_text(row.since),
            starts=row.starts,
            why="" if shut is None else shut.message,
            until=None if shut is None else shut.until or None,
            estimate=shut is not None and shut.estimate,
            options=tuple(map(self._option, row.options)),
        )

    def _option(self, row: OptionRow) -> OptionDoc:
        known = self._options.get(id(row))
        if known is None:
            verdicts = self._verdicts.of(row.verdicts)
            made = OptionDoc(change=row.change, starts=row.starts, verdicts=verdicts)
            known = self._options[id(row)] = (row, made)
        return known[1]


def request_doc(row: RequestRow) -> RequestDoc:
    """One request."""
    shut = None if row.shut is None else verdict_part(row.shut)
    return RequestDoc(
        id=row.ident,
        change=row.change,
        state=row.state,
        by=row.by,
        at=format_instant(row.at),
        reason=row.reason,
        targets=row.targets,
        starts=row.starts,
        why="" if shut is None else shut.message,
        until=None if shut is None else shut.until or None,
        verdicts=tuple(map(verdict_part, row.verdicts)),
    )


def seconds_to(moment: Instant | None, now: Instant) -> float | None:
    """How long to wait, in seconds, rounded up to the millisecond."""
    return None if moment is None else -(-(moment - now) // MILLISECOND) / 1000


def recheck_of(view: PartitionView) -> float | None:
    """How long until time alone changes a verdict."""
    return seconds_to(view.recheck_at, view.now)
