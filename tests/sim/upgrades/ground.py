"""What rules look at: the record, what people set, what organisations are registered with."""

from dataclasses import dataclass

from tests.sim.upgrades.brakes import Board
from tests.sim.upgrades.owners import items
from tests.sim.upgrades.record import Cluster, Policy, Record
from tidegate.model.time import SECOND, Instant

MINUTE = 60 * SECOND
DAY = 24 * 3600 * SECOND
# Nothing is asked for because of what was read longer ago: a minute, and what a look takes.
GRACE = 4 * MINUTE
START_OF_TIME = Instant(0)


@dataclass(frozen=True)
class Gate:
    """What a minor version asks to be agreed to."""

    id: str
    prefix: str
    label: str

    def binds(self, cluster: Cluster) -> bool:
        """Whether it is for such a cluster."""
        return not self.label.endswith("gate-sts") or cluster.sts


@dataclass(frozen=True)
class Terms:
    """What an organisation is registered with."""

    enforced: bool = False
    quarantine_after: int = 0
    # Whether owners are notified before an upgrade starts.
    notice: bool = False


@dataclass(frozen=True)
class Asked:
    """An upgrade that is asked for, or that could be."""

    cluster: Cluster
    pool: str
    version: str
    at: Instant
    # None: it is only wondered whether it could be.
    next_run: Instant | None = None
    # The policy it became; None: none.
    policy: Policy | None = None
    # Soak is counted up to here; None: to the moment it is asked for.
    soaked_by: Instant | None = None
    # What was surely watched: soak from before is not relied on.
    soaked_from: Instant = START_OF_TIME
    # Of every stretch that a version ran, as much may lie between two looks.
    unseen: int = 0

    @property
    def text(self) -> str:
        """As people say it."""
        part = f"/{self.pool}" if self.pool else ""
        return f"{self.cluster.name}{part} to {self.version}"


@dataclass
class Ground:
    """All that rules look at."""

    record: Record
    board: Board
    terms: dict[str, Terms]
    gates: tuple[Gate, ...]
    # How far clocks of workers are off at most, and by how much that can add up in soak.
    off: int = 0
    slack: int = 0

    def labels(self, cluster: Cluster, at: int) -> tuple[dict[str, str], dict[str, str]]:
        """Those of a cluster and of its organisation."""
        return cluster.labels.at(at), self.record.orgs[cluster.org].at(at)

    def others(self, cluster: Cluster, at: int) -> list[Cluster]:
        """The other clusters of its organisation that take part."""
        every = self.record.members(cluster.org)
        return [each for each in every if each is not cluster and each.labels.at(at)]

    def is_expedited(self, asked: Asked) -> bool:
        """Whether a person is in a hurry; also a moment after that ended."""
        return any(
            each.kind == "expedite"
            and each.concerns(asked.version)
            and each.covers(asked.cluster, asked.at)
            and each.set_at <= asked.at
            and asked.at - GRACE < min(each.end, each.lifted_at or each.end)
            for each in self.board.every
        )

    def sources(self, org: str, at: int) -> tuple[list[str], list[str]]:
        """Whose soak counts here, and who does not publish it."""
        labels = self.record.orgs
        wanted = [each for each in items(labels[org].at(at), "version-data.inherit") if each != org]
        told = {
            each
            for each in wanted
            if each in labels and org in items(labels[each].at(at), "version-data.publish")
        }
        return [each for each in wanted if each in told], [e for e in wanted if e not in told]
