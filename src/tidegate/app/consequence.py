"""What follows at once if something is recorded: decided as if it were, and held against now."""

from collections import Counter
from collections.abc import Iterable

from msgspec import field

from tidegate.app.partitions.decision import Decision
from tidegate.explain.view import PartitionView, TargetRow
from tidegate.model.document import Part

# How an option says that it leads back.
_BACK = "return "


class AskConsequence(Part, frozen=True, kw_only=True):
    """Targets that a request, or a brake lifted, moves as soon as a worker acts on it, by group."""

    # Those that start, and had not without it.
    starts: dict[str, int] = field(default_factory=dict)
    # Those that go back, and what they go back to.
    returns: dict[str, int] = field(default_factory=dict)
    returns_to: str = ""
    # Those that wait again, and had been done, in progress or failed.
    again: dict[str, int] = field(default_factory=dict)

    @property
    def moved(self) -> int:
        """How many targets it moves, at once or in turn."""
        some = (*self.starts.values(), *self.returns.values(), *self.again.values())
        return sum(some)


class PartitionRelease(Part, frozen=True, kw_only=True):
    """What follows in one partition."""

    partition: str
    # Targets that a brake covers which is lifted, and that wait for their turn then.
    waiting: int
    # What starts, goes back or begins again as soon as a worker acts.
    leads_to: AskConsequence


def consequence(one: Decision, then: Decision | None) -> AskConsequence:
    """What follows in a partition if it is decided otherwise; None: it is not known then."""
    return AskConsequence() if then is None else difference(one.view, then.view)


def difference(before: PartitionView, after: PartitionView) -> AskConsequence:
    """What moves in one decision, and did not in another."""
    back = {name: way for name, way in _ways_back(after).items() if name not in _ways_back(before)}
    over = {each.name for each in before.targets if not each.waits}
    started = {each.name for each in before.targets if each.starts}
    return AskConsequence(
        starts=_by_group(
            each for each in after.targets if each.starts and each.name not in started | back.keys()
        ),
        returns=_by_group(each for each in after.targets if each.name in back),
        returns_to=", ".join(sorted(set(back.values()))),
        again=_by_group(
            each for each in after.targets if each.waits and not each.starts and each.name in over
        ),
    )


def _ways_back(view: PartitionView) -> dict[str, str]:
    """Targets that go back at once, and to what."""
    return {
        each.name: option.change.removeprefix(_BACK)
        for each in view.targets
        for option in each.options
        if option.starts and option.change.startswith(_BACK)
    }


def _by_group(rows: Iterable[TargetRow]) -> dict[str, int]:
    return dict(Counter(each.group for each in rows))
