"""YAML read strictly: one meaning for every scalar, or an error that says what to write.

YAML 1.1 and 1.2 read `no`, `012`, `22:22`, `4.10` or an unquoted short commit like `12e4567`
differently, and a duplicate key silently loses the first value. Here each of those is a problem
with its line and a remedy. Nodes are composed by libyaml in C; only the last step, from nodes to
values, is ours, which is both the strict part and the fast one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import yaml
from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tidegate.documents.yaml_bounds import DEPTH_MAX, YamlBoundError, check_aliases, check_text
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(
    ("false", "False", "FALSE"), False
)
_OLD_BOOLS = frozenset(
    case(word)
    for word in ("yes", "no", "on", "off", "y", "n")
    for case in (str, str.title, str.upper)
)
# Words without quotes that are no texts, or not to every reader.
WORDS = frozenset((*_NULLS, *_BOOLS, *_OLD_BOOLS))
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
# Nothing that is counted has so many; Python reads no number of over 4,300.
DIGITS_MAX = 100
# Numbers to one reader and texts to another: leading zeros, octals, 1_000, 22:22.
_MURKY = re.compile(
    r"[-+]?0[0-9_]+|[-+]?0[oxb][0-9a-fA-F_]+|[-+]?[0-9][0-9]*_[0-9_]*|[0-9]+(:[0-5]?[0-9])+"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
    re.ASCII,
)


class Trap(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a YAML text that has no meaning, or more than one."""

    line: int
    column: int
    message: str
    remedy: str = ""
    value: str = ""
    # Whether only we mind: another reader of YAML takes it, and reads it in its own way.
    lenient: bool = False


class YamlDocument:
    """The data of one YAML document, and the position of each part in the file."""

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

    def located(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """The same problems, each with its line in the file."""
        return tuple(
            Problem(
                ": ".join(filter(None, (self.where(each.path), each.path))),
                each.message,
                each.remedy,
            )
            for each in problems
        )

    def position(self, path: Sequence[str | int]) -> tuple[int, int]:
        """Line and column of a path, or of its nearest parent; counted from 1."""
        node = self._root
        for step in path:
            if node is None:
                break
            child = _child(node, f"[{step}]" if isinstance(step, int) else step)
            if child is None:
                break
            node = child
        return (1, 1) if node is None else (node.start_mark.line + 1, node.start_mark.column + 1)

    def position_of_key(self, path: Sequence[str | int], key: str) -> tuple[int, int]:
        """Line and column of the name of a field itself; of what holds it if it is not there."""
        node = self._root
        for step in path:
            found = (
                None
                if node is None
                else _child(node, f"[{step}]" if isinstance(step, int) else step)
            )
            node = found if found is not None else node
        for name, _ in node.value if isinstance(node, MappingNode) else ():
            if name.value == key:
                return name.start_mark.line + 1, name.start_mark.column + 1
        return self.position(path)

    def path_at(self, line: int, column: int) -> tuple[str | int, ...]:
        """The path of what starts there, by its name or its value; empty if nothing does."""
        waiting: list[tuple[tuple[str | int, ...], Node]] = []
        if self._root is not None:
            waiting.append(((), self._root))
        seen: set[int] = set()
        while waiting:
            path, node = waiting.pop()
            if (node.start_mark.line + 1, node.start_mark.column + 1) == (line, column) and path:
                return path
            if id(node) in seen or isinstance(node, ScalarNode):
                continue
            seen.add(id(node))
            if isinstance(node, SequenceNode):
                waiting.extend(((*path, at), each) for at, each in enumerate(node.value))
            else:
                for key, value in node.value:
                    name = key.value if isinstance(key, ScalarNode) else "?"
                    waiting += (((*path, name), value), ((*path, name), key))
        return ()


def read_yaml(name: str, text: str) -> YamlDocument:
    """Read one document; UserError lists every problem with its line."""
    try:
        root = _single(text.removeprefix("\ufeff"))
    except yaml.MarkedYAMLError as error:
        problem = _syntax(error, text)
        raise UserError((problem,), where=_at(name, error.problem_mark)) from None
    except yaml.YAMLError as error:
        raise UserError((Problem("", " ".join(str(error).split())),), where=name) from None
    builder = _Builder()
    data = builder.build(root, 0) if root is not None else None
    if builder.traps:
        raise UserError(
            tuple(
                Problem(f"{name}:{trap.line}:{trap.column}", trap.message, trap.remedy)
                for trap in builder.traps
            )
        )
    return YamlDocument(name, data, root)


def read_documents(name: str, text: str) -> list[tuple[YamlDocument, list[Trap]]]:
    """Every document of a text with its problems; a syntax error ends the list."""
    found: list[tuple[YamlDocument, list[Trap]]] = []
    try:
        for root in _roots(text.removeprefix("\ufeff")):
            builder = _Builder()
            data = builder.build(root, 0) if root is not None else None
            found.append((YamlDocument(name, data, root), builder.traps))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = (
            _syntax(error, text)
            if isinstance(error, yaml.MarkedYAMLError)
            else Problem("", " ".join(str(error).split()), "save the file as UTF-8 text")
        )
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        trap = Trap(line=line, column=column, message=problem.message, remedy=problem.remedy)
        found.append((YamlDocument(name, None, None), [trap]))
    return found


def lines_of(text: str) -> list[dict[str, int]]:
    """The line of everything in every document, by path, `managed[0].spec`."""
    found: list[dict[str, int]] = []
    for root in _roots(text.removeprefix("\ufeff")):
        one: dict[str, int] = {}
        _note_lines(root, "", one, 0)
        found.append(one)
    return found


def _note_lines(node: Node | None, path: str, into: dict[str, int], depth: int) -> None:
    if node is None or depth > DEPTH_MAX:
        return
    if path:
        into[path] = node.start_mark.line + 1
    if isinstance(node, SequenceNode):
        for at, each in enumerate(node.value):
            _note_lines(each, f"{path}[{at}]", into, depth + 1)
    elif isinstance(node, MappingNode):
        for key, each in node.value:
            name = str(key.value)
            _note_lines(each, f"{path}.{name}" if path else name, into, depth + 1)


def read_value(text: str) -> tuple[bool, Any]:
    """What a text on one line means as the value of a field; False where it is not one alone."""
    try:
        root = _single(text)
    except yaml.YAMLError:
        return False, None
    block = isinstance(root, MappingNode | SequenceNode) and not root.flow_style
    if root is None or block:
        return False, None
    builder = _Builder()
    data = builder.build(root, 0)
    return not builder.traps, data


class _Composer(CParser):
    """Composes nodes without resolving tags: what a scalar means is decided below, once.

    Asked for the tag of every untagged node, it answers with a constant, so that no resolver
    pattern runs; called on the way down and up as well, it does nothing.
    """

    resolve = descend_resolver = ascend_resolver = "".format


def _single(text: str) -> Node | None:
    """The root of the one document in a text."""
    check_text(text)
    root: Node | None = _Composer(text).get_single_node()
    if "*" in text:
        check_aliases(root)
    return root


def _roots(text: str) -> Iterator[Node | None]:
    """The root of each document in a text."""
    check_text(text)
    composer = _Composer(text)
    while composer.check_node():
        root = composer.get_node()
        if "*" in text:
            check_aliases(root)
        yield root


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
    if isinstance(error, YamlBoundError):
        return Problem("", what, error.remedy)
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    remedy = "indent with spaces, not tabs" if line.lstrip(" ").startswith("\t") else ""
    if "found another document" in what or "expected a single document" in str(error.context):
        what, remedy = "a second document", "put each document into a file of its own"
    return Problem("", what, remedy)


def meaning(text: str) -> tuple[Any, str, str]:
    """What a scalar without quotes means; what is wrong with it, and what to write, if anything."""
    if text in _NULLS:
        return None, "", ""
    if text in _BOOLS:
        return _BOOLS[text], "", ""
    if text in _OLD_BOOLS:
        what = f"{text} is true or false to some readers"
        return text, what, "write true or false, or quote it"
    if text[0].isalpha():
        return text, "", ""
    if _INT.fullmatch(text):
        if len(text) > DIGITS_MAX:
            return text, f"a number of more than {DIGITS_MAX} digits", "quote it, if it is a text"
        return int(text), "", ""
    if _MURKY.fullmatch(text):
        return text, f"{text} is a number to some readers", "quote it, or write a plain number"
    if _FLOAT.fullmatch(text):
        number = float(text)
        lost = repr(number) != text
        return number, f"{text} reads as the number {number!r}" if lost else "", "quote it"
    return text, "", ""


class _Builder:
    """From nodes to values; what is ambiguous becomes a problem."""

    def __init__(self) -> None:
        self.traps: list[Trap] = []
        self._shared: dict[int, Any] = {}

    def build(self, node: Node, depth: int) -> Any:
        """The value of a node; aliases stay shared, so that an alias bomb costs nothing."""
        if depth > DEPTH_MAX:
            self._wrong(node, f"nested deeper than {DEPTH_MAX}", "flatten it", lenient=False)
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
                self._wrong(key, "a key that is not a text", "write a plain name")
                continue
            if key.value == "<<" and not key.style:
                self._wrong(key, "a merge key", "write the fields out")
                continue
            if key.value in found:
                what = f"{shown(key.value)} appears twice"
                self._wrong(key, what, "keep one of them", lenient=False)
            found[key.value] = self.build(value, depth + 1)
        return found

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        if node.tag and node.tag != "!":
            self._wrong(node, f"tag {node.tag}", "drop it: tags are not used here")
        if node.style or node.tag:  # quoted, or a block
            return text
        value, what, remedy = meaning(text)
        if what:
            self._wrong(node, what, remedy)
        return value

    def _wrong(self, node: Node, what: str, remedy: str, *, lenient: bool = True) -> None:
        mark = node.start_mark
        value = node.value if isinstance(node, ScalarNode) else ""
        trap = Trap(
            line=mark.line + 1,
            column=mark.column + 1,
            message=what,
            remedy=remedy,
            value=value,
            lenient=lenient,
        )
        self.traps.append(trap)
