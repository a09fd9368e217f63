"""A dry run of a new image before any shard gets it: on data of one shard, beside the old image.

Both run once, changing nothing; what they say is compared line by line, without the times in it and
without what is drawn anew for every run: the ids of requests, addresses in memory. The id of
anything else may be what a line is about, and counts. A difference may be right: to accept it,
write its digest into the rules, where it is reviewed like any other change.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from tidegate.kinds.integrations.core.sharding.names import LENGTH_MAX
from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.core.workloads.estate import (
    INTEGRATION_LABEL,
    MANAGED_BY,
    US,
    ManagedPlace,
    Unit,
    label_text,
)
from tidegate.kinds.integrations.core.workloads.live import CONTAINER
from tidegate.kinds.integrations.core.workloads.workloads import Manifest, render
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kinds.rollouts.core.strategy import GroupRef
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.registry.image import image_named

GROUP = "dry run"
MARK, REVISION = "tidegate.dev/dry-run", "tidegate.dev/dry-run-of"
# So many lines are compared at most.
LINES_MAX = 20_000
SHOWN_MAX = 3
_MANAGER = "MANAGER_DRY_RUN"
_TIMES = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"|\b\d+(?:\.\d+)?(?:ms|s| seconds?)\b"
    r"|(?i:\brequest[-_ ]?id\b)[\"']?[ :=]+[\"']?[\w-]+|\bat 0x[0-9a-f]{6,16}\b"
)


class LogDifference(msgspec.Struct, frozen=True):
    """What only one of two outputs says."""

    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many lines differ."""
        return len(self.added) + len(self.gone)

    @property
    def digest(self) -> str:
        """What it is accepted by."""
        lines = [f"+{line}" for line in self.added] + [f"-{line}" for line in self.gone]
        return blake2b("\n".join(lines).encode(), digest_size=6).hexdigest()

    @property
    def words(self) -> str:
        """Its first lines."""
        lines = [f"+ {line}" for line in self.added] + [f"- {line}" for line in self.gone]
        more = f" and {len(lines) - SHOWN_MAX} more" if len(lines) > SHOWN_MAX else ""
        return "; ".join(lines[:SHOWN_MAX]) + more


def compare(old: Iterable[str], new: Iterable[str]) -> LogDifference:
    """What two outputs do not share; how often a line is said counts, where it stands does not."""
    before, after = Counter(map(_plain, old)), Counter(map(_plain, new))
    before.pop("", None)
    after.pop("", None)
    return LogDifference(
        tuple(sorted((after - before).elements())), tuple(sorted((before - after).elements()))
    )


def _plain(line: str) -> str:
    return _TIMES.sub("", line).strip()


def target_of(place: ManagedPlace) -> str:
    """What the dry run of a place is called."""
    return f"{place.integration.name}/dry-run"


def unit_of(place: ManagedPlace, rules: ImageRules) -> Unit:
    """Whose data it is tried on: the shard that is named, or the first of the first group."""
    wanted = rules.dry_run.shard if rules.dry_run is not None else None
    for unit in place.units:
        if wanted is not None and unit.name.partition("/")[2] == wanted:
            return unit
    for group in rules.groups:
        for unit in place.units:
            if group.selector.matches(unit.labels) and not unit.stopped:
                return unit
    return place.units[0]


def with_dry_run(
    place: ManagedPlace, rules: ImageRules, declared: RolloutDeclared
) -> RolloutDeclared:
    """A rollout with a dry run before all groups, where the rules ask for one."""
    if rules.dry_run is None:
        return declared
    target = target_of(place)
    first = Membership(GROUP, 0, (target,))
    later = (msgspec.structs.replace(each, index=each.index + 1) for each in declared.groups)
    strategy = msgspec.structs.replace(
        declared.strategy, mandatory=(GroupRef(GROUP), *declared.strategy.mandatory)
    )
    labels = {**declared.labels, target: unit_of(place, rules).labels}
    return msgspec.structs.replace(
        declared, strategy=strategy, groups=(first, *later), labels=labels
    )


def mark_of(unit: Unit, revision: str) -> str:
    """What tells the dry runs of one image on one unit from all others."""
    return blake2b(f"{unit.name}\0{revision}".encode(), digest_size=8).hexdigest()


def job_of(place: ManagedPlace, unit: Unit, revision: str, key: str) -> Manifest:
    """A job that runs an image once on the data of a unit, and changes nothing.

    Under one key it is one job, however often it is asked for; under another one it is tried anew.
    """
    shard = unit.shards[0]
    image = image_named(revision, place.repository)
    manifest = render(shard, place.managed, place.ground, image)
    pod = {**pod_in(manifest), "restartPolicy": "Never"}
    pod["containers"] = [_dry(each) for each in pod["containers"]]
    pod["volumes"] = [*pod.get("volumes", []), *_claims(manifest["spec"])]
    own = blake2b(f"{unit.name}\0{revision}\0{key}".encode(), digest_size=4).hexdigest()
    name = f"{shard.workload[: LENGTH_MAX - 13]}-dry-{own}"
    labels = {
        MANAGED_BY: US,
        INTEGRATION_LABEL: label_text(place.integration.name),
        MARK: mark_of(unit, revision),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": place.managed.namespace.name,
            "labels": labels,
            "annotations": {REVISION: revision},
        },
        "spec": {
            "backoffLimit": 0,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def pod_in(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the pods of a workload are."""
    spec = manifest["spec"]
    template = (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec)["template"]
    found: Mapping[str, Any] = template["spec"]
    return found


def dry_variables(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The variables of a container that is to run once and change nothing."""
    containers = pod_in(manifest)["containers"]
    own = next(each for each in containers if each["name"] == CONTAINER)
    found: list[Mapping[str, Any]] = _dry(own)["env"]
    return found


def _dry(container: Mapping[str, Any]) -> Manifest:
    # Each program reads one of these; whatever an environment says of it, nothing is changed.
    stated = {"DRY_RUN": "--dry-run", "RUN_ONCE": "true"}
    if any(each["name"] == _MANAGER for each in container.get("env") or ()):
        stated[_MANAGER] = "--dry-run"
    env = [each for each in container.get("env") or () if each["name"] not in stated]
    env += [{"name": name, "value": value} for name, value in stated.items()]
    return {**container, "env": env}


def _claims(spec: Mapping[str, Any]) -> list[Manifest]:
    """A cache of its own in place of the one the shard has."""
    return [
        {"name": each["metadata"]["name"], "emptyDir": {}}
        for each in spec.get("volumeClaimTemplates") or ()
    ]
