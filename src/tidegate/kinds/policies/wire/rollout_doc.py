"""The Rollout object: how a policy's revisions go out, in the words of the design it comes from.

    apiVersion: tidegate.dev/v1alpha1
    kind: Rollout
    metadata: {namespace: policies, name: web}
    spec:
      policy: web                          # the root, in the same namespace
      source: {namespace: web-source}      # where its author keeps it, unbound
      rolloutStrategy: {type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 30m}}
      decisionGroups: [{groupName: dev, rolloutApproved: true}]

Where such an object is not welcome, an author's Policy has the same fields in the annotation
`tidegate.dev/rollout`, with the namespace of the root as `namespace`; approvals are then given by
`tidegate approve` alone. `crd.yaml` is the schema of the object; a test holds both equal.
"""

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.documents.reader import Reader
from tidegate.kinds.policies.core.compliance import InformEnd
from tidegate.kinds.policies.core.names import full_name
from tidegate.kinds.rollouts.core.strategy import Strategy
from tidegate.kinds.rollouts.wire.strategy_doc import read_strategy
from tidegate.model.problem import Problems, shown


class GroupKeeping(enum.Enum):
    """Who forms the groups."""

    STABLE = "stable"  # as the scheduler did first; later no cluster moves that need not
    SCHEDULER = "scheduler"  # as the scheduler has them now


class PolicyRollout(msgspec.Struct, frozen=True):
    """How the revisions of one policy go out."""

    # The root Policy.
    namespace: str
    policy: str
    # The author's Policy.
    source_namespace: str
    source_name: str
    strategy: Strategy
    # Approved groups by name; `ungrouped` is for clusters in no group of a name.
    approved: frozenset[str] = frozenset()
    ungrouped: bool = False
    # The version that approvals are for; None: every one.
    approvals_for: str | None = None
    # The rollout to be retried, by its identity; empty: none.
    retry_uid: str = ""
    retry_failed_only: bool = False
    paused: bool = False
    inform: InformEnd = InformEnd.EVALUATED
    membership: GroupKeeping = GroupKeeping.STABLE
    # Where it is written.
    origin: str = ""

    @property
    def name(self) -> str:
        """The root as its replicas are called."""
        return full_name(self.namespace, self.policy)


def read_policy_rollout(document: Mapping[str, Any], problems: Problems) -> PolicyRollout:
    """A Rollout object as a hub has it; its status is not read."""
    reader = Reader(document, "", problems)
    metadata = reader.child("metadata")
    namespace, name = metadata.text("namespace") or "", metadata.text("name") or ""
    origin = f"rollout/{namespace}/{name}"
    return _read(reader.child("spec"), namespace, "", origin)


def read_annotation(
    fields: Mapping[str, Any], namespace: str, name: str, problems: Problems
) -> PolicyRollout:
    """The fields in an annotation of an author's Policy, of that namespace and name."""
    reader = Reader(fields, "", problems)
    root = reader.text("namespace")
    if not root:
        problems.add("namespace", "missing", "write the namespace in which the root policy is")
    for each in ("source", "decisionGroups", "ungrouped", "approvalsForVersion", "retryRollout"):
        if reader.has(each):
            remedy = "the policy itself is the source" if each == "source" else "use the commands"
            problems.add(each, "not in an annotation", remedy)
    origin = f"policy/{namespace}/{name}"
    found = _read(reader, root or "", name, origin)
    return msgspec.structs.replace(found, source_namespace=namespace, source_name=name)


def _read(reader: Reader, namespace: str, policy: str, origin: str) -> PolicyRollout:
    problems = reader.problems
    named = reader.text("policy") or policy
    if not named:
        problems.add(reader.at("policy"), "missing", "name the root policy")
    source = reader.child("source")
    home, source_name = source.text("namespace") or "", source.text("name") or named
    if not policy and not home:
        problems.add(
            source.at("namespace"),
            "missing",
            "name the namespace in which the author keeps the policy, unbound",
        )
    if home and (home, source_name) == (namespace, named):
        problems.add(
            source.path,
            "the author's policy is the root itself",
            "keep it in a namespace of its own: an edit of the root reaches every cluster at once",
        )
    source.close()
    if not reader.has("rolloutStrategy"):
        problems.add(reader.at("rolloutStrategy"), "missing", 'write at least {"type": "All"}')
    groups, ungrouped = reader.children("decisionGroups"), reader.child("ungrouped")
    retry = reader.child("retryRollout")
    found = PolicyRollout(
        namespace=namespace,
        policy=named,
        source_namespace=home,
        source_name=source_name,
        strategy=read_strategy(reader.child("rolloutStrategy")),
        approved=frozenset(filter(None, map(_approved, groups))),
        ungrouped=ungrouped.flag("rolloutApproved"),
        approvals_for=reader.text("approvalsForVersion") or None,
        retry_uid=retry.text("rolloutUID") or "",
        retry_failed_only=retry.flag("failedOnly"),
        paused=reader.flag("paused"),
        inform=reader.choice("informSucceeds", InformEnd, InformEnd.EVALUATED),
        membership=reader.choice("grouping", GroupKeeping, GroupKeeping.STABLE),
        origin=origin,
    )
    ungrouped.close()
    retry.close()
    reader.close()
    return found


def _approved(reader: Reader) -> str | None:
    """The name of a group, if it is approved."""
    name, approved = reader.text("groupName"), reader.flag("rolloutApproved")
    reader.close()
    if not name:
        reader.problems.add(reader.at("groupName"), f"{shown(name)} names no group", "name it")
    return name if approved else None
