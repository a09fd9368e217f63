"""YAML read strictly: one meaning for every scalar, or an error that says what to write.

YAML 1.1 and 1.2 read `no`, `012`, `22:22`, `4.10` or an unquoted short commit like `12e4567`
differently, and a duplicate key silently loses the first value. Here each of those is a problem
with its line and a remedy. Nodes are composed by libyaml in C; only the last step, from nodes to
values, is ours, which is both the strict part and the fast one.
"""

import re
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tidegate.core.errors import UserError
from tidegate.core.model.problem import Problem, Problems, shown

# Deeper documents are refused: nothing people write is, and recursion must have a bound.
DEPTH_MAX = 64

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(
    ("false", "False", "FALSE"), False
)
_OLD_BOOLS = frozenset(
    case(word)
    for word in ("yes", "no", "on", "off", "y", "n")
    for case in (str, str.title, str.upper)
)
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
# Numbers to one reader and texts to another: leading zeros, octals, 1_000, 22:22.
_MURKY = re.compile(
    r"[-+]?0[0-9_]+|[-+]?0[oxb][0-9a-fA-F_]+|[-+]?[0-9][0-9]*_[0-9_]*|[0-9]+(:[0-5]?[0-9])+"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
    re.ASCII,
)


class Document:
    """The data of one YAML document, and where in the file each part stands."""

    def __init__(self, name: str, data: Any, root: Node | None) -> None:
        self.name = name
        self.data = data
        self._root = root

    def where(self, path: str) -> str:
        """`file:line:column` of a path like `groups[2].clusters[0]`, or of its nearest parent."""
        node = self._root
        if node is None:
            return self.name
        for key in re.findall(r"[^.\[\]]+|\[\d+\]", path):
            child = _child(node, key)
            if child is None:
                break
            node = child
        mark = node.start_mark
        return f"{self.name}:{mark.line + 1}:{mark.column + 1}"


def read_yaml(name: str, text: str) -> Document:
    """Read one document; UserError lists every problem with its line."""
    try:
        root = _Composer(text.removeprefix("\ufeff")).get_single_node()
    except yaml.MarkedYAMLError as error:
        problem = _syntax(error, text)
        raise UserError((problem,), where=_at(name, error.problem_mark)) from None
    except yaml.YAMLError as error:
        raise UserError((Problem("", " ".join(str(error).split())),), where=name) from None
    problems = Problems()
    data = _Builder(name, problems).build(root, 0) if root is not None else None
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return Document(name, data, root)


class _Composer(CParser):
    """Composes nodes without resolving tags: what a scalar means is decided below, once."""

    def resolve(self, *_: Any) -> str:
        """The tag of an untagged node; a constant, so that no resolver pattern runs."""
        return ""

    def descend_resolver(self, *_: Any) -> None:
        """Called on the way down; a resolver by path would need it, we have none."""

    def ascend_resolver(self, *_: Any) -> None:
        """Called on the way up, likewise."""


def _child(node: Node, key: str) -> Node | None:
    if isinstance(node, SequenceNode) and key.startswith("["):
        items: list[Node] = node.value
        return next(iter(items[int(key[1:-1]) :]), None)
    pairs: list[tuple[Node, Node]] = node.value if isinstance(node, MappingNode) else []
    for name, value in pairs:
        if isinstance(name, ScalarNode) and name.value == key:
            return value
    return None


def _at(name: str, mark: Any) -> str:
    return f"{name}:{mark.line + 1}:{mark.column + 1}" if mark is not None else name


def _syntax(error: yaml.MarkedYAMLError, text: str) -> Problem:
    what, mark = error.problem or error.context or "not YAML", error.problem_mark
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    remedy = "indent with spaces, not tabs" if line.lstrip(" ").startswith("\t") else ""
    if "found another document" in what or "expected a single document" in str(error.context):
        what, remedy = "a second document", "put each document into a file of its own"
    return Problem("", what, remedy)


class _Builder:
    """From nodes to values; what is ambiguous becomes a problem."""

    def __init__(self, name: str, problems: Problems) -> None:
        self._name = name
        self._problems = problems
        self._shared: dict[int, Any] = {}

    def build(self, node: Node, depth: int) -> Any:
        """The value of a node; aliases stay shared, so that an alias bomb costs nothing."""
        if depth > DEPTH_MAX:
            self._wrong(node, f"nested deeper than {DEPTH_MAX}", "flatten it")
            return None
        known = self._shared.get(id(node))
        if known is not None:
            return known
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if node.tag:
            self._wrong(node, f"tag {node.tag}", "drop it: tags are not used here")
        if isinstance(node, SequenceNode):
            items: list[Any] = []
            self._shared[id(node)] = items
            items.extend(self.build(item, depth + 1) for item in node.value)
            return items
        return self._mapping(node, depth) if isinstance(node, MappingNode) else None

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._shared[id(node)] = found
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self._wrong(key, "a key that is no text", "write a plain name")
                continue
            if key.value == "<<" and not key.style:
                self._wrong(key, "a merge key", "write the fields out")
                continue
            if key.value in found:
                self._wrong(key, f"{shown(key.value)} stands twice", "keep one of them")
            found[key.value] = self.build(value, depth + 1)
        return found

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        if node.tag and node.tag != "!":
            self._wrong(node, f"tag {node.tag}", "drop it: tags are not used here")
        if node.style or node.tag:  # quoted, or a block
            return text
        if text in _NULLS:
            return None
        if text in _BOOLS:
            return _BOOLS[text]
        if text in _OLD_BOOLS:
            self._wrong(
                node, f"{text} is true or false to some readers", "write true or false, or quote it"
            )
        elif _INT.fullmatch(text):
            return int(text)
        elif _MURKY.fullmatch(text):
            self._wrong(
                node, f"{text} is a number to some readers", "quote it, or write a plain number"
            )
        elif _FLOAT.fullmatch(text):
            return self._float(node, text)
        return text

    def _float(self, node: ScalarNode, text: str) -> float:
        number = float(text)
        if repr(number) != text:
            self._wrong(node, f"{text} reads as the number {number!r}", "quote it")
        return number

    def _wrong(self, node: Node, what: str, remedy: str) -> None:
        self._problems.add(_at(self._name, node.start_mark), what, remedy)
