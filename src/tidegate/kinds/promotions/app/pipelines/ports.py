"""What pipelines need from outside; wiring provides it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from tidegate.git.port import Repository
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.journal.facts import RequestsSeen
from tidegate.kinds.promotions.core.channels.model import ShardRuns, SloState
from tidegate.kinds.promotions.core.channels.plan import PipelinePlan, PipelineWorld
from tidegate.kinds.promotions.core.channels.sources import (
    CommitRange,
    PipelineReading,
    SloDocument,
)
from tidegate.kinds.promotions.core.requests.model import RequestAct
from tidegate.model.time import Instant


class DeploymentSource(Protocol):
    """A system that shows what was deployed."""

    @property
    def name(self) -> str:
        """As the journal names it."""
        ...

    async def read(self, reading: PipelineReading, now: Instant) -> tuple[DeploymentSeen, ...]:
        """What it shows of the targets of a pipeline; OutsideError if it does not answer."""
        ...


class ShardRunSource(Protocol):
    """Tells how the shards that depend on publishers ran their version."""

    async def read(self, reading: PipelineReading) -> Mapping[str, ShardRuns]:
        """By publisher; OutsideError if it does not answer."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class SloSource(Protocol):
    """Tells whether SLOs are met."""

    async def read(self, slos: tuple[SloDocument, ...]) -> Mapping[str, SloState]:
        """By the name of the document; one that does not answer is unknown."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class CommitSource(Protocol):
    """The history of the repositories that pipelines deploy."""

    def between(self, url: str, old: str, new: str) -> CommitRange | None:
        """The commits that the new version has and the old one has not; None: not known."""
        ...


class PipelineRequests(Protocol):
    """The merge requests of pipelines, at a forge."""

    async def read(self, reading: PipelineReading, known: Iterable[int]) -> RequestsSeen:
        """Those that are open, and what became of known ones that are not.

        OutsideError if the forge does not answer.
        """
        ...

    async def carry_out(
        self, act: RequestAct, plan: PipelinePlan, world: PipelineWorld, picture: str = ""
    ) -> str:
        """Open, change or close one, idempotent; what to note about it.

        `picture`: the address of one of the pipeline; empty: there is none.
        """
        ...


class PipelinePorts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything outside that pipelines use."""

    # The repository that the bundle is in.
    bundle: Repository
    # The newest commit of a branch of a repository elsewhere.
    read_head: Callable[[str, str], str]
    # None: how many commits lie between versions, and by whom, is not known.
    commits: CommitSource | None = None
    deployments: tuple[DeploymentSource, ...] = ()
    # None: no cluster is read.
    runs: ShardRunSource | None = None
    # None: no Prometheus is read, and every SLO is unknown.
    slos: SloSource | None = None
    # None: no forge is read, and so nothing is offered.
    requests: PipelineRequests | None = None

    async def close(self) -> None:
        """Close the sources that hold connections open."""
        for each in (self.runs, self.slos):
            if each is not None:
                await each.close()
