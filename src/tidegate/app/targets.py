"""Targets of every kind as rows: by partition, state, group and labels."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from tidegate.app.documents import TargetDoc, TargetParts
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.explain.view import TargetRow
from tidegate.model.document import Document, Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.selector import EVERYTHING, Selector

_FIELDS: dict[str, Callable[[Decision, TargetRow], str]] = {
    "rollout": lambda one, _: one.partition,
    "kind": lambda one, _: one.kind,
    "name": lambda _, row: row.name,
    "state": lambda _, row: row.state,
    "group": lambda _, row: row.group,
    "revision": lambda _, row: row.revision,
    "status": lambda _, row: row.status,
    "gate": lambda _, row: "" if row.shut is None else row.shut.gate.value,
    "starts": lambda _, row: "true" if row.starts else "false",
}


class FieldRequirement(msgspec.Struct, frozen=True):
    """What one field of a target must be, or must not be."""

    field: str
    value: str
    equal: bool = True


class TargetQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which targets are wanted; what is left empty does not matter."""

    # A partition, with or without its kind.
    rollout: str = ""
    labels: Selector = EVERYTHING
    fields: tuple[FieldRequirement, ...] = ()


class TargetItem(Part, frozen=True, kw_only=True):
    """One target, in a list."""

    rollout: str
    labels: Mapping[str, str]
    target: TargetDoc


class TargetList(Document, frozen=True, kw_only=True):
    """Targets of every kind, by partition and name; `why` has what every gate says."""

    items: tuple[TargetItem, ...]


def target_list(journals: Journals, query: TargetQuery) -> TargetList:
    """The targets that are wanted."""
    return TargetList(items=tuple(_items(journals, query)))


def _items(journals: Journals, query: TargetQuery) -> Iterator[TargetItem]:
    every = [journals.find(query.rollout)] if query.rollout else journals.all()
    parts = TargetParts()
    for one in every:
        labels = one.rules.labels(one.state)
        for row in sorted(one.view.targets, key=lambda each: each.name):
            mine = labels.get(row.name, {})
            if query.labels.matches(mine) and _matches(query.fields, one, row):
                part = msgspec.structs.replace(parts.one(row), options=())
                yield TargetItem(rollout=one.partition, labels=dict(mine), target=part)


def _matches(wanted: tuple[FieldRequirement, ...], one: Decision, row: TargetRow) -> bool:
    return all((_FIELDS[each.field](one, row) == each.value) is each.equal for each in wanted)


def parse_fields(text: str) -> tuple[FieldRequirement, ...]:
    """A field selector as kubectl has it: `state=Failed,group!=dev`; UserError names the part."""
    found: list[FieldRequirement] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        equal = "!=" not in part
        sign = "!=" if not equal else "==" if "==" in part else "="
        field, found_sign, value = (each.strip() for each in part.partition(sign))
        if not found_sign or field not in _FIELDS:
            hint = nearest_or_all(field, _FIELDS)
            problem = Problem("fieldSelector", f'no field in "{part}"', hint)
            raise UserError((problem,))
        found.append(FieldRequirement(field, value, equal))
    return tuple(found)
