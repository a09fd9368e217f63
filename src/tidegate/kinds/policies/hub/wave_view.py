"""One policy, or those of one set, on a hub: what informs, what is enforced, what says so."""

from collections.abc import Iterator, Mapping

import msgspec

from tidegate.kinds.policies.core.compliance import Replica
from tidegate.kinds.policies.core.groups import DecisionPart, GroupReading
from tidegate.kinds.policies.core.names import (
    SCHEDULING_OFF,
    full_name,
    taken_back_name,
    wave_name,
)
from tidegate.kinds.policies.core.revision import Fields
from tidegate.kinds.policies.core.wave_lint import (
    check_tolerations,
    check_wave_name,
    check_wave_policy,
)
from tidegate.kinds.policies.core.waves import (
    WaveGrant,
    WaveParts,
    content_of,
    enforced,
    informed,
    read_grant,
    wave_report,
)
from tidegate.kinds.policies.hub.owners import check_set, check_upgrades
from tidegate.kinds.policies.hub.placements import placement_groups, warn_of_names
from tidegate.kinds.policies.hub.shelves import HubShelves
from tidegate.kinds.policies.hub.view import NO_CLUSTER
from tidegate.kinds.policies.wire.hub_doc import BindingState, ClusterState, is_enforced, version_of
from tidegate.kinds.policies.wire.rollout_doc import PolicyRollout
from tidegate.kubernetes.port import POLICY, POLICY_SET
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems
from tidegate.model.target import Target


class WaveView(msgspec.Struct, frozen=True):
    """What is enforced in waves, as of one moment."""

    rollout: PolicyRollout
    # The root policies that go together, by name.
    policies: Mapping[str, Fields]
    version: str | None
    content: str
    bindings: tuple[BindingState, ...]
    reading: GroupReading
    clusters: Mapping[str, ClusterState]
    # Whether our binding and our Placement are there, and as we write them.
    bound: bool
    # What our decisions note of each cluster in them, and of each that was taken back.
    decided: Mapping[str, WaveGrant]
    returned: Mapping[str, WaveGrant]
    # By policy, and by cluster.
    replicas: Mapping[str, Mapping[str, Replica]]
    warnings: tuple[Problem, ...] = ()

    @property
    def revision(self) -> str:
        """What goes out."""
        return enforced(self.content)

    @property
    def last_good(self) -> str:
        """What every cluster had before."""
        return informed(self.content)

    @property
    def members(self) -> list[str]:
        """The clusters that are in a group."""
        groups = self.reading.groups
        return list(dict.fromkeys(name for group in groups for name in group.clusters))

    @property
    def grants(self) -> Mapping[str, WaveGrant]:
        """The clusters that are to be enforced: decisions mean nothing without our binding."""
        return self.decided if self.bound else {}

    @property
    def edited(self) -> list[str]:
        """Clusters that are enforced with content that was edited after they were enforced."""
        items = self.grants.items()
        return [name for name, grant in items if grant.content != self.content]

    @property
    def offline(self) -> frozenset[str]:
        """Clusters that are there and whose agents are not heard."""
        return frozenset(each.name for each in self.clusters.values() if each.unreachable)

    @property
    def is_enforced(self) -> bool:
        """Whether the policies say themselves that they are enforced."""
        return all(is_enforced(each.get("spec")) for each in self.policies.values())

    def parts(self, cluster: str) -> WaveParts:
        """What is looked at of one cluster."""
        return {
            name: (policy["spec"], self.replicas[name].get(cluster))
            for name, policy in self.policies.items()
        }

    def report(self, cluster: str) -> Target:
        """What one cluster reports."""
        known = self.clusters.get(cluster)
        return wave_report(
            cluster,
            self.content,
            self.grants.get(cluster),
            self.parts(cluster),
            back=self.returned.get(cluster),
            unreachable=known.unreachable if known is not None else NO_CLUSTER,
        )


def subject_of(rollout: PolicyRollout) -> str:
    """What our binding binds: `Policy/web` or `PolicySet/all`."""
    kind = POLICY_SET if rollout.policy_set else POLICY
    return f"{kind.name}/{rollout.subject}"


def wave_view_of(shelves: HubShelves, rollout: PolicyRollout, *, leaves: bool = False) -> WaveView:
    """What a rollout enforces, on shelves without gaps; UserError lists why it cannot.

    `leaves`: it is to be handed back, whatever cannot be enforced by now.
    """
    problems = Problems()
    policies = dict(_policies(shelves, rollout, problems))
    check_wave_name(rollout.subject, problems)
    for name, policy in policies.items():
        check_wave_policy(f"policy/{rollout.namespace}/{name}", policy, problems)
        check_upgrades(shelves, name, problems)
    bindings = tuple(_bindings(shelves, rollout, policies, problems))
    for name in sorted({each.placement for each in bindings}):
        placement = shelves.placement(rollout.namespace, name)
        if placement is not None:
            check_tolerations(placement, problems)
    if problems.errors and not leaves:
        raise UserError(tuple(problems.errors), where=rollout.origin)
    own = wave_name(rollout.subject)
    reading = placement_groups(shelves, rollout.namespace, (each.placement for each in bindings))
    warn_of_names(rollout, reading, problems)
    holder = (
        shelves.sets.items.get((rollout.namespace, rollout.policy_set))
        if rollout.policy_set
        else policies.get(rollout.policy)
    )
    specs = {name: policy["spec"] for name, policy in policies.items()}
    return WaveView(
        rollout=rollout,
        policies=policies,
        version=version_of(holder) if holder is not None else None,
        content=content_of(specs),
        bindings=bindings,
        reading=reading,
        clusters=shelves.clusters.by_name(),
        bound=_is_bound(shelves, rollout),
        decided=_grants(shelves.decisions_of(rollout.namespace, own)),
        returned=_grants(shelves.decisions_of(rollout.namespace, taken_back_name(rollout.subject))),
        replicas={name: shelves.replicas(full_name(rollout.namespace, name)) for name in policies},
        warnings=tuple(problems.warnings),
    )


def _policies(
    shelves: HubShelves, rollout: PolicyRollout, problems: Problems
) -> Iterator[tuple[str, Fields]]:
    names = check_set(shelves, rollout, problems) if rollout.policy_set else (rollout.policy,)
    for name in sorted(names):
        policy = shelves.policy(rollout.namespace, name)
        if policy is None:
            remedy = "write it: once it is there, it is enforced at once on enforced clusters"
            problems.add(f"policy/{rollout.namespace}/{name}", "missing", remedy)
        else:
            yield name, policy


def _bindings(
    shelves: HubShelves,
    rollout: PolicyRollout,
    policies: Mapping[str, Fields],
    problems: Problems,
) -> Iterator[BindingState]:
    """What binds the subject; another binding that enforces any of its policies is refused."""
    own, namespace = wave_name(rollout.subject), rollout.namespace
    others = {
        each.name: each
        for name in policies
        for each in shelves.bindings_of(namespace, name)
        if each.enforces and each.name != own
    }
    for name in others:
        problems.add(
            f"placementbinding/{namespace}/{name}",
            "enforces it as well: clusters would be enforced before their turn",
            "drop its bindingOverrides",
        )
    if rollout.policy_set:
        found = shelves.bindings_by(namespace, [subject_of(rollout)])
    else:
        found = shelves.bindings_of(namespace, rollout.policy)
    found = [each for each in found if not each.restricted]
    if not found:
        kind, _, name = subject_of(rollout).partition("/")
        where = f"{kind.lower()}/{namespace}/{name}"
        problems.add(where, "is bound to no placement", "write a PlacementBinding for it")
    yield from found


def _is_bound(shelves: HubShelves, rollout: PolicyRollout) -> bool:
    own = wave_name(rollout.subject)
    placement = shelves.placement(rollout.namespace, own)
    binding = shelves.bindings.items.get((rollout.namespace, own))
    if placement is None or binding is None:
        return False
    notes = placement["metadata"].get("annotations") or {}
    is_ours = (binding.bound_to, binding.subjects) == (own, (subject_of(rollout),))
    is_wave = binding.restricted and binding.enforces
    return notes.get(SCHEDULING_OFF) == "true" and is_ours and is_wave


def _grants(parts: tuple[DecisionPart, ...]) -> dict[str, WaveGrant]:
    return {
        cluster: read_grant(note)
        for part in parts
        for cluster, note in zip(part.clusters, part.notes, strict=True)
    }
