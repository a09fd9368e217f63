"""Where strict and compat differ on one document, target by target, with strict's reason."""

from typing import Any

from tidegate.explain.sentence import sentence
from tidegate.explain.table import first_shut
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.wire.compat_line import CompatAnswer

_TO_APPLY = "ToApply"


def list_differences(
    world: RolloutWorld, plan: RolloutPlan, strict: dict[str, Any], compat: CompatAnswer
) -> list[dict[str, Any]]:
    """Every target that one of the two starts, times out or removes and the other does not."""
    if compat.error:
        return [{"what": "error", "strict": False, "compat": True, "message": compat.error}]
    found: list[dict[str, Any]] = []
    for what, mine, theirs in (
        ("start", strict["start"], [e.cluster for e in compat.to_rollout if e.status == _TO_APPLY]),
        ("timeOut", strict["timeOut"], [each.cluster for each in compat.time_out]),
        ("removed", strict["removed"], [each.cluster for each in compat.removed]),
    ):
        odd = sorted(set(mine) ^ set(theirs))
        reasons = _reasons(world, plan, odd)
        for name in odd:
            difference = {"what": what, "cluster": name, "strict": name in mine}
            found.append(difference | {"compat": name not in mine} | reasons.get(name, {}))
    if strict["breached"] != compat.max_failure_breach:
        both = {"strict": strict["breached"], "compat": compat.max_failure_breach}
        found.append({"what": "breached", **both})
    return found


def _reasons(world: RolloutWorld, plan: RolloutPlan, names: list[str]) -> dict[str, dict[str, str]]:
    """Strict's word on some targets: what holds them."""
    wanted = set(names)
    found: dict[str, dict[str, str]] = {}
    for i, target in enumerate(world.targets):
        if target.name in wanted:
            verdicts = plan.options[i].verdicts
            speaks = first_shut(verdicts) or verdicts[-1]
            found[target.name] = {"reason": speaks.reason.value, "message": sentence(speaks)}
    return found
