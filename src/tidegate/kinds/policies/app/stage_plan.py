"""How policies are staged on a hub: a plan that writes nothing, taking over, and handing back."""

from collections import Counter
from collections.abc import Iterable

from tidegate.kinds.policies.core.names import own_placement, revision_map, wave_name
from tidegate.kinds.policies.core.waves import StageWay
from tidegate.kinds.policies.fleet import WORD, PolicyFleet
from tidegate.kinds.policies.hub.set_view import SetView, parts_of
from tidegate.kinds.policies.hub.view import PolicyView
from tidegate.kinds.policies.hub.wave_view import WaveView
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.counted import counted
from tidegate.model.document import Document, Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem


class PolicyGroup(Part, frozen=True, kw_only=True):
    """A decision group, and what its clusters have."""

    name: str
    index: int
    placement: str
    clusters: int
    # How many have the wanted revision, or are enforced with the content that is there now.
    given: int


class PolicyStagePlan(Document, frozen=True, kw_only=True):
    """What staging a policy means: nothing is written."""

    policy: str
    # staged: revisions go out; waves: enforcement does.
    stage: str
    # The policies that go together; more than one in a set only.
    policies: list[str]
    # absent, plain or staged; in waves inform or enforce.
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
    # adopted, left or taken back.
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
            view = await fleet.any_view(partition)
            items.append(wave_plan(view) if isinstance(view, WaveView) else stage_plan(view))
        except UserError as error:
            name = partition.removeprefix(f"{WORD}/")
            problems = [each.text() for each in error.problems]
            refused.append(PolicyProblem(policy=name, problems=problems))
    return PolicyStagePlanList(items=items, refused=refused)


def stage_plan(view: PolicyView | SetView) -> PolicyStagePlan:
    """How one policy, or one set, is staged."""
    rollout, wanted = view.rollout, view.revision_name
    each = list(parts_of(view).values())
    absent = all(one.root is None for one in each)
    return PolicyStagePlan(
        policy=rollout.name,
        stage=rollout.stage.value,
        policies=[one.rollout.policy for one in each],
        root="staged" if view.staged else "absent" if absent else "plain",
        source="/".join(filter(None, (rollout.source_namespace, rollout.source_name))),
        revision=wanted,
        last_good=view.last_good,
        groups=_groups(view.groups, {name for name, has in view.given.items() if has == wanted}),
        writes=_writes(view, each),
        warnings=[one.text() for one in view.warnings],
        gaps=list(view.reading.gaps),
    )


def _groups(groups: Iterable[Membership], given: set[str]) -> list[PolicyGroup]:
    """Groups, and how many of their clusters have what goes out."""
    return [
        PolicyGroup(
            name=each.name,
            index=each.index,
            placement=each.placement,
            clusters=len(each.clusters),
            given=len(given.intersection(each.clusters)),
        )
        for each in groups
    ]


def _writes(view: PolicyView | SetView, views: list[PolicyView]) -> list[str]:
    """The objects of a take-over, in their order; none once all are staged."""
    plain = [each for each in views if not each.staged]
    if not plain:
        return []
    based = [each for each in plain if each.baseline is not None]
    found = [f"configmap {revision_map(e.rollout.policy, e.baseline_name)}" for e in based]
    subject = view.rollout.bound_as
    if isinstance(view, SetView) and view.baseline_name:
        found.append(f"configmap {revision_map(subject, view.baseline_name)}")
    count = len(frozenset().union(*(each.reached for each in based)))
    found += [f"{count} pointers"] if count else []
    found.append(f"placement {own_placement(subject)} with {count} clusters")
    found += [f"placementbinding {each.name}" for each in views[0].bindings]
    return [*found, *(f"policy {each.rollout.policy}" for each in plain)]


def wave_plan(view: WaveView) -> PolicyStagePlan:
    """How one policy, or one set, is enforced in waves."""
    rollout, own = view.rollout, wave_name(view.rollout.subject)
    given = {name for name, grant in view.grants.items() if grant.content == view.content}
    return PolicyStagePlan(
        policy=rollout.name,
        stage=rollout.stage.value,
        policies=sorted(view.policies),
        root="enforce" if view.is_enforced else "inform",
        source=f"{rollout.namespace}/{rollout.subject}",
        revision=view.revision,
        last_good=view.last_good,
        groups=_groups(view.reading.groups, given),
        writes=[]
        if view.bound
        else [f"placement {own} without clusters", f"placementbinding {own}"],
        warnings=[*_edits(view), *(each.text() for each in view.warnings)],
        gaps=list(view.reading.gaps),
    )


def _edits(view: WaveView) -> list[str]:
    """What an edit of the content means now, and has meant already."""
    count = counted(len(view.grants), "enforced cluster") if view.grants else "enforced clusters"
    found = [f"an edit of the content reaches {count} at once, and starts the count again"]
    if view.edited:
        count = counted(len(view.edited), "cluster")
        found.append(
            f"{count} got an edit of the content at once (first: {min(view.edited)}); "
            "each is taken back and enforced anew in its turn"
        )
    return found


async def adopt_policy(fleet: PolicyFleet, name: str) -> PolicyHandOver:
    """Take a policy over in place."""
    partition = f"{WORD}/{named(name)}"
    revision = await fleet.adopt(partition)
    view = await fleet.view(partition)
    return _handed(view, "adopted", revision, len(view.pointers))


async def leave_policy(fleet: PolicyFleet, name: str, *, take_back: bool = False) -> PolicyHandOver:
    """Hand a policy back; `take_back`: with every cluster informing that waves have enforced."""
    partition = f"{WORD}/{named(name)}"
    rollout = await fleet.rollout(partition)
    if rollout.stage is StageWay.WAVES:
        return _left_waves(await fleet.leave_waves(partition, back=take_back), take_back)
    if take_back:
        problem = Problem(f"{rollout.origin}: spec.stage", "is staged", "only waves are taken back")
        raise UserError((problem,))
    clusters = len((await fleet.view(partition)).replicas)
    revision = await fleet.leave(partition)
    return _handed(await fleet.view(partition), "left", revision, clusters)


def _left_waves(view: WaveView, take_back: bool) -> PolicyHandOver:
    was = view.is_enforced or (view.grants and not take_back)
    return PolicyHandOver(
        policy=view.rollout.name,
        outcome="taken back" if take_back else "left",
        revision=view.revision if was else view.last_good,
        clusters=len(view.decided),
    )


def _handed(
    view: PolicyView | SetView, outcome: str, revision: str, clusters: int
) -> PolicyHandOver:
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
