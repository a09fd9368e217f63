"""Which targets are meant, as people write it: scopes of brakes, and label selectors.

scope: {everything: true}
scope: {selector: {matchLabels: {region: eu}}, kinds: [policies]}
scope: {targets: [prod-eu-1, prod-eu-2]}

A selector is spelt as in Kubernetes documents, or on one line as kubectl takes it:
`env=prod,region in (eu, us),!canary`. A line is made into the document that people write in files,
so that both are read by the same rules.
"""

import re
from typing import Any

from tidegate.documents.reader import Reader
from tidegate.gates.scope import EVERYTHING, KindOfChange, Scope
from tidegate.model.problem import Problems, nearest, shown
from tidegate.model.selector import Operator, Requirement, Selector

_NEEDS_VALUES = frozenset((Operator.IN, Operator.NOT_IN))
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_EQUAL = re.compile(rf"({_NAME})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)")
_SET = re.compile(rf"({_NAME})\s+(in|notin)\s*\(([^()]*)\)")
_THERE = re.compile(rf"(!?)\s*({_NAME})")
_SELECTOR_REMEDY = 'write it like "env=prod,region in (eu,us),!canary"'
_REMEDY = "write everything: true, kinds, a selector, or targets"
_FORMS = ("everything", "selector", "targets")


def read_scope(reader: Reader, *, default: Scope | None = None) -> Scope:
    """The scope in a brake's `scope`; without one the default, or a problem where there is none."""
    if not reader.has("scope"):
        if default is None:
            reader.problems.add(reader.at("scope"), "missing", _REMEDY)
        return default or EVERYTHING
    scope = reader.child("scope")
    written = [name for name in _FORMS if scope.has(name)]
    if len(written) > 1:
        beside = f"{' and '.join(written)} cannot be combined"
        scope.problems.add(scope.path, beside, "write one of them")
    kinds = read_kinds(scope)
    targets = frozenset(scope.texts("targets")) if scope.has("targets") else None
    if not written and not scope.has("kinds"):
        scope.problems.add(scope.path, "covers nothing", _REMEDY)
    if targets is not None and not targets:
        scope.problems.add(scope.at("targets"), "names no target", "name targets, or drop it")
    if targets is not None and any(not each.strip() for each in targets):
        scope.problems.add(scope.at("targets"), "has an empty name", "name the target, or drop it")
    if scope.has("everything") and not scope.flag("everything"):
        scope.problems.add(scope.at("everything"), "is not true", "write true, or drop it")
    selector = None
    if scope.has("selector"):
        selector = read_selector(scope.child("selector"))
        if not selector.requirements:
            scope.problems.add(
                scope.at("selector"), "an empty selector", "write everything: true if you mean it"
            )
    scope.close()
    return Scope(kinds, targets, selector)


def read_kinds(reader: Reader) -> frozenset[KindOfChange]:
    """The kinds of change in `kinds`; none if it is absent."""
    found = (read_kind(reader, "kinds", word) for word in reader.texts("kinds"))
    return frozenset(kind for kind in found if kind is not None)


def read_kind(reader: Reader, field: str, word: str) -> KindOfChange | None:
    """One kind of change by its name."""
    words = {kind.value: kind for kind in KindOfChange}
    if word not in words:
        remedy = nearest(word, words) or f"write one of {', '.join(words)}"
        reader.problems.add(reader.at(field), f"no kind {shown(word)}", remedy)
    return words.get(word)


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
        raise ValueError(f"an empty selector; {_SELECTOR_REMEDY}")
    return {"matchExpressions": [_parsed(part) for part in parts]}


def selector_of(text: str) -> Selector:
    """A selector as kubectl has it; ValueError names the part that is not one."""
    problems = Problems()
    found = read_selector(Reader(parse_selector(text), "", problems))
    if problems.errors:
        raise ValueError(problems.errors[0].text())
    return found


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
    raise ValueError(f'"{part}" is not a requirement; {_SELECTOR_REMEDY}')
