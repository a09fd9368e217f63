"""The RolloutStrategy document, read strictly: an unreadable limit stops everything and says so.

type: ProgressivePerGroup
progressivePerGroup: {minSuccessTime: 30m, progressDeadline: 2h, maxFailures: 10%}
onFailure: rollback
"""

from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import read_selector
from tidegate.kinds.rollouts.core.strategy import (
    GroupRef,
    OnFailure,
    OnNewRevision,
    OrderBy,
    Ordering,
    Strategy,
    StrategyType,
)
from tidegate.model.limit import Limit
from tidegate.model.problem import nearest, shown
from tidegate.model.selector import Selector
from tidegate.model.time import Duration

# The field that holds a type's settings.
_BODIES = {
    StrategyType.ALL: "all",
    StrategyType.PROGRESSIVE: "progressive",
    StrategyType.PROGRESSIVE_PER_GROUP: "progressivePerGroup",
    StrategyType.MANUAL_PER_GROUP: "manualPerGroup",
}


def read_strategy(reader: Reader) -> Strategy:
    """The strategy; its problems are collected on the way."""
    kind = _type(reader)
    body = reader.child(_BODIES[kind])
    for other, field in _BODIES.items():
        if other is not kind and reader.has(field):
            reader.problems.warn(
                reader.at(field), f"not read, since the type is {kind.value}", "drop it"
            )
    strategy = Strategy(
        kind,
        soak=_soak(kind, body),
        deadline=_deadline(body),
        max_failures=_max_failures(kind, body),
        max_concurrency=_max_concurrency(kind, body),
        mandatory=_mandatory(kind, body),
        on_failure=reader.choice("onFailure", OnFailure, OnFailure.PAUSE),
        on_new_revision=reader.choice("onNewRevision", OnNewRevision, OnNewRevision.FINISH),
        ordering=_ordering(reader),
        ignore=_ignore(reader),
    )
    body.close()
    for name in body.known() & set(reader.names()):
        inside = f"{_BODIES[kind]}.{name}"
        reader.raw(name)
        reader.problems.add(reader.at(name), "is at the wrong level", f"write it as {inside}")
    reader.close()
    return strategy


def _type(reader: Reader) -> StrategyType:
    value = reader.raw("type")
    if value is None:
        if reader.names():
            reader.problems.warn(reader.at("type"), "missing", 'read as "All": all targets at once')
        return StrategyType.ALL
    if value == "manualPerGroup":
        return StrategyType.MANUAL_PER_GROUP
    words = [each.value for each in StrategyType]
    if value in words:
        return StrategyType(value)
    hint = nearest(value, words) if isinstance(value, str) else ""
    remedy = hint or f"write one of {', '.join(words)}"
    reader.problems.add(reader.at("type"), f"{shown(value)} is no strategy", remedy)
    # Read on with what was probably meant, so that the rest is checked in the same go.
    meant = [kind for kind in StrategyType if f'"{kind.value}"' in hint]
    there = [kind for kind, field in _BODIES.items() if reader.has(field)]
    return next(iter(meant + there), StrategyType.ALL)


def _unread(kind: StrategyType, body: Reader, field: str) -> None:
    """Under All, limits are not read (as in the system the field comes from); a warning says so."""
    if kind is StrategyType.ALL and body.has(field) and body.raw(field) not in _IDLE:
        body.problems.warn(body.at(field), "not read under All", "drop it, or use Progressive")


# Values that say the same as leaving the field out under All.
_IDLE: tuple[object, ...] = (0, "0", "0s", "0%", [])


def _soak(kind: StrategyType, body: Reader) -> Duration:
    if kind is StrategyType.ALL:
        _unread(kind, body, "minSuccessTime")
        return Duration(0)
    return body.duration("minSuccessTime") or Duration(0)


def _deadline(body: Reader) -> Duration | None:
    # Go writes a field that is not set as the empty text.
    if body.raw("progressDeadline") in (None, "None", ""):
        return None
    deadline = body.duration("progressDeadline", 'write "None" or a duration like "30m"')
    if deadline == 0:
        body.problems.add(
            body.at("progressDeadline"),
            f"{shown(body.raw('progressDeadline'))} would time out every target at once",
            'write "None" or how long a target may take',
        )
        return None
    return deadline


def _max_failures(kind: StrategyType, body: Reader) -> Limit | None:
    if kind is StrategyType.ALL:
        _unread(kind, body, "maxFailures")
        return None
    return body.limit("maxFailures") or Limit(0)


def _max_concurrency(kind: StrategyType, body: Reader) -> Limit | None:
    if kind is StrategyType.ALL:
        _unread(kind, body, "maxConcurrency")
        return None
    return body.limit("maxConcurrency")


def _mandatory(kind: StrategyType, body: Reader) -> tuple[GroupRef, ...]:
    if kind is StrategyType.ALL:
        _unread(kind, body, "mandatoryDecisionGroups")
        return ()
    refs: list[GroupRef] = []
    for each in body.children("mandatoryDecisionGroups"):
        name, index = each.text("groupName") or "", each.whole("groupIndex")
        if not name and not each.has("groupIndex"):
            each.problems.add(each.path, "names no group", "write groupName or groupIndex")
        each.close()
        refs.append(GroupRef(name, index))
    return tuple(refs)


def _ordering(reader: Reader) -> Ordering:
    order = reader.child("order")
    by = order.choice("by", OrderBy, OrderBy.NAME)
    label = order.text("label") or ""
    if by is not OrderBy.NAME and not label:
        order.problems.add(order.at("label"), "missing", "name the label to order by")
    order.close()
    return Ordering(by, label)


def _ignore(reader: Reader) -> Selector | None:
    if not reader.has("ignoreClusterRolloutStatus"):
        return None
    selector = read_selector(reader.child("ignoreClusterRolloutStatus"))
    if not selector.requirements:
        reader.problems.add(
            reader.at("ignoreClusterRolloutStatus"),
            "an empty selector would ignore every cluster",
            "write matchLabels or matchExpressions, or drop it",
        )
    return selector
