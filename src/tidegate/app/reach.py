"""Which targets a brake covers, partition by partition, of every kind."""

import msgspec

from tidegate.app.journals import Decision, Journals
from tidegate.gates.brakes import Brakes, Coverages
from tidegate.gates.scope import kind_of


class Reach(msgspec.Struct):
    """The targets of one partition that a brake covers."""

    partition: str
    # What goes out; None: each target has its own.
    revision: str | None = None
    waiting: list[str] = []
    moving: list[str] = []
    others: int = 0
    # What was asked for and has not begun, by target: it can be withdrawn.
    ahead: dict[str, str] = {}

    @property
    def targets(self) -> int:
        """How many targets it covers."""
        return len(self.waiting) + len(self.moving) + self.others


def reach_of(journals: Journals, field: str, brakes: Brakes) -> tuple[list[Reach], set[str]]:
    """The targets that a brake covers, or may cover; and the names of all targets there are."""
    found: list[Reach] = []
    names: set[str] = set()
    for one in journals.all():
        reach, mine = _reach(one, field, brakes)
        names |= mine
        if reach.targets:
            found.append(reach)
    return found, names


def _reach(one: Decision, field: str, brakes: Brakes) -> tuple[Reach, set[str]]:
    brakes = msgspec.structs.replace(brakes, kind=kind_of(one.partition))
    coverages = Coverages(brakes, one.rules.labels(one.state))
    view = one.view
    reach = Reach(one.partition, view.revision or None)
    for row in view.targets:
        coverage = coverages.of(row.name)
        if not getattr(coverage.surely, field) and not getattr(coverage.perhaps, field):
            continue
        if row.withdrawable:
            reach.ahead[row.name] = row.withdrawable
        if row.waits:
            reach.waiting.append(row.name)
        elif row.state == "Updating":
            reach.moving.append(row.name)
        else:
            reach.others += 1
    return reach, {row.name for row in view.targets}
