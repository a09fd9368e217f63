"""When the next step of a cluster starts: in every answer the date of `when`, or a bound of it."""

from collections.abc import Mapping

from tidegate.kinds.upgrades.app.read.view import UpgradeView
from tidegate.kinds.upgrades.app.read.world import WorldReading
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedStart
from tidegate.kinds.upgrades.core.foresight.forecast import first_starts
from tidegate.kinds.upgrades.core.service import RuleSet
from tidegate.model.document import Part, instant_text


class NextStart(Part, frozen=True, kw_only=True):
    """The next step of a cluster, by the same foresight as `when`: its first row there.

    Without a date and a bound nothing is expected of it within the horizon of `when`.
    """

    # Null: none is expected, or it is not known yet.
    version: str | None
    pool: str | None
    # In the past, if it is under way.
    starts_at: str | None
    # Whether the date depends on more than a calendar.
    estimate: bool
    # Nothing starts before this; `when` looks further. Null: there is a date, or there is none.
    not_before: str | None


class ClusterStarts:
    """The next steps of all clusters, worked out once for each reading that is asked about."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[WorldReading, Mapping[str, ExpectedStart]]] = {}

    def of(self, view: UpgradeView, uuid: str) -> NextStart | None:
        """That of one cluster; None: it is decided on by other rules, which foresee nothing."""
        if view.rules is not RuleSet.STRICT:
            return None
        return next_start(self.in_reading(view.reading)[uuid])

    def in_reading(self, reading: WorldReading) -> Mapping[str, ExpectedStart]:
        """Those of all clusters of a reading, by external id."""
        if id(reading) not in self._known:
            self._known[id(reading)] = (reading, first_starts(reading.world, reading.now))
        return self._known[id(reading)][1]


def next_start(one: ExpectedStart) -> NextStart:
    """One of them, as a part of a document."""
    leg = one.leg
    return NextStart(
        version=None if leg is None else leg.version,
        pool=None if leg is None else leg.pool or None,
        starts_at=None if leg is None else instant_text(leg.starts_at),
        estimate=leg is not None and leg.estimate,
        not_before=instant_text(one.not_before),
    )
