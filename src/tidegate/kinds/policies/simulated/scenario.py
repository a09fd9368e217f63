"""A rehearsal of policies, typed: a hub, its clusters and agents, and what happens when."""

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.rollouts.wire.scenario_doc import SimulatedGroup
from tidegate.model.time import SECOND, Duration, Instant

NAMESPACE, SOURCE = "policies", "policies-source"
# The label that puts a cluster into its group.
GROUP_LABEL = "group"
# As simulated agents took on a real hub, and a cluster's own programs on top.
DEFAULT_ANSWER = Duration(5 * SECOND)


class PolicyVerb(enum.Enum):
    """What can happen in a rehearsal."""

    # of authors and operators
    REVISE = "revise"
    ROLLOUT = "rollout"
    APPROVE = "approve"
    REVOKE = "revoke"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    ABORT = "abort"
    # of clusters
    JOIN = "join"
    LEAVE = "leave"
    OFFLINE = "offline"
    ONLINE = "online"
    SILENCE = "silence"
    ANSWER = "answer"
    BREAK = "break"
    FIX = "fix"


# What happens to clusters, and so to every policy.
OF_CLUSTERS = frozenset(
    (
        PolicyVerb.JOIN, PolicyVerb.LEAVE, PolicyVerb.OFFLINE, PolicyVerb.ONLINE,
        PolicyVerb.SILENCE, PolicyVerb.ANSWER, PolicyVerb.BREAK, PolicyVerb.FIX,
    )
)  # fmt: skip


class Awaited(msgspec.Struct, frozen=True):
    """What has to be so: a cluster, a group or a policy in a state."""

    what: str
    name: str
    state: str


class PolicyEvent(msgspec.Struct, frozen=True):
    """Something that happens, and when."""

    verb: PolicyVerb
    # Groups, clusters, a revision, or how much is retried.
    names: tuple[str, ...] = ()
    # Of which policy; empty: of all.
    policy: str = ""
    group: str = ""
    version: str | None = None
    fields: Mapping[str, Any] = {}
    # Why a cluster breaks.
    why: str = ""
    # So long after the start; None: after the event above.
    at: Duration | None = None
    awaited: Awaited | None = None
    after: Duration = Duration(0)


class AgentManner(msgspec.Struct, frozen=True):
    """How the agent of a cluster behaves."""

    answer_min: Duration = DEFAULT_ANSWER
    answer_max: Duration = DEFAULT_ANSWER
    silent: bool = False
    # Revisions that it cannot apply, and why.
    fails: Mapping[str, str] = {}
    # Why it is NonCompliant, whatever it has; empty: it is not.
    broken: str = ""


class RehearsedPolicy(msgspec.Struct, frozen=True):
    """A policy of a rehearsal, or a set of them."""

    name: str
    # Revisions; `has` is empty where no cluster has it.
    has: str
    wants: str
    version: str | None
    rollout: Mapping[str, Any]
    # The policies of a set, each with the same revisions; empty: it is one policy.
    of: tuple[str, ...] = ()


class ExpectedStory(msgspec.Struct, frozen=True):
    """What has to be the outcome."""

    story: tuple[str, ...] = ()
    # The revisions that each cluster had, in order.
    clusters: Mapping[str, tuple[str, ...]] = {}


class PolicyScenario(msgspec.Struct, frozen=True):
    """A whole rehearsal."""

    name: str
    start: Instant
    stop_after: Duration
    groups: tuple[SimulatedGroup, ...]
    policies: tuple[RehearsedPolicy, ...]
    revisions: Mapping[str, Mapping[str, Any]]
    # More labels of some clusters.
    labels: Mapping[str, Mapping[str, str]]
    manner: AgentManner
    manners: Mapping[str, AgentManner]
    events: tuple[PolicyEvent, ...]
    expect: ExpectedStory | None
    # Clusters whose agent is a real one where the story is played on a real hub.
    real: tuple[str, ...]
    namespace: str = NAMESPACE
    source: str = SOURCE
    group_label: str = GROUP_LABEL
    # In front of the names of clusters and policies, where several stories share a hub; and
    # clusters that have another name there.
    prefix: str = ""
    aliases: Mapping[str, str] = {}

    def manner_of(self, cluster: str) -> AgentManner:
        """How the agent of a cluster behaves at first."""
        return self.manners.get(cluster, self.manner)

    def own(self, cluster: str) -> str:
        """A cluster as the hub calls it."""
        return self.aliases.get(cluster, self.prefix + cluster)

    def told(self, cluster: str) -> str:
        """A cluster of the hub as the story calls it."""
        names = {own: name for name, own in self.aliases.items()}
        return names.get(cluster, cluster.removeprefix(self.prefix))
