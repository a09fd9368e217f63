"""The Rollout object: how a policy's revisions go out, in the words of the design it comes from.

    apiVersion: tidegate.dev/v1alpha1
    kind: Rollout
    metadata: {namespace: policies, name: web}
    spec:
      policy: web                          # the root, in the same namespace
      source: {namespace: web-source}      # where its author keeps it, unbound
      rolloutStrategy: {type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 30m}}
      decisionGroups: [{groupName: dev, rolloutApproved: true}]

With `policySet` instead of `policy`, all policies of a set go together; `source` is the namespace
in which their author keeps them. With `stage: waves`, what goes out is enforcement: the policy
itself, or every policy of a set, informs everywhere, is its author's, and has no source.

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
from tidegate.kinds.policies.core.history import HISTORY_DEFAULT
from tidegate.kinds.policies.core.names import full_name
from tidegate.kinds.policies.core.waves import StageWay
from tidegate.kinds.rollouts.core.strategy import OnNewRevision, Strategy
from tidegate.kinds.rollouts.wire.strategy_doc import read_strategy
from tidegate.model.problem import Problems, shown


class GroupKeeping(enum.Enum):
    """Who forms the groups."""

    STABLE = "stable"  # as the scheduler did first; later no cluster moves that need not
    SCHEDULER = "scheduler"  # as the scheduler has them now


class OnDrift(enum.Enum):
    """What becomes of a cluster whose pointer another moved."""

    PUT_BACK = "putBack"  # it is given what it should have, in its turn
    LEAVE = "leave"  # it stays as it is, pinned, until its pointer is removed


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
    # The group to be retried alone; empty: all of them.
    retry_group: str = ""
    paused: bool = False
    inform: InformEnd = InformEnd.EVALUATED
    membership: GroupKeeping = GroupKeeping.STABLE
    # How many revisions are kept that are not in use.
    history: int = HISTORY_DEFAULT
    on_drift: OnDrift = OnDrift.PUT_BACK
    # Where it is written.
    origin: str = ""
    stage: StageWay = StageWay.STAGED
    # The policies that go together, instead of one; empty: one policy.
    policy_set: str = ""
    # The author's Policy, where it is in a file and not on the hub.
    written: Mapping[str, Any] | None = None
    # The set that the policy goes with, for one of several; empty: it goes by itself.
    member_of: str = ""

    @property
    def name(self) -> str:
        """The root as its replicas are called; or the set, in the same way."""
        return full_name(self.namespace, self.subject)

    @property
    def subject(self) -> str:
        """What the rollout is about: a policy, or a set."""
        return self.policy_set or self.policy

    @property
    def bound_as(self) -> str:
        """What is bound to our decisions: the policy, or the set that it goes with."""
        return self.member_of or self.subject

    def member(self, policy: str) -> "PolicyRollout":
        """The same of one policy of the set."""
        return msgspec.structs.replace(
            self, policy=policy, source_name=policy, policy_set="", member_of=self.policy_set
        )


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
    waves = fields.get("stage") == StageWay.WAVES.value
    root = reader.text("namespace") or (namespace if waves else "")
    if not root:
        problems.add("namespace", "missing", "write the namespace in which the root policy is")
    elif waves and root != namespace:
        problems.add("namespace", f"{shown(root)} is not the policy's own", "drop it")
    for each, remedy in _OBJECT_ONLY.items():
        if reader.has(each):
            problems.add(each, "not in an annotation", remedy)
    origin = f"policy/{namespace}/{name}"
    found = _read(reader, root, name, origin)
    return msgspec.structs.replace(found, source_namespace=namespace, source_name=name)


# What an annotation of a policy cannot say, and what to do instead.
_OBJECT_ONLY = {
    "source": "the policy itself is the source",
    "policySet": "write a Rollout object for the set",
    "decisionGroups": "use the commands",
    "ungrouped": "use the commands",
    "approvalsForVersion": "use the commands",
    "retryRollout": "use the commands",
}


def _read(reader: Reader, namespace: str, policy: str, origin: str) -> PolicyRollout:
    problems = reader.problems
    stage = reader.choice("stage", StageWay, StageWay.STAGED)
    policy_set = reader.text("policySet") or ""
    named = reader.text("policy") or policy
    source = reader.child("source")
    home, source_name = source.text("namespace") or "", source.text("name") or named
    if stage is StageWay.STAGED:
        _check_staged(reader, namespace, (named, policy_set), (home, source_name), bool(policy))
    else:
        _check_waves(reader, named, policy_set)
    source.close()
    if not reader.has("rolloutStrategy"):
        problems.add(reader.at("rolloutStrategy"), "missing", 'write at least {"type": "All"}')
    groups, ungrouped = reader.children("decisionGroups"), reader.child("ungrouped")
    strategy = read_strategy(reader.child("rolloutStrategy"))
    if stage is StageWay.WAVES:
        # The content of before is not on the hub any more: there is nothing to finish.
        strategy = msgspec.structs.replace(strategy, on_new_revision=OnNewRevision.SUPERSEDE)
    retry, limit = reader.child("retryRollout"), reader.whole("revisionHistoryLimit")
    if not retry.text("rolloutUID") and (retry.has("failedOnly") or retry.has("group")):
        problems.add(retry.at("rolloutUID"), "missing", "name the rollout that is to be retried")
    found = PolicyRollout(
        namespace=namespace,
        policy=named,
        source_namespace=home if stage is StageWay.STAGED else namespace,
        source_name=source_name,
        strategy=strategy,
        approved=frozenset(filter(None, map(_approved, groups))),
        ungrouped=ungrouped.flag("rolloutApproved"),
        approvals_for=reader.text("approvalsForVersion") or None,
        retry_uid=retry.text("rolloutUID") or "",
        retry_failed_only=retry.flag("failedOnly"),
        retry_group=retry.text("group") or "",
        paused=reader.flag("paused"),
        inform=reader.choice("informSucceeds", InformEnd, InformEnd.EVALUATED),
        membership=reader.choice("grouping", GroupKeeping, GroupKeeping.STABLE),
        history=HISTORY_DEFAULT if limit is None else limit,
        on_drift=reader.choice("onDrift", OnDrift, OnDrift.PUT_BACK),
        origin=origin,
        stage=stage,
        policy_set=policy_set,
    )
    ungrouped.close()
    retry.close()
    reader.close()
    return found


def _check_staged(
    reader: Reader,
    namespace: str,
    names: tuple[str, str],
    source: tuple[str, str],
    annotated: bool,
) -> None:
    """What is wrong with what is to be staged, and with where its author keeps it."""
    problems, at = reader.problems, reader.at("source")
    policy, policy_set = names
    _check_subject(reader, policy, policy_set)
    if policy_set and reader.child("source").has("name"):
        remedy = "drop it: each policy of a set is called as its root is"
        problems.add(f"{at}.name", "not with a policySet", remedy)
    if not annotated and not source[0]:
        problems.add(
            f"{at}.namespace",
            "missing",
            "name the namespace in which the author keeps the policy, unbound",
        )
    if source[0] and source == (namespace, policy or source[1]):
        problems.add(
            at,
            "the author's policy is the root itself",
            "keep it in a namespace of its own: an edit of the root reaches every cluster at once",
        )


def _check_subject(reader: Reader, policy: str, policy_set: str) -> None:
    if bool(policy) == bool(policy_set):
        what = "named beside a policySet" if policy else "missing"
        reader.problems.add(reader.at("policy"), what, "name a policy, or a policySet")


def _check_waves(reader: Reader, policy: str, policy_set: str) -> None:
    """What is wrong with what is to be enforced in waves."""
    problems = reader.problems
    _check_subject(reader, policy, policy_set)
    if reader.has("source"):
        problems.add(reader.at("source"), "not with waves", "what is enforced is the root itself")
    if reader.has("informSucceeds"):
        remedy = "a wave succeeds when it is compliant"
        problems.add(reader.at("informSucceeds"), "not with waves", remedy)
    strategy = reader.raw("rolloutStrategy")
    if isinstance(strategy, Mapping) and strategy.get("onNewRevision") == "finish":
        problems.add(
            f"{reader.at('rolloutStrategy')}.onNewRevision",
            "waves cannot finish what was before: an edit reaches enforced clusters at once",
            "write supersede, or drop it",
        )


def _approved(reader: Reader) -> str | None:
    """The name of a group, if it is approved."""
    name, approved = reader.text("groupName"), reader.flag("rolloutApproved")
    reader.close()
    if not name:
        reader.problems.add(reader.at("groupName"), f"{shown(name)} names no group", "name it")
    return name if approved else None
