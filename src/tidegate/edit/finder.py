"""Finds what a place names in the trees of a file, or says at which step it is not there.

What is found is a *trail*: the number of a document, then the number of a child at each step. It
stays true while the text after it changes, so several finds are edited from the last to the first.
"""

from collections.abc import Iterator

from tidegate.edit.place import (
    FieldIs,
    FieldStep,
    Item,
    KeyPlace,
    Matching,
    Step,
    YamlPlace,
    parse_path,
)
from tidegate.edit.tree import Node, written_twice
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all, shown

Trail = tuple[int, ...]

_NOUNS = {"scalar": "a single value", "list": "a list", "object": "an object"}


def chain(roots: list[Node], trail: Trail) -> list[Node]:
    """Every node of a trail, from the root to what was found."""
    nodes = [roots[trail[0]]]
    for at in trail[1:]:
        nodes.append(nodes[-1].children[at])
    return nodes


def exact(roots: list[Node], trail: Trail) -> YamlPlace:
    """The place that names one find and nothing else."""
    path, nodes = "", chain(roots, trail)
    for node, at in zip(nodes, trail[1:], strict=False):
        if node.kind == "list":
            path += f"[{at}]"
        else:
            name = node.keys[at].value.replace("'", "''")
            path += f".'{name}'" if path else f"'{name}'"
    return YamlPlace(path, document=trail[0])


def find(name: str, roots: list[Node], place: YamlPlace | KeyPlace) -> list[Trail]:
    """The trails to everything a place names, in the order of the file.

    A path that does not exist is a UserError; a key that does not exist is found at no place.
    """
    if isinstance(place, KeyPlace):
        found = [t for at, root in enumerate(roots) for t in _keys(root, place.key, (at,))]
        kept = {id(chain(roots, trail)[-1]) for trail in found}
        # An alias to a value that is found itself changes with it.
        return [t for t in found if id(chain(roots, t)[-1].target) not in kept]
    search = _Search(name)
    steps = parse_path(place.path)
    trails: list[Trail] = []
    for at, root in enumerate(roots):
        if place.document is None or place.document == at:
            trails += search.follow(root, steps, (at,))
    if search.refused:
        raise UserError(tuple(search.refused))
    if not trails:
        none = Problem(name, f"there is no document {place.document or 0}", "name one that is")
        raise UserError(tuple(search.missing[:1]) or (none,))
    return trails


def _keys(node: Node, key: str, trail: Trail) -> Iterator[Trail]:
    for at, child in enumerate(node.children):
        if node.keys and node.keys[at].kind == "scalar" and node.keys[at].value == key:
            yield (*trail, at)
        yield from _keys(child, key, (*trail, at))


class _Search:
    """One path followed through every document."""

    def __init__(self, name: str) -> None:
        self._name = name
        # Why the path ended without a find; reported if it ended so everywhere.
        self.missing: list[Problem] = []
        # What the path meets that cannot be edited in place; always reported.
        self.refused: list[Problem] = []

    def follow(self, node: Node, steps: tuple[Step, ...], trail: Trail) -> list[Trail]:
        """The trails of the rest of a path, from a node on."""
        if not steps:
            return [trail]
        if node.kind == "alias":
            what = f"*{node.value} stands for what is written elsewhere"
            self.refused.append(self._at(node, what, "write it out here, or edit it there"))
            return []
        step, rest = steps[0], steps[1:]
        wanted = "object" if isinstance(step, FieldStep) else "list"
        if node.kind != wanted:
            what = f"{_NOUNS[node.kind]}, where {_said(step)} asks for {_NOUNS[wanted]}"
            self.missing.append(self._at(node, what, "name a place that is there"))
            return []
        return [
            found
            for at in self._chosen(node, step)
            for found in self.follow(node.children[at], rest, (*trail, at))
        ]

    def _chosen(self, node: Node, step: Step) -> list[int]:
        match step:
            case FieldStep(name):
                return self._field(node, name)
            case Item(number):
                every = range(len(node.children))
                chosen = [at for at in every if number is None or at == number]
            case Matching(tests):
                items = enumerate(node.children)
                chosen = [at for at, each in items if all(_passes(each, test) for test in tests)]
        if not chosen:
            what = f"no item {_said(step)} in a list of {len(node.children)}"
            self.missing.append(self._at(node, what, self._items(node, step)))
        return chosen

    def _field(self, node: Node, name: str) -> list[int]:
        same = [at for at, key in enumerate(node.keys) if key.value == name]
        if len(same) > 1:
            first, second = (node.keys[at] for at in same[:2])
            self.refused.append(written_twice(self._name, first, second))
            return []
        if same:
            return same
        at = node.index_of("<<")
        if at is not None and (merged := node.children[at]).target is not None:
            if merged.target.index_of(name) is not None:
                what = f"{shown(name)} comes from *{merged.value}"
                self.refused.append(self._at(merged, what, "write the field out here"))
                return []
        names = (key.value for key in node.keys if key.kind == "scalar")
        what = f"no field {shown(name)}"
        self.missing.append(self._at(node, what, nearest_or_all(name, names)))
        return []

    def _items(self, node: Node, step: Step) -> str:
        if not isinstance(step, Matching):
            return "count from 0"
        fields, value = step.tests[0].fields, step.tests[0].value
        texts = (_text(each, fields) for each in node.children)
        return nearest_or_all(value, [text for text in texts if text is not None])

    def _at(self, node: Node, what: str, remedy: str) -> Problem:
        return Problem(f"{self._name}:{node.line}", what, remedy)


def _said(step: Step) -> str:
    match step:
        case FieldStep(name):
            return shown(name)
        case Item(number):
            return f"[{'*' if number is None else number}]"
        case Matching(tests):
            return f"[{' && '.join(map(str, tests))}]"


def _passes(node: Node, test: FieldIs) -> bool:
    return _text(node, test.fields) == test.value


def _text(node: Node, fields: tuple[str, ...]) -> str | None:
    """What stands in a field of an item; None if it is no single value or reference."""
    node = node.target or node
    for field in fields:
        at = node.index_of(field)
        if at is None:
            return None
        node = node.children[at].target or node.children[at]
    if node.kind == "object" and [key.value for key in node.keys] == ["$ref"]:
        node = node.children[0]
    return node.value if node.kind == "scalar" else None
