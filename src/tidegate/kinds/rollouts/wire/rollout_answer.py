"""A rollout plan as `decide rollout` answers it: lists of names, a summary, and every verdict.

Verdicts are shared, and so is their JSON: each distinct set is encoded once, however many targets
it is true of.
"""

from typing import Any

import msgspec

from tidegate.explain.verdict_part import verdict_part
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.summary import GroupReport
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.errors import UserError
from tidegate.model.plan import ChangeKind, Option
from tidegate.model.problem import Problem
from tidegate.model.target import Group, State, Status, Target
from tidegate.model.time import MILLISECOND, Instant
from tidegate.model.verdict import Verdict, all_pass

_WORDS = {
    State.WAITING: Status.ToApply.name,
    State.HOLDING: Status.ToApply.name,
    State.IN_FLIGHT: Status.Progressing.name,
    State.SOAKING: Status.Succeeded.name,
    State.DONE: Status.Succeeded.name,
    State.FAILED: Status.Failed.name,
    State.TIMED_OUT: Status.TimeOut.name,
    State.JOINED: Status.NewCluster.name,
}
_encode = msgspec.json.Encoder().encode


class TargetAnswer(msgspec.Struct, gc=False, omit_defaults=True, rename={"way_back": "return"}):
    """One target: where it is and what every gate says."""

    cluster: str
    group: msgspec.Raw
    status: str
    verdicts: msgspec.Raw
    ignored: bool = False
    # The option back to the last good revision, where there is one.
    way_back: msgspec.Raw | None = None
    # Some pin keeps it where it is.
    pinned: bool = False


def answer_rollout(
    ident: object,
    world: RolloutWorld,
    plan: RolloutPlan,
    now: Instant,
    warnings: tuple[Problem, ...] = (),
) -> dict[str, Any]:
    """The answer to one document, in the documented order of fields."""
    lists = _by_state(world, plan)
    answer: dict[str, Any] = {} if ident is None else {"id": ident}
    answer["warnings"] = sorted({warning.text() for warning in warnings})
    answer["start"] = [world.targets[i].name for i in plan.started]
    for field, state in _LISTS:
        answer[field] = lists[state]
    gone = [action for action in plan.actions if action.change.kind is ChangeKind.REMOVE]
    answer["removed"] = [action.target for action in gone]
    answer["breached"] = plan.breached
    answer["summary"] = plan.summary.value
    answer["recheckAfter"] = _seconds(plan.recheck_at, now)
    if plan.course.revision != world.revision and world.revision is not None:
        answer["next"] = world.revision  # it waits until the revision under way is finished
    back = [action.target for action in plan.actions if action.change.kind is ChangeKind.RETURN]
    if back:
        answer["rollback"] = back
    if plan.events:
        answer["events"] = [event.value for event in plan.events]
    if plan.claims:  # to be taken before anything is acted on
        answer["claims"] = [
            {"name": claim.name, "place": claim.place, "target": claim.target}
            for claim in plan.claims
        ]
    answer["groups"] = [_group(world, report) for report in plan.groups]
    answer["targets"] = _targets(world, plan)
    unplaced = _unplaced(world, plan)
    if unplaced:
        answer["unplaced"] = unplaced
    return answer


def answer_problems(ident: object, error: UserError, where: str = "") -> dict[str, Any]:
    """The answer to a document that cannot be used: nothing starts, and all that is wrong."""
    answer: dict[str, Any] = {} if ident is None else {"id": ident}
    answer["error"] = where + error.text()
    answer["problems"] = error.problems
    answer["warnings"] = []
    empty: list[str] = []
    for field in ("start", *(field for field, _ in _LISTS), "removed"):
        answer[field] = empty
    answer |= {"breached": False, "summary": None, "recheckAfter": None}
    answer |= {"groups": empty, "targets": empty}
    return answer


_LISTS = (
    ("inFlight", State.IN_FLIGHT),
    ("soaking", State.SOAKING),
    ("failed", State.FAILED),
    ("timeOut", State.TIMED_OUT),
)


def _by_state(world: RolloutWorld, plan: RolloutPlan) -> dict[State, list[str]]:
    """Names of the counted targets in each state, in group, then rank order."""
    lists: dict[State, list[str]] = {state: [] for state in State}
    for i, (target, state) in enumerate(zip(world.targets, plan.states, strict=True)):
        if not target.ignored and i not in plan.pinned:
            lists[state].append(target.name)
    return lists


def _seconds(moment: Instant | None, now: Instant) -> float | None:
    """How long to wait, in seconds, rounded up to the millisecond."""
    return None if moment is None else -(-(moment - now) // MILLISECOND) / 1000


def _group(world: RolloutWorld, report: GroupReport) -> dict[str, Any]:
    tally = report.tally
    doc = _group_key(world.groups[report.group])
    doc["status"] = report.status.value
    doc["counts"] = {
        "waiting": tally.waiting,
        "inFlight": tally.in_flight,
        "soaking": tally.soaking,
        "done": tally.done,
        "failed": tally.failed,
        "ignored": tally.ignored,
    }
    return doc


def _group_key(group: Group) -> dict[str, Any]:
    key: dict[str, Any] = {"name": group.name, "index": group.index}
    return {"placement": group.placement, **key} if group.placement else key


def _targets(world: RolloutWorld, plan: RolloutPlan) -> list[TargetAnswer]:
    known: dict[int, msgspec.Raw] = {}
    ways = {
        option.target: option for option in plan.options if option.change.kind is ChangeKind.RETURN
    }
    docs: list[TargetAnswer] = []
    for group in world.groups:
        key = msgspec.Raw(_encode(_group_key(group)))
        for i in range(group.first, group.last):
            target, verdicts = world.targets[i], plan.options[i].verdicts
            # Verdicts live as long as the plan, so their identity is a safe key here.
            raw = known.get(id(verdicts))
            if raw is None:
                raw = known[id(verdicts)] = _verdicts(verdicts)
            way = _way(ways[i]) if i in ways else None
            status = _status(target, plan.states[i])
            is_pinned = i in plan.pinned
            docs.append(TargetAnswer(target.name, key, status, raw, target.ignored, way, is_pinned))
    return docs


def _status(target: Target, state: State) -> str:
    if state is State.DONE and target.status in (Status.Skip, Status.NewCluster):
        return target.status.name
    return _WORDS[state]


def _verdicts(verdicts: tuple[Verdict, ...]) -> msgspec.Raw:
    return msgspec.Raw(_encode([verdict_part(verdict) for verdict in verdicts]))


def _way(option: Option) -> msgspec.Raw:
    way = {
        "revision": option.change.revision,
        "go": all_pass(option.verdicts),
        "verdicts": [verdict_part(verdict) for verdict in option.verdicts],
    }
    return msgspec.Raw(_encode(way))


def _unplaced(world: RolloutWorld, plan: RolloutPlan) -> list[dict[str, Any]]:
    """Targets that are in no group, and whether they may be removed."""
    first = len(world.targets)
    return [
        {
            "cluster": world.departed[option.target - first].name,
            "verdicts": [verdict_part(verdict) for verdict in option.verdicts],
        }
        for option in plan.options
        if option.change.kind is ChangeKind.REMOVE
    ]
