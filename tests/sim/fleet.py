"""A fleet with a truth of its own: clusters that take a change well, badly, late, or not at all.

What a cluster truly runs is kept apart from what it reports, so that laws can be held against the
truth. Whether statuses name their revision is a habit of the whole fleet: some systems do not say.
"""

import random
from dataclasses import dataclass, field

from tests.sim.generator import Labels
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Instant

MINUTE = 60 * SECOND
GONE = -1
# How a change ends, in shares of a hundred: most go well, or nothing interesting ever gets far.
FATES = (
    *("well",) * 74,
    *("fails",) * 8,
    *("late",) * 7,
    *("silent",) * 6,
    *("undated",) * 3,
    *("odd",) * 2,
)


@dataclass
class Cluster:
    """One cluster: what it truly does, and what it says."""

    name: str
    group: int
    # What it was last asked to run; None: nothing yet.
    runs: str | None = None
    begun_at: Instant | None = None
    # When the change under way ends, and as what; None: it has ended, or never will.
    ends_at: Instant | None = None
    ends_as: Status = Status.Succeeded
    ended_at: Instant | None = None
    # What it reports; the mark is the revision it says its status speaks of.
    status: Status = Status.ToApply
    since: Instant | None = None
    mark: str | None = None
    undated: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether it is truly in the middle of a change."""
        return self.begun_at is not None and self.ended_at is None


@dataclass
class Fleet:
    """All clusters, and the lots their fates are drawn from."""

    rng: random.Random
    marks: bool
    labels: Labels = field(default_factory=dict)
    clusters: dict[str, Cluster] = field(default_factory=dict)

    def join(self, name: str, group: int) -> None:
        """A cluster appears that has never been given anything."""
        self.clusters[name] = Cluster(name, group)
        self.labels[name] = {
            "region": self.rng.choice(("eu", "us", "ap")),
            "wave": self.rng.choice(("1", "2", "10")),
            **({"flaky": "yes"} if self.rng.random() < 0.2 else {}),
        }

    def settle(self, name: str, revision: str, now: Instant) -> None:
        """A cluster has been running a revision for a while."""
        one = self.clusters[name]
        one.runs, one.mark, one.begun_at = revision, revision, now
        one.status, one.since, one.ended_at = Status.Succeeded, now, now

    def apply(self, name: str, revision: str, now: Instant, *, back: bool = False) -> None:
        """Hand a revision to a cluster; what it was doing before is dropped."""
        one = self.clusters[name]
        fate = "well" if back and self.rng.random() < 0.8 else self.rng.choice(FATES)
        one.runs, one.begun_at, one.ended_at = revision, now, None
        one.mark = revision if self.marks or back else None
        one.status, one.since = Status.Progressing, now
        takes = self.rng.choice((1, 20, 60, 60, 180, 300)) * SECOND
        if fate == "late":
            takes += 20 * MINUTE
        one.undated = fate == "undated"
        one.ends_as = Status.Failed if fate == "fails" else Status.Succeeded
        one.ends_at = None if fate in ("silent", "odd") else Instant(now + takes)
        if fate == "odd":
            one.status = Status.Unknown

    def tick(self, now: Instant) -> None:
        """Let every change end whose time has come."""
        for one in self.clusters.values():
            if one.ends_at is not None and one.ends_at <= now:
                one.status, one.ended_at = one.ends_as, one.ends_at
                one.since = None if one.undated else one.ends_at
                one.ends_at = None

    def forget(self, name: str) -> None:
        """What it reported is void; what it runs is not."""
        one = self.clusters[name]
        one.status, one.since, one.mark = Status.ToApply, None, None

    def relabel(self, revision: str | None) -> None:
        """An answer that names no revision is for this one."""
        for one in self.clusters.values():
            if one.mark is None and one.status is not Status.ToApply:
                one.mark = revision

    def reports(self) -> tuple[Target, ...]:
        """What the clusters say of themselves; silence of those never asked for anything."""
        return tuple(
            Target(
                one.name,
                one.status,
                one.since,
                one.mark,
                word="Odd" if one.status is Status.Unknown else "",
            )
            for one in self.clusters.values()
            if one.status is not Status.ToApply
        )

    def next_at(self) -> Instant | None:
        """When the next change ends."""
        return min(
            (o.ends_at for o in self.clusters.values() if o.ends_at is not None), default=None
        )
