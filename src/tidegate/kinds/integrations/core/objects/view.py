"""A namespace as people see it: a row for each shard, an option for each of its objects."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from tidegate.explain.table import first_shut
from tidegate.explain.view import Needs, OptionRow, PartitionView, TargetRow
from tidegate.gates.approval import missing_approvals
from tidegate.kinds.integrations.core.objects.decide import ObjectWorld, digest_beside, version_of
from tidegate.kinds.integrations.core.objects.stand import ObjectStand
from tidegate.kinds.integrations.core.reasons import ObjectReason
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.model.plan import Option, Plan
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import Instant
from tidegate.model.verdict import all_pass, verdict

# What is as declared, as far as this namespace goes: an image is left to its rollout.
_DONE = frozenset((ObjectAction.UNCHANGED, ObjectAction.STAGED))
# What only a person can settle, and no brake says.
_NEEDS = frozenset(
    (
        ObjectReason.NoDefaultImage,
        ObjectReason.PartOfAnother,
        ObjectReason.FieldsOwned,
        ObjectReason.ServerRefused,
        ObjectReason.BundleUnsound,
        ObjectReason.InventoryEmptied,
        ObjectReason.NothingDeclared,
        ObjectReason.MassDeletion,
        ObjectReason.ChangedAgain,
    )
)
ACCEPTED = "the server accepted it; it is not looked at again yet"
_Pair = tuple[ObjectStand, Option]


def namespace_view(
    partition: str,
    world: ObjectWorld,
    plan: Plan,
    now: Instant,
    problems: tuple[str, ...] = (),
    accepted: Mapping[str, str] = {},
) -> PartitionView:
    """The rows of a namespace, and what needs a person.

    `accepted`: what was carried out on targets since they were looked at.
    """
    mine: dict[str, list[_Pair]] = {}
    for stand, option in zip(world.objects, plan.options, strict=True):
        did = accepted.get(stand.target)
        is_under_way = did is not None and stand.acts and digest_beside(world, stand) == did
        seen = _under_way(option) if is_under_way else option
        mine.setdefault(stand.target, []).append((stand, seen))
    rows = tuple(_row(name, mine.get(name, []), world) for name in world.targets)
    summary = _summary(world, rows)
    counts = Counter(each.state for each in rows)
    words = [f"{count} {word.lower()}" for word, count in sorted(counts.items())]
    return PartitionView(
        partition=partition,
        summary=summary,
        now=now,
        headline=" · ".join((summary, *words, *problems)),
        targets=rows,
        needs=Needs(
            approvals=missing_approvals(each.verdicts for each in plan.options),
            failures=tuple(each.name for each in rows if _needs_a_person(each)),
        ),
        recheck_at=plan.recheck_at,
        paused=world.paused,
        version=version_of(world),
        gates=tuple(each.name for each in world.brakes.approvals),
    )


def _under_way(option: Option) -> Option:
    """What the server accepted: it does not start again, and is not seen to be there either."""
    passing = (each for each in option.verdicts if all_pass((each,)))
    said = (verdict(ProgressReason.InFlightSaying, ACCEPTED), *passing)
    return msgspec.structs.replace(option, verdicts=said)


def _summary(world: ObjectWorld, rows: tuple[TargetRow, ...]) -> str:
    states = {each.state for each in rows}
    if world.paused:
        return "Paused"
    if "Failed" in states:
        return "Failed"
    if states <= {"Done"}:
        return "Succeeded"
    moves = "Updating" in states or any(each.starts for each in rows)
    return "Progressing" if moves else "Waiting"


def _needs_a_person(row: TargetRow) -> bool:
    return row.state == "Failed" or (row.shut is not None and row.shut.reason in _NEEDS)


def _row(name: str, pairs: list[_Pair], world: ObjectWorld) -> TargetRow:
    """One shard: what says most about it is first."""
    ranked = sorted(pairs, key=lambda pair: (_rank(pair), pair[0].object))
    first, option = ranked[0]
    attempt = world.attempts.get(name)
    done = all(stand.verb in _DONE for stand, _ in pairs)
    shut = first_shut(option.verdicts)
    moves = shut is not None and shut.reason is ProgressReason.InFlightSaying
    state = "Done" if done else "Updating" if moves else "Waiting"
    if attempt is not None:
        state = "Failed" if attempt.tries else "Updating"
    return TargetRow(
        name=name,
        state=state,
        group=first.group,
        revision=first.runs,
        next=_next(first),
        starts=shut is None,
        waits=state == "Waiting",
        shut=shut,
        options=tuple(
            OptionRow(change=_words(stand), verdicts=each.verdicts, starts=all_pass(each.verdicts))
            for stand, each in ranked
        ),
    )


def _rank(pair: _Pair) -> int:
    stand, option = pair
    if stand.verb in _DONE:
        return 3
    return 1 if all_pass(option.verdicts) else 0 if stand.acts else 2


def _next(stand: ObjectStand) -> str:
    """The image it gets, or what else is done to it."""
    if not stand.acts:
        return ""
    moves = stand.image and stand.image != stand.runs and not stand.removes
    return stand.image if moves else stand.verb.value


def _words(stand: ObjectStand) -> str:
    """What would be done, and what differs."""
    restarts = ", restarts" if stand.restarts else ""
    fields = f": {'; '.join(stand.fields)}" if stand.fields else ""
    return f"{stand.words}{restarts}{fields}" if stand.acts else f"{stand.object}{fields}"
