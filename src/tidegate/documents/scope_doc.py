"""Which targets a brake covers, as people write it.

scope: {everything: true}
scope: {selector: {matchLabels: {region: eu}}, kinds: [policies]}
scope: {targets: [prod-eu-1, prod-eu-2]}
"""

from tidegate.documents.reader import Reader
from tidegate.documents.selector_doc import read_selector
from tidegate.gates.scope import EVERYTHING, KindOfChange, Scope
from tidegate.model.problem import nearest, shown

_REMEDY = "write everything: true, kinds, a selector, or targets"
_WHOM = ("everything", "selector", "targets")


def read_scope(reader: Reader, *, default: Scope | None = None) -> Scope:
    """The scope in a brake's `scope`; without one the default, or a problem where there is none."""
    if not reader.has("scope"):
        if default is None:
            reader.problems.add(reader.at("scope"), "missing", _REMEDY)
        return default or EVERYTHING
    scope = reader.child("scope")
    written = [name for name in _WHOM if scope.has(name)]
    if len(written) > 1:
        beside = f"{' and '.join(written)} cannot be combined"
        scope.problems.add(scope.path, beside, "write one of them")
    kinds = read_kinds(scope)
    targets = frozenset(scope.texts("targets")) if scope.has("targets") else None
    if not written and not scope.has("kinds"):
        scope.problems.add(scope.path, "covers nothing", _REMEDY)
    if targets is not None and not targets:
        scope.problems.add(scope.at("targets"), "names no target", "name targets, or drop it")
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
