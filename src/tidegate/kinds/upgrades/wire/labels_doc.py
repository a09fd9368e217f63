"""What owners declare, as documents: in the form that the existing command line reads and prints.

    policies      [{"name": "pay-prod-1", "schedule": "0 9 * * 1-4", "workloads": ["payments"],
                    "conditions": {"soak_days": 5, "sector": "prod"}}]
    sectors       [{"name": "prod", "dependencies": ["stage"], "maxParallelUpgrades": "1"}]
    version blocks  ["^4\\\\.13\\\\."]
    inheritance   {"inherit": ["o-stage"], "publish": []}

Documents become labels and labels documents, and there and back nothing is lost: items stand as
they do between the commas of a label, and a number of days that is none as the text it is. A field
that is not there asks for nothing; an unknown one is an error, and never dropped.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tidegate.documents.reader import Reader
from tidegate.kinds.upgrades.core.declared.patterns import comma_problem, split_patterns
from tidegate.kinds.upgrades.core.labels.label_edit import (
    APPROVALS,
    BLOCKED,
    CLUSTER_LABELS,
    INHERIT,
    PUBLISH,
    SCHEDULE,
    Wanted,
)
from tidegate.kinds.upgrades.core.labels.labels import (
    SECTOR_DEPENDENCIES,
    SECTOR_MAX_PARALLEL,
    split,
)
from tidegate.kinds.upgrades.core.labels.sector_edit import WantedSector, sector_labels
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, shown

Labels = Mapping[str, str]

PRESETS = {"weekdays": "* * * * 1-4", "anytime": "* * * * *"}
"""Schedules with a name: Monday to Thursday at any time, and any time at all; in UTC."""

# The fields of a policy and of its conditions that are texts or lists, and their labels.
_TEXTS = {SCHEDULE: SCHEDULE, "schedule_timezone": "schedule-timezone"}
_LISTS = {"workloads": "workloads", "version_gate_approvals": APPROVALS}
_CONDITION_LISTS = {"mutexes": "mutexes", "blocked_versions": BLOCKED}
# Of these the items are patterns.
_PATTERNS = ("blocked_versions", BLOCKED)
_DAYS, _SECTOR = "soak-days", "sector"


class UpgradePolicyDoc(msgspec.Struct, frozen=True):
    """What is asked for of one cluster."""

    path: str  # where it stands in its document
    name: str  # empty: the subscription tells
    subscription: str  # empty: the name tells
    wanted: Wanted


def read_policies(document: object) -> tuple[UpgradePolicyDoc, ...]:
    """The policies of a document; UserError lists all that is wrong with it."""
    problems = Problems()
    found = [_policy(each) for each in _objects(document, problems)]
    _raise(problems)
    return tuple(found)


def policy_document(name: str, labels: Labels, subscription: str = "") -> dict[str, Any]:
    """The labels of a cluster as a policy; the subscription where the name alone does not tell."""
    document: dict[str, Any] = {"name": name}
    if subscription:
        document["subscription_id"] = subscription
    conditions: dict[str, Any] = {}
    if _DAYS in labels:
        conditions["soak_days"] = _days(labels[_DAYS])
    if _SECTOR in labels:
        conditions[_SECTOR] = labels[_SECTOR]
    conditions |= _lists_of(labels, _CONDITION_LISTS)
    document |= {field: labels[label] for field, label in _TEXTS.items() if label in labels}
    document |= _lists_of(labels, _LISTS)
    document["conditions"] = conditions
    others = {label: labels[label] for label in sorted(labels.keys() - set(CLUSTER_LABELS))}
    return {**document, "labels": others} if others else document


def read_sectors(document: object) -> tuple[WantedSector, ...]:
    """The sectors of a document; UserError lists all that is wrong with it."""
    problems = Problems()
    found = [_sector(each) for each in _objects(document, problems)]
    names = [each.name for each in found]
    for name in sorted({each for each in names if names.count(each) > 1}):
        problems.add("", f"sector {shown(name)} stands there twice", "join the two")
    _raise(problems)
    return tuple(found)


def sector_documents(labels: Labels) -> list[dict[str, Any]]:
    """The sectors that labels of an organisation declare by themselves."""
    found: dict[str, dict[str, Any]] = {}
    for key in sector_labels(labels):
        limits = key.startswith(SECTOR_MAX_PARALLEL)
        name = key.removeprefix(SECTOR_MAX_PARALLEL if limits else SECTOR_DEPENDENCIES)
        document = found.setdefault(name, {"name": name})
        if limits:
            document["maxParallelUpgrades"] = labels[key]
        else:
            document["dependencies"] = list(split(labels[key]) or ())
    return [found[name] for name in sorted(found)]


def read_blocks(document: object) -> tuple[str, ...]:
    """The patterns of a document; UserError lists all that is wrong with it."""
    problems = Problems()
    found = _items(Reader({BLOCKED: _listed(document)[1]}, "", problems), BLOCKED)
    _raise(problems)
    return found or ()


def read_inheritance(document: object) -> Wanted:
    """Whose version data counts and who may use ours; UserError lists all that is wrong."""
    problems = Problems()
    if isinstance(document, Mapping) and "apiVersion" in document:
        document = {name: document[name] for name in ("inherit", "publish") if name in document}
    reader = Reader(document, "", problems)
    wanted = {
        label: ",".join(found)
        for field, label in (("inherit", INHERIT), ("publish", PUBLISH))
        if (found := _items(reader, field)) is not None
    }
    reader.close()
    _raise(problems)
    return wanted


def inheritance_document(labels: Labels) -> dict[str, Any]:
    """Whose version data counts, and who may use ours."""
    return {
        "inherit": list(split(labels.get(INHERIT)) or ()),
        "publish": list(split(labels.get(PUBLISH)) or ()),
    }


def joined(items: Iterable[str]) -> str:
    """Patterns as a label has them; UserError if one holds what they are parted by."""
    several = list(items)
    for each in several:
        if "," in each:
            raise UserError((Problem("", *comma_problem(each)),))
    return ",".join(several)


def _policy(reader: Reader) -> UpgradePolicyDoc:
    name, subscription = reader.text("name") or "", reader.text("subscription_id") or ""
    if not name and not subscription:
        reader.problems.add(reader.at("name"), "missing", "write the name of a cluster")
    conditions = reader.child("conditions")
    wanted: dict[str, str] = {}
    for field, label in _TEXTS.items():
        if (text := reader.text(field)) is not None:
            wanted[label] = PRESETS.get(text, text) if label == SCHEDULE else text
    if (days := _asked_days(conditions)) is not None:
        wanted[_DAYS] = days
    if (sector := conditions.text(_SECTOR)) is not None:
        wanted[_SECTOR] = sector
    for where, lists in ((reader, _LISTS), (conditions, _CONDITION_LISTS)):
        for field, label in lists.items():
            if (found := _items(where, field)) is not None:
                wanted[label] = ",".join(found)
    wanted |= _others(reader.child("labels"))
    conditions.close()
    reader.close()
    return UpgradePolicyDoc(reader.path, name, subscription, wanted)


def _others(reader: Reader) -> dict[str, str]:
    """Labels that are no part of a policy, as they stand."""
    found: dict[str, str] = {}
    for label in reader.names():
        text = reader.text(label)
        if label in CLUSTER_LABELS:
            where = "the field of the policy that it is"
            reader.problems.add(reader.at(label), "part of the policy", f"write {where}")
        elif text is not None:
            found[label] = text
    return found


def _sector(reader: Reader) -> WantedSector:
    name, behind = reader.text("name") or "", _items(reader, "dependencies")
    if not name.strip():
        reader.problems.add(reader.at("name"), "missing", "write the name of a sector")
    most = reader.raw("maxParallelUpgrades")
    if isinstance(most, int) and not isinstance(most, bool):
        most = str(most)
    elif most is not None and not isinstance(most, str):
        remedy = 'write 2 or "50%"'
        reader.problems.add(reader.at("maxParallelUpgrades"), f"{shown(most)} is no limit", remedy)
        most = None
    reader.close()
    return WantedSector(name, behind, most)


def _objects(document: object, problems: Problems) -> list[Reader]:
    """The objects of a list, or of one of our documents; one by itself is a list of one."""
    path, several = _listed(document)
    if isinstance(several, Mapping):
        return [Reader(several, "", problems)]
    if not isinstance(several, list):
        problems.add(path, f"{shown(several)} is not a list", "write a list")
        return []
    return [Reader(each, f"{path}[{i}]", problems) for i, each in enumerate(several)]


def _listed(document: object) -> tuple[str, object]:
    """The items of what `get -o json` prints, and their place; else the document as it is."""
    if isinstance(document, Mapping) and "apiVersion" in document and "items" in document:
        return "items", document["items"]
    return "", document


def _items(reader: Reader, name: str) -> tuple[str, ...] | None:
    """The items of a list, none of which can hold a comma; None: not there."""
    if not reader.has(name):
        return None
    found = tuple(reader.texts(name))
    for i, each in enumerate(found):
        if "," in each:
            wrong = comma_problem(each) if name in _PATTERNS else _comma(each)
            reader.problems.add(f"{reader.at(name)}[{i}]", *wrong)
    return found


def _comma(item: str) -> tuple[str, str]:
    return (
        f"{shown(item)} contains a comma, which separates the items of a label",
        "write one item for each part",
    )


def _parted(value: str | None, label: str) -> Iterable[str] | None:
    return split_patterns(value) if value and label == BLOCKED else split(value)


def _lists_of(labels: Labels, lists: Mapping[str, str]) -> dict[str, list[str]]:
    return {
        field: list(found)
        for field, label in lists.items()
        if (found := _parted(labels.get(label), label)) is not None
    }


def _days(text: str) -> int | str:
    """A number of days as a number, unless only its text says all of it."""
    plain = text.isascii() and text.isdigit() and len(text) < 10 and str(int(text)) == text
    return int(text) if plain else text


def _asked_days(reader: Reader) -> str | None:
    value = reader.raw("soak_days")
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    reader.problems.add(reader.at("soak_days"), f"{shown(value)} is no number of days", "write 3")
    return None


def _raise(problems: Problems) -> None:
    if problems.errors:
        raise UserError(tuple(problems.errors))
