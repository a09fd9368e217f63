"""The documents of questions that every kind answers; names of fields are API."""

from tidegate.explain.verdict_part import VerdictPart, verdict_part
from tidegate.explain.view import GroupRow, OptionRow, PartitionView, TargetRow
from tidegate.model.document import Document, Part
from tidegate.model.time import MILLISECOND, Instant, format_instant


class OptionDoc(Part, frozen=True, omit_defaults=True):
    """One thing that could be done to a target."""

    change: str = ""
    starts: bool = False
    verdicts: tuple[VerdictPart, ...] = ()


class TargetDoc(Part, frozen=True, omit_defaults=True):
    """One target: where it is, and what every gate says of each option."""

    name: str
    state: str
    group: str = ""
    revision: str = ""
    next: str = ""
    since: str | None = None
    starts: bool = False
    options: tuple[OptionDoc, ...] = ()


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
    counts: dict[str, int]
    groups: tuple[GroupDoc, ...]


class RolloutList(Document, frozen=True):
    """What is going out, of every kind, and how far it is."""

    items: tuple[RolloutItem, ...]


class RolloutDetails(Document, frozen=True):
    """One partition in full."""

    id: str
    summary: str
    headline: str
    revision: str
    recheck_after: float | None
    paused: bool
    groups: tuple[GroupDoc, ...]
    targets: tuple[TargetDoc, ...]
    history: tuple[HistoryEntry, ...] = ()
    stopped_by: str = ""
    origin: str = ""


class TargetDetails(Document, frozen=True):
    """One target of a partition, with every gate."""

    rollout: str
    target: TargetDoc
    stopped_by: str = ""
    origin: str = ""


class StatusReport(Document, frozen=True):
    """Per kind how many targets move, wait and failed; and what needs a person."""

    kinds: dict[str, dict[str, int]]
    needs: dict[str, int]


class TargetDates(Part, frozen=True):
    """When a target is expected to start and to be done."""

    target: str
    group: str
    starts_at: str | None
    done_at: str | None
    depends_on: tuple[str, ...]
    # What no clock opens; None: nothing.
    held_by: str | None


class RolloutDates(Document, frozen=True):
    """The expected dates of the targets of a partition."""

    items: tuple[TargetDates, ...]


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


def target_part(row: TargetRow) -> TargetDoc:
    """One target."""
    return TargetDoc(
        name=row.name,
        state=row.state,
        group=row.group,
        revision=row.revision,
        next=row.next,
        since=None if row.since is None else format_instant(row.since),
        starts=row.starts,
        options=tuple(_option(each) for each in row.options),
    )


def _option(row: OptionRow) -> OptionDoc:
    verdicts = tuple(verdict_part(each) for each in row.verdicts)
    return OptionDoc(change=row.change, starts=row.starts, verdicts=verdicts)


def seconds_to(moment: Instant | None, now: Instant) -> float | None:
    """How long to wait, in seconds, rounded up to the millisecond."""
    return None if moment is None else -(-(moment - now) // MILLISECOND) / 1000


def recheck_of(view: PartitionView) -> float | None:
    """How long until time alone changes a verdict."""
    return seconds_to(view.recheck_at, view.now)
