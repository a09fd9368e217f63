"""The facts of pipelines: what was read, deployed, executed, reported, requested and lifted.

    PipelineRead       what saas files say, where it differs from before
    DeploymentsSeen    targets were deployed, and it went well or did not
    RunsSeen           how shards that depend on publishers ran a version
    SlosSeen           which SLOs are met
    EvidenceReported   a person or a program reports a result of a version, under a name
    QuarantineLifted   a person lets a version go on that failed
    BisectConfirmed    a person lets an intermediate version on stage, to find what broke another
    RequestsSeen       the merge requests of the pipeline, where they differ from before

The partition is `channels/NAME`, the targets are the subscribers of that pipeline.
"""

from collections import Counter

from tidegate.git.history import SHORT
from tidegate.journal.fact import Fact, because, register, some_names
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.model import ShardRuns, SloState
from tidegate.kinds.promotions.core.channels.pipeline import Pipeline
from tidegate.kinds.promotions.core.channels.sources import (
    BlockedVersion,
    CommitRange,
    SaasPublisher,
    SaasSubscriber,
    SloDocument,
)
from tidegate.kinds.promotions.core.requests.model import (
    DeclinedRequest,
    FailedBatch,
    SeenRequest,
)


class PipelineRead(Fact, frozen=True, tag="pipelineRead", kw_only=True, omit_defaults=True):
    """The bundle was read; None: as before."""

    pipeline: Pipeline | None = None
    # The commit of the bundle.
    base: str | None = None
    # Those that are new or other than before, and the names of those that are gone.
    subscribers: tuple[SaasSubscriber, ...] = ()
    publishers: tuple[SaasPublisher, ...] = ()
    gone: tuple[str, ...] = ()
    blocked: tuple[BlockedVersion, ...] | None = None
    hotfixes: tuple[BlockedVersion, ...] | None = None
    slos: tuple[SloDocument, ...] | None = None
    unread: tuple[str, ...] | None = None
    commits: dict[str, CommitRange] | None = None

    def line(self) -> str:
        """What is new."""
        parts: list[str] = []
        if self.pipeline is not None:
            parts.append("declared")
        if self.subscribers:
            moved = (f"{each.name} at {each.ref[:SHORT]}" for each in self.subscribers)
            parts.append(f"subscribers: {some_names(moved)}")
        if self.publishers:
            wanted = (f"{e.name} to have {(e.version or e.ref)[:SHORT]}" for e in self.publishers)
            parts.append(f"publishers: {some_names(wanted)}")
        if self.gone:
            parts.append(f"gone: {some_names(self.gone)}")
        if self.unread:
            parts.append(f"unreadable: {some_names(self.unread)}")
        return "; ".join(parts) or f"read at {(self.base or '')[:SHORT] or 'the same commit'}"

    def names(self, target: str) -> bool:
        """Whether it says something new of a target."""
        mine = {each.name for each in self.subscribers} | {each.name for each in self.publishers}
        return target in mine or target in self.gone


class DeploymentsSeen(Fact, frozen=True, tag="deploymentsSeen", kw_only=True, omit_defaults=True):
    """Targets were deployed."""

    deployments: tuple[DeploymentSeen, ...]
    # Where it was seen: inventory, webhook, state store.
    source: str

    def line(self) -> str:
        """Which versions, and how it went."""
        some = (
            f"{each.target} {each.version[:SHORT]} {'good' if each.good else 'failed'}"
            f"{because(each.why)}"
            for each in self.deployments
        )
        return f"deployed ({self.source}): {some_names(some)}"

    def names(self, target: str) -> bool:
        """Whether a target is among them."""
        return any(each.target == target for each in self.deployments)


class RunsSeen(Fact, frozen=True, tag="runsSeen", kw_only=True, omit_defaults=True):
    """How the shards that depend on publishers ran, by publisher."""

    runs: dict[str, ShardRuns]

    def line(self) -> str:
        """How often, and what fails."""
        some = (
            f"{name} {each.version[:SHORT]}: {each.clean} clean runs on {each.shards} shards"
            + (f", failing {some_names(each.failing)}" if each.failing else "")
            for name, each in self.runs.items()
        )
        return f"executed: {some_names(some)}"

    def names(self, target: str) -> bool:
        """Whether a target is among them."""
        return target in self.runs


class SlosSeen(Fact, frozen=True, tag="slosSeen", kw_only=True, omit_defaults=True):
    """What is known of SLO documents, by name."""

    slos: dict[str, SloState]

    def line(self) -> str:
        """How many of each state."""
        counts = Counter(each.value for each in self.slos.values())
        return "SLOs: " + ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))


class EvidenceReported(Fact, frozen=True, tag="evidenceReported", kw_only=True, omit_defaults=True):
    """A result of a version, under the name that a pipeline asks for."""

    version: str
    name: str
    good: bool
    reason: str = ""

    def line(self) -> str:
        """The name, the version and the result."""
        word = "good" if self.good else "bad"
        return f"{self.name} of {self.version[:SHORT]} reported {word}{because(self.reason)}"


class QuarantineLifted(Fact, frozen=True, tag="quarantineLifted", kw_only=True, omit_defaults=True):
    """A person lets a version go on that failed, and why."""

    version: str
    reason: str

    def line(self) -> str:
        """The version, and why."""
        return f"quarantine of {self.version[:SHORT]} lifted{because(self.reason)}"


class BisectConfirmed(Fact, frozen=True, tag="bisectConfirmed", kw_only=True, omit_defaults=True):
    """A person lets an intermediate version on stage, to find what broke a version."""

    # The version that failed.
    version: str
    # The publisher that it failed on, and what is written there while nothing is tried.
    target: str
    ref: str
    step: str

    def line(self) -> str:
        """What is tried where, and why."""
        tried = f"{self.step[:SHORT]} is tried on {self.target}"
        return f"{tried}, to find what broke {self.version[:SHORT]}"

    def names(self, target: str) -> bool:
        """Whether it is tried on a target."""
        return target == self.target


class RequestsSeen(Fact, frozen=True, tag="requestsSeen", kw_only=True, omit_defaults=True):
    """The merge requests of a pipeline that are open, and what those show that ended since."""

    requests: tuple[SeenRequest, ...] = ()
    # The numbers of those that were merged.
    merged: tuple[int, ...] = ()
    failed: tuple[FailedBatch, ...] = ()
    declined: tuple[DeclinedRequest, ...] = ()
    # Those of ours that were not there before, and those that were closed without a merge, with
    # the cause.
    opened: tuple[int, ...] = ()
    closed: tuple[tuple[int, str], ...] = ()

    def line(self) -> str:
        """The open ones with their checks."""
        some = (f"!{each.number} (checks: {each.check.value})" for each in self.requests)
        return f"open merge requests: {some_names(some) or 'none'}"


PIPELINE_FACTS: tuple[type[Fact], ...] = (
    PipelineRead,
    DeploymentsSeen,
    RunsSeen,
    SlosSeen,
    EvidenceReported,
    QuarantineLifted,
    BisectConfirmed,
    RequestsSeen,
)
register(*PIPELINE_FACTS)
