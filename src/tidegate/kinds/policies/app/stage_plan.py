"""How policies are staged on a hub: a plan that writes nothing, taking over, and handing back."""

from collections import Counter

from tidegate.kinds.policies.core.names import revision_map
from tidegate.kinds.policies.fleet import WORD, PolicyFleet
from tidegate.kinds.policies.hub.view import PolicyView
from tidegate.model.document import Document, Part
from tidegate.model.errors import UserError


class PolicyGroup(Part, frozen=True, kw_only=True):
    """A decision group, and what its clusters have."""

    name: str
    index: int
    placement: str
    clusters: int
    # How many have the wanted revision.
    given: int


class PolicyStagePlan(Document, frozen=True, kw_only=True):
    """What staging a policy means: nothing is written."""

    policy: str
    # absent, plain or staged.
    root: str
    source: str
    # What the author wants, and what most clusters have otherwise.
    revision: str
    last_good: str | None
    groups: list[PolicyGroup]
    # The objects that the first move writes, before any cluster gets another revision.
    writes: list[str]
    warnings: list[str]
    # Why the groups are not whole now.
    gaps: list[str]


class PolicyProblem(Part, frozen=True, kw_only=True):
    """A policy that cannot be staged, and why."""

    policy: str
    problems: list[str]


class PolicyStagePlanList(Document, frozen=True, kw_only=True):
    """Every policy that has a rollout."""

    items: list[PolicyStagePlan]
    refused: list[PolicyProblem]


class PolicyHandOver(Document, frozen=True, kw_only=True):
    """A policy that was taken over, or handed back; no cluster got anything else by that."""

    policy: str
    # adopted or left.
    outcome: str
    # What all clusters have; empty: no cluster has the policy.
    revision: str
    clusters: int


async def plan_staging(fleet: PolicyFleet, names: tuple[str, ...] = ()) -> PolicyStagePlanList:
    """How some policies are staged, or all of them."""
    partitions = [f"{WORD}/{named(each)}" for each in names] or await fleet.partitions()
    items: list[PolicyStagePlan] = []
    refused: list[PolicyProblem] = []
    for partition in partitions:
        try:
            items.append(stage_plan(await fleet.view(partition)))
        except UserError as error:
            name = partition.removeprefix(f"{WORD}/")
            problems = [each.text() for each in error.problems]
            refused.append(PolicyProblem(policy=name, problems=problems))
    return PolicyStagePlanList(items=items, refused=refused)


def stage_plan(view: PolicyView) -> PolicyStagePlan:
    """How one policy is staged."""
    rollout, wanted = view.rollout, view.revision.name
    return PolicyStagePlan(
        policy=rollout.name,
        root="staged" if view.staged else "absent" if view.root is None else "plain",
        source=f"{rollout.source_namespace}/{rollout.source_name}",
        revision=wanted,
        last_good=view.last_good,
        groups=[
            PolicyGroup(
                name=group.name,
                index=group.index,
                placement=group.placement,
                clusters=len(group.clusters),
                given=sum(view.given.get(each) == wanted for each in group.clusters),
            )
            for group in view.groups
        ],
        writes=_writes(view),
        warnings=[each.text() for each in view.warnings],
        gaps=list(view.reading.gaps),
    )


def _writes(view: PolicyView) -> list[str]:
    """The objects of a take-over, in their order; none once it is staged."""
    if view.staged:
        return []
    policy, baseline = view.rollout.policy, view.baseline
    found = [f"configmap {revision_map(policy, baseline.name)}"] if baseline is not None else []
    count = len({*view.members, *view.replicas}) if baseline is not None else 0
    found += [f"{count} pointers"] if count else []
    found.append(f"placement tidegate-{policy} with {count} clusters")
    found += [f"placementbinding {each.name}" for each in view.bindings]
    return [*found, f"policy {policy}"]


async def adopt_policy(fleet: PolicyFleet, name: str) -> PolicyHandOver:
    """Take a policy over in place."""
    partition = f"{WORD}/{named(name)}"
    revision = await fleet.adopt(partition)
    view = await fleet.view(partition)
    return _handed(view, "adopted", revision, len(view.pointers))


async def leave_policy(fleet: PolicyFleet, name: str) -> PolicyHandOver:
    """Hand a policy back."""
    partition = f"{WORD}/{named(name)}"
    clusters = len((await fleet.view(partition)).replicas)
    revision = await fleet.leave(partition)
    return _handed(await fleet.view(partition), "left", revision, clusters)


def _handed(view: PolicyView, outcome: str, revision: str, clusters: int) -> PolicyHandOver:
    if not revision:
        counts = Counter(view.pointers.values())
        revision = max(counts, key=lambda each: (counts[each], each), default="")
    return PolicyHandOver(
        policy=view.rollout.name, outcome=outcome, revision=revision, clusters=clusters
    )


def named(name: str) -> str:
    """A policy as people may write it: `policies/NS.NAME`, `NS/NAME` or `NS.NAME`."""
    plain = name.removeprefix(f"{WORD}/") if name.count("/") != 1 or "." in name else name
    return plain.replace("/", ".", 1)
