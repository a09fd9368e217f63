"""Label selectors: as Kubernetes documents spell them, and on one line as kubectl takes them.

A line, `env=prod,region in (eu, us),!canary`, is made into the document that people write in files,
so that both are read by the same rules.
"""

import re
from typing import Any

from tidegate.documents.reader import Reader
from tidegate.model.problem import shown
from tidegate.model.selector import Operator, Requirement, Selector

_NEEDS_VALUES = frozenset((Operator.IN, Operator.NOT_IN))
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_EQUAL = re.compile(rf"({_NAME})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)")
_SET = re.compile(rf"({_NAME})\s+(in|notin)\s*\(([^()]*)\)")
_THERE = re.compile(rf"(!?)\s*({_NAME})")
REMEDY = 'write it like "env=prod,region in (eu,us),!canary"'


def read_selector(reader: Reader) -> Selector:
    """`matchLabels` and `matchExpressions`, as one conjunction."""
    labels = reader.child("matchLabels")
    wanted = [
        Requirement(key, Operator.IN, frozenset((value,)))
        for key, value in _label_values(labels).items()
    ]
    wanted += [_requirement(each) for each in reader.children("matchExpressions")]
    reader.close()
    return Selector(tuple(wanted))


def _label_values(labels: Reader) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in labels.names():
        value = labels.text(key)
        if value is not None:
            found[key] = value
    return found


def _requirement(reader: Reader) -> Requirement:
    key = reader.text("key")
    if key is None:
        reader.problems.add(reader.at("key"), "missing", "name the label")
    operator = reader.choice("operator", Operator, Operator.EXISTS)
    if not reader.has("operator"):
        offer = ", ".join(each.value for each in Operator)
        reader.problems.add(reader.at("operator"), "missing", f"write one of {offer}")
    values = reader.texts("values")
    readable = reader.raw("operator") == operator.value
    if readable and operator in _NEEDS_VALUES and not values:
        reader.problems.add(reader.at("values"), f"{operator.value} needs values", "list them")
    if readable and operator not in _NEEDS_VALUES and values:
        reader.problems.add(
            reader.at("values"), f"{operator.value} takes no values: {shown(values)}", "drop them"
        )
    reader.close()
    return Requirement(key or "", operator, frozenset(values))


def parse_selector(text: str) -> dict[str, Any]:
    """The `matchExpressions` of a selector; ValueError names the part that is not one."""
    parts = _split(text)
    if not parts:
        raise ValueError(f"an empty selector; {REMEDY}")
    return {"matchExpressions": [_parsed(part) for part in parts]}


def _split(text: str) -> list[str]:
    """The parts between commas outside of parentheses."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    stripped = [part.strip() for part in parts]
    return stripped if any(stripped) else []


def _parsed(part: str) -> dict[str, Any]:
    equal = _EQUAL.fullmatch(part)
    if equal:
        operator = "NotIn" if equal[2] == "!=" else "In"
        return {"key": equal[1], "operator": operator, "values": [equal[3]]}
    some = _SET.fullmatch(part)
    if some:
        values = [value.strip() for value in some[3].split(",")]
        operator = "In" if some[2] == "in" else "NotIn"
        return {"key": some[1], "operator": operator, "values": values}
    there = _THERE.fullmatch(part)
    if there:
        return {"key": there[2], "operator": "DoesNotExist" if there[1] else "Exists"}
    raise ValueError(f'"{part}" is not a requirement; {REMEDY}')
