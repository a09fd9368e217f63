"""What a brake covers, partition by partition, of every kind; said before it is set."""

import msgspec

from tidegate.app.brakes.request import CheckedBrake
from tidegate.app.consequence import PartitionRelease
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.explain.view import TargetRow
from tidegate.gates.block import is_like
from tidegate.gates.brakes import Brakes, Coverages, named_only
from tidegate.gates.freeze import Span
from tidegate.gates.scope import kind_of
from tidegate.journal.brake_state import FIELDS
from tidegate.model.document import Document, Part
from tidegate.model.problem import nearest
from tidegate.model.time import Instant, format_instant


class PartitionReach(Part, frozen=True):
    """The targets of one partition that a brake covers."""

    partition: str
    # What goes out; null: each target has its own.
    revision: str | None = None
    waiting: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    others: int = 0
    # Whether a block stops the revision that goes out.
    blocked: bool = False
    # Targets whose change was asked for, has not begun, and is withdrawn by a block.
    withdrawn: tuple[str, ...] = ()

    @property
    def targets(self) -> int:
        """How many targets it covers."""
        return len(self.waiting) + len(self.moving) + self.others


class UnknownTarget(Part, frozen=True):
    """A target that a scope names and no rollout has."""

    name: str
    hint: str


class FreezeSpan(Part, frozen=True):
    """One time at which a freeze is on."""

    starts_at: str
    ends_at: str


class BrakeReach(Document, frozen=True, kw_only=True):
    """What a brake covers, before it is set."""

    brake: str
    name: str
    targets: int
    rollouts: tuple[PartitionReach, ...]
    unknown: tuple[UnknownTarget, ...] = ()
    # Of a freeze: its times to come within a year.
    times: tuple[FreezeSpan, ...] = ()
    # Of one that replaces another: what moves because the other is gone.
    releases: tuple[PartitionRelease, ...] = ()


def brake_reach(journals: Journals, checked: CheckedBrake) -> BrakeReach:
    """The targets that a brake covers, or may cover, and what it stops."""
    brake, brakes = checked.request.brake, checked.brakes
    reached, names = reach_of(journals, FIELDS[brake], brakes)
    named = getattr(brakes, FIELDS[brake])[0].scope.targets or frozenset()
    return BrakeReach(
        brake=brake,
        name=checked.request.name,
        targets=sum(each.targets for each in reached),
        rollouts=tuple(reached),
        unknown=tuple(
            UnknownTarget(name=name, hint=nearest(name, names) or "it is covered once there is one")
            for name in sorted(named - names)
        ),
        times=tuple(
            FreezeSpan(starts_at=format_instant(each.start), ends_at=format_instant(each.end))
            for each in spans_ahead(brakes, journals.now)
        ),
    )


def spans_ahead(brakes: Brakes, now: Instant) -> tuple[Span, ...]:
    """The times of a freeze that are not past."""
    return tuple(span for each in brakes.freezes for span in each.spans if span.end > now)


def reach_of(
    journals: Journals, field: str, brakes: Brakes
) -> tuple[list[PartitionReach], set[str]]:
    """The targets that a brake covers, or may cover; and the names of all targets there are."""
    found: list[PartitionReach] = []
    names: set[str] = set()
    for one in journals.all():
        reach, mine = _reach(one, field, brakes)
        names |= mine
        if reach.targets:
            found.append(reach)
    return found, names


def covered_rows(one: Decision, field: str, brakes: Brakes) -> list[TargetRow]:
    """The targets of a partition that a brake covers, or may cover."""
    named = named_only(brakes)
    if named is not None and named.isdisjoint(one.names):
        return []
    brakes = msgspec.structs.replace(brakes, kind=kind_of(one.partition))
    coverages = Coverages(brakes, one.rules.labels(one.state))
    return [
        row
        for row in one.view.targets
        if getattr((of := coverages.of(row.name)).surely, field) or getattr(of.perhaps, field)
    ]


def _reach(one: Decision, field: str, brakes: Brakes) -> tuple[PartitionReach, frozenset[str]]:
    view, covered = one.view, covered_rows(one, field, brakes)
    waiting = tuple(row.name for row in covered if row.waits)
    moving = tuple(row.name for row in covered if not row.waits and row.state == "Updating")
    reach = PartitionReach(
        partition=one.partition,
        revision=view.revision or None,
        waiting=waiting,
        moving=moving,
        others=len(covered) - len(waiting) - len(moving),
        blocked=bool(view.revision) and _is_blocked(view.revision, brakes),
        withdrawn=tuple(
            sorted(row.name for row in covered if _is_blocked(row.withdrawable, brakes))
        ),
    )
    return reach, one.names


def _is_blocked(revision: str, brakes: Brakes) -> bool:
    """Whether a revision, if there is one, is one that a block stops."""
    return bool(revision) and any(is_like(revision, each.revision) for each in brakes.blocks)
