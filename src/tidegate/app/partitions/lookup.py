"""Which partition and which target a name means, with or without its kind; the worst first."""

from collections.abc import Iterable, Iterator

from tidegate.app.partitions.decision import Decision
from tidegate.explain.view import PartitionView, TargetRow
from tidegate.model.problem import nearest_or_all
from tidegate.model.reason import Outcome
from tidegate.model.target import bare


def target_of(view: PartitionView, name: str) -> TargetRow | None:
    """The row of a target; None: there is none."""
    return next((each for each in (*view.targets, *view.unplaced) if each.name == name), None)


def called(names: list[str], name: str) -> list[str]:
    """The partitions of a name, with or without their kind."""
    found = [one for one in names if name in (one, one.partition("/")[2])]
    if found:
        return found
    # What runs in one place only needs no place in its name.
    placed = [one for one in names if one.partition("/")[2].startswith(f"{name}@")]
    return placed if len(placed) == 1 else []


def targets_called(one: Decision, name: str) -> Iterator[TargetRow]:
    """The targets of a partition that a name means, with or without their noun."""
    names = (bare(name), name.removeprefix(f"{one.rules.target_noun}/"))
    return (row for row in one.view.targets if row.name in names)


def instead_of_rollout(name: str, every: Iterable[Decision]) -> str:
    """What to use in place of a name that no rollout has: it may be that of a target."""
    known = list(every)
    home = next((one.partition for one in known if any(targets_called(one, name))), "")
    if home:
        return f"it is a target of {home}; `tidegate why {name}` explains it"
    return nearest_or_all(name, [one.partition for one in known], "none yet")


def ease(view: PartitionView, row: TargetRow) -> tuple[int, bool]:
    """How little a target of a partition needs attention; of two alike, what has groups first."""
    stopped = row.waits and row.shut is not None and row.shut.outcome is Outcome.STOP
    if view.summary in ("Failed", "Aborted"):
        ease = 0
    elif stopped:
        ease = 1
    elif view.summary == "Succeeded":
        ease = 4
    else:
        ease = 2 if row.waits or row.starts or row.state == "Updating" else 3
    return ease, not view.groups
