"""A hub as it is, copied to a simulated one: what is on it is read, and nothing is written.

Decisions of the hub's own scheduler are copied and stay: its placements may use more than a
simulated scheduler knows. An agent that the hub does not reach is silent; every other one answers.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from tidegate.kinds.policies.core.names import CLUSTER_LABEL, POLICY_LABEL
from tidegate.kinds.policies.core.revision import Fields, revision_of
from tidegate.kinds.policies.core.waves import StageWay
from tidegate.kinds.policies.fleet import WORD, PolicyFleet, StagedView
from tidegate.kinds.policies.hub.set_view import SetView, parts_of
from tidegate.kinds.policies.simulated.hub import SimulatedHub
from tidegate.kinds.policies.simulated.staged_policy import StagedPolicy
from tidegate.kinds.policies.wire.hub_doc import cluster_of, root_of
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    POLICY_SET,
    ROLLOUT,
    Cluster,
    Object,
)
from tidegate.kubernetes.simulated.api import Key
from tidegate.model.errors import NotFoundError, OutsideError, UserError
from tidegate.model.problem import Problem, nearest_or_all

# What the author wants now, and what would be written.
NOW, NEXT = "now", "next"
_SEVERITIES = ("low", "medium")
_PARTS = ("apiVersion", "kind", "spec", "data", "status", "placementRef", "subjects")
_HEADS = ("namespace", "name", "labels", "annotations")


class CopiedHub(msgspec.Struct, frozen=True):
    """What was copied."""

    policies: Mapping[str, StagedPolicy]
    # The labels of each cluster that a policy is for.
    labels: Mapping[str, Mapping[str, str]]
    # Clusters that the hub does not reach.
    silent: frozenset[str]
    objects: Mapping[Key, dict[str, Any]]

    def put_on(self, hub: SimulatedHub) -> None:
        """Have everything on a simulated hub, whose scheduler leaves it as it is."""
        hub.schedules = False
        for name in self.labels:
            hub.add(name, {}).silent = name in self.silent
        for key, document in self.objects.items():
            hub.api.namespaces.add(key[1])
            hub.api.put(key, document)


async def copy_hub(hub: Cluster, names: Sequence[str], edited: Fields | None) -> CopiedHub:
    """Copy the policies of these names, or all that have a rollout, and what they are for."""
    views = await _views(PolicyFleet(hub), names)
    if edited is not None and len(views) != 1:
        what = f"{len(views)} policies would be edited"
        raise UserError((Problem("--policy", what, "name the one that is meant"),))
    wanted = {name for view in views.values() for name in (*view.members, *view.given)}
    found = [each for each in await _read(hub) if _is_part(each, views, wanted)]
    states = [cluster_of(each.document) for each in found if each.kind == MANAGED_CLUSTER]
    objects = {(each.kind, each.namespace, each.name): _copied(each) for each in found}
    return CopiedHub(
        {name: _staged(objects, name, view, edited) for name, view in views.items()},
        {each.name: each.labels for each in sorted(states, key=lambda state: state.name)},
        frozenset(each.name for each in states if each.unreachable),
        objects,
    )


async def _views(fleet: PolicyFleet, names: Sequence[str]) -> dict[str, StagedView]:
    known = [each.removeprefix(f"{WORD}/") for each in await fleet.partitions()]
    for name in names:
        if name not in known:
            raise NotFoundError("rollout of policy", name, nearest_or_all(name, known))
    chosen = names or [each for each in known if await _is_staged(fleet, each)]
    found = {name: await fleet.view(f"{WORD}/{name}") for name in chosen}
    if not found:
        what = "no rollout of revisions is declared on this hub"
        raise UserError((Problem("", what, "write a Rollout"),))
    return found


async def _is_staged(fleet: PolicyFleet, name: str) -> bool:
    """Whether revisions go out: waves are not edited, so that there is no edit to rehearse."""
    return (await fleet.rollout(f"{WORD}/{name}")).stage is StageWay.STAGED


async def _read(hub: Cluster) -> list[Object]:
    kinds = (
        *(MANAGED_CLUSTER, POLICY, POLICY_SET, ROLLOUT),
        *(PLACEMENT, PLACEMENT_BINDING, PLACEMENT_DECISION),
    )
    readings = [
        await hub.read("", kinds),
        await hub.read("", [CONFIG_MAP], POLICY_LABEL),
        await hub.read("", [CONFIG_MAP], CLUSTER_LABEL),
    ]
    # A hub without the Rollout object has rollouts in annotations; one without sets has none.
    may_lack = (ROLLOUT.plural, POLICY_SET.plural)
    gaps = [e for each in readings for e in each.gaps if not any(kind in e for kind in may_lack)]
    if gaps:
        raise OutsideError("; ".join(gaps))
    return [found for each in readings for found in each.objects]


def _is_part(found: Object, views: Mapping[str, StagedView], wanted: set[str]) -> bool:
    """Whether an object is one of the policies that are rehearsed, or what they are for."""
    if found.kind == MANAGED_CLUSTER:
        return found.name in wanted
    rollouts = [view.rollout for view in views.values()]
    if found.kind == POLICY:
        each = [one.rollout for view in views.values() for one in parts_of(view).values()]
        mine = {(one.namespace, one.policy) for one in each}
        mine |= {(one.source_namespace, one.source_name) for one in each}
        named = {one.name for one in each}
        return root_of(found.document) in named or (found.namespace, found.name) in mine
    if found.kind == ROLLOUT:
        origin = f"rollout/{found.namespace}/{found.name}"
        return any(each.origin == origin for each in rollouts)
    return any(each.namespace == found.namespace for each in rollouts)


def _copied(found: Object) -> dict[str, Any]:
    document = deepcopy(dict(found.document))
    heads = {key: value for key, value in document["metadata"].items() if key in _HEADS}
    parts = {key: value for key, value in document.items() if key in _PARTS}
    kind = {"apiVersion": found.kind.api_version, "kind": found.kind.name}
    return {**parts, **kind, "metadata": heads}


def _staged(
    objects: dict[Key, dict[str, Any]], name: str, view: StagedView, edited: Fields | None
) -> StagedPolicy:
    """One policy on the stage; where all clusters have it, its next revision is written."""
    rollout, parts = view.rollout, parts_of(view)
    now: dict[str, Fields] = {each: one.source.spec for each, one in parts.items()}
    specs = {NOW: now}
    upcoming: dict[str, Fields] = dict(now)
    if edited is not None:
        if isinstance(view, SetView):
            remedy = "leave --policy out, and all policies of it are edited"
            raise UserError((Problem("--policy", f"{name} is a set", remedy),))
        upcoming = dict.fromkeys(now, edited)
    elif _is_everywhere(view):
        upcoming = {each: _another(spec) for each, spec in now.items()}
    changed = [e for e in now if revision_of(upcoming[e]).name != parts[e].revision_name]
    if changed:
        specs[NEXT] = upcoming
    for each in changed:
        key = (POLICY, parts[each].rollout.source_namespace, parts[each].rollout.source_name)
        objects[key] = {**objects[key], "spec": deepcopy(dict(upcoming[each]))}
    kind, _, place = rollout.origin.partition("/")
    namespace, _, own = place.partition("/")
    fields: dict[str, Any] = {}
    if kind == "rollout":
        fields = dict(objects[ROLLOUT, namespace, own]["spec"])
    return StagedPolicy(
        name=name,
        namespace=rollout.namespace,
        policy=rollout.subject,
        source=rollout.source_namespace,
        rollout=(namespace, own) if kind == "rollout" else ("", ""),
        fields=fields,
        specs=specs,
        of=tuple(parts) if isinstance(view, SetView) else (),
    )


def _is_everywhere(view: StagedView) -> bool:
    """Whether there is nothing to roll out."""
    wanted = view.revision_name
    if not view.staged:
        return view.baseline_name == wanted
    return all(view.given.get(name) == wanted for name in view.members)


def _another(spec: Fields) -> dict[str, Any]:
    """A revision that differs in nothing that a cluster does."""
    found = deepcopy(dict(spec))
    body = found["policy-templates"][0]["objectDefinition"]["spec"]
    body["severity"] = next(each for each in _SEVERITIES if each != body.get("severity"))
    return found
