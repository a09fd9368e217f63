"""A YAML text as a tree that knows where every part stands, to the character.

The strict reader turns a text into data and refuses what is ambiguous. An edit of a file
must leave all that unchanged: tags, aliases, merge keys and `4.10` stay as they are. So
this tree is made of what the same parser in C reports, aliases are leaves, and two trees are
compared by their *shapes*: what is data, and nothing of how it is written.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
import yaml
from yaml._yaml import CParser

from tidegate.documents.strict_yaml import meaning
from tidegate.documents.yaml_bounds import DEPTH_MAX
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

Scalar = str | int | bool | None
# Data that an edit may add: scalars in objects and lists.
Data = Scalar | list[Any] | dict[str, Any]
Shape = tuple[Any, ...]
# What ends a line to a reader of YAML.
BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_PROPERTIES = re.compile("(?:[&!][^ \t\r\n\x85\u2028\u2029]*[ \t\r\n]*)*")


class Node(msgspec.Struct, kw_only=True, eq=False):
    """A part of a document: `text[start:end]`, its tag and anchor included."""

    kind: Literal["scalar", "alias", "list", "object"]
    start: int
    end: int
    line: int
    column: int
    tag: str = ""
    anchor: str = ""
    # What a scalar says, or the name an alias goes by.
    value: str = ""
    # How a scalar is written: "" for without quotes, or one of ' " | >.
    style: str = ""
    flow: bool = False
    # Of an object its names, one for each child; of a list nothing.
    keys: list["Node"] = []
    children: list["Node"] = []
    # What an alias stands for; None of anything else.
    target: "Node | None" = None

    def entry(self, index: int) -> "Node":
        """Where a child begins: at its name in an object."""
        return self.keys[index] if self.keys else self.children[index]

    def index_of(self, name: str) -> int | None:
        """The child of that name; None if there is none."""
        found = (at for at, key in enumerate(self.keys) if _is_name(key) and key.value == name)
        return next(found, None)


def _is_name(key: Node) -> bool:
    return key.kind == "scalar"


def documents(name: str, text: str) -> list[Node]:
    """The root of every document in a text; UserError with the line if it is no YAML."""
    try:
        return list(_Growing(name, text).documents())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or " ".join(str(error).split())
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = Problem(f"{name}{line}", f"no YAML: {what}", "fix it before it is edited")
        raise UserError((problem,)) from None


def lexeme(written: str) -> Node | None:
    """A single value that was written alone; None if the text is anything else, or more."""
    try:
        roots = documents("", written)
    except UserError:
        return None
    if not roots and not written:
        return Node(kind="scalar", start=0, end=0, line=1, column=0)
    plain = len(roots) == 1 and roots[0].kind == "scalar" and not (roots[0].tag or roots[0].anchor)
    return roots[0] if plain and (roots[0].start, roots[0].end) == (0, len(written)) else None


class _Growing:
    """Builds trees out of the parser's events."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._parser: Any = CParser(text)
        self._anchors: dict[str, Node] = {}

    def documents(self) -> Iterator[Node]:
        """Each root, in order."""
        while True:
            event = self._parser.get_event()
            if event is None or isinstance(event, yaml.StreamEndEvent):
                return
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
                yield self._node(self._parser.get_event(), 0)

    def _node(self, event: Any, depth: int) -> Node:
        mark = event.start_mark
        node = Node(
            kind="scalar",
            start=mark.index,
            end=event.end_mark.index,
            line=mark.line + 1,
            column=mark.column,
            keys=[],
            children=[],
        )
        if depth > DEPTH_MAX:
            raise self._refused(node, f"nested deeper than {DEPTH_MAX}", "flatten it")
        if isinstance(event, yaml.AliasEvent):
            node.kind, node.value = "alias", str(event.anchor)
            node.target = self._anchors.get(node.value)
            if node.target is None:
                raise self._refused(node, f"*{node.value} has no anchor", "write its value")
            return node
        node.tag, node.anchor = event.tag or "", event.anchor or ""
        if node.anchor:
            self._anchors[node.anchor] = node
        if isinstance(event, yaml.ScalarEvent):
            node.value, node.style = event.value, event.style or ""
            return node
        self._fill(node, event, depth)
        return node

    def _fill(self, node: Node, event: Any, depth: int) -> None:
        node.flow = bool(event.flow_style)
        node.kind = "list" if isinstance(event, yaml.SequenceStartEvent) else "object"
        while not isinstance(part := self._parser.get_event(), yaml.CollectionEndEvent):
            if node.kind == "object":
                node.keys.append(self._node(part, depth + 1))
                part = self._parser.get_event()
            node.children.append(self._node(part, depth + 1))
        node.end = getattr(part.end_mark, "index", node.start)

    def _refused(self, node: Node, what: str, remedy: str) -> UserError:
        return UserError((Problem(f"{self._name}:{node.line}", what, remedy),))


def walk(node: Node) -> Iterator[Node]:
    """A node and everything in it, names too; what an alias stands for is not in it."""
    yield node
    for part in (*node.keys, *node.children):
        yield from walk(part)


def shape(node: Node, instead: Mapping[int, Shape] | None = None) -> Shape:
    """What a node is as data; `instead` says what some of its parts, by `id`, are to be."""
    known = instead or {}
    if id(node) in known:
        return known[id(node)]
    if node.kind == "alias":
        return ("alias", node.value)
    if node.kind == "scalar":
        return (node.tag, node.anchor, *_said(node))
    parts = tuple(shape(child, known) for child in node.children)
    names = tuple(shape(key, known) for key in node.keys)
    return (node.kind, node.tag, node.anchor, names, parts)


def _said(node: Node) -> Shape:
    if node.style or node.tag:
        return ("str", node.value)
    value, doubt, _ = meaning(node.value)
    # What readers disagree about is compared as it is written.
    return ("as written", node.value) if doubt else (type(value).__name__, value)


def shape_of(data: Data, tag: str = "", anchor: str = "") -> Shape:
    """The shape that data has once it is written."""
    if isinstance(data, dict):
        names = tuple(shape_of(name) for name in data)
        return ("object", tag, anchor, names, tuple(shape_of(each) for each in data.values()))
    if isinstance(data, list):
        return ("list", tag, anchor, (), tuple(shape_of(each) for each in data))
    return (tag, anchor, type(data).__name__, data)


def content_start(text: str, node: Node) -> int:
    """Where a node begins after its tag and anchor."""
    if not (node.tag or node.anchor):
        return node.start
    found = _PROPERTIES.match(text, node.start, node.end)
    return found.end() if found else node.start


def content_end(node: Node) -> int:
    """Where the last character of a node stands: what ends a block reaches on to the next one."""
    while node.kind in {"list", "object"} and not node.flow and node.children:
        node = node.children[-1]
    return node.end


def written(text: str, node: Node) -> str:
    """How a node is written, without its tag and anchor."""
    return text[content_start(text, node) : content_end(node)]


def line_start(text: str, at: int) -> int:
    """Where the line of a position begins."""
    begin = 0
    for found in BREAK.finditer(text, _near(text, at), at):
        begin = found.end()
    return begin or _near(text, at)


def _near(text: str, at: int) -> int:
    """A line feed before the position, to look no further back; 0 if there is none."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Where the next line begins; the length of the text if there is none."""
    found = BREAK.search(text, at)
    return found.end() if found else len(text)


def lines_end(text: str, node: Node) -> int:
    """Where the line after the last one of a node begins."""
    last = node
    while last.kind in {"list", "object"} and not last.flow and last.children:
        last = last.children[-1]
    if last.style not in {"|", ">"}:
        return line_end(text, last.end)
    head = content_start(text, last)
    header = line_end(text, head)
    if "+" in text[head:header].partition("#")[0]:
        return last.end
    # Empty lines after a block of text are not part of it, unless it says so.
    body = text[header : last.end]
    kept = body.rstrip(" \t\r\n\x85\u2028\u2029")
    return line_end(text, header + len(kept)) if kept else header


def written_twice(name: str, first: Node, second: Node) -> Problem:
    """That a key has two values in one mapping of a file: which of them is read differs."""
    places = f"{name}:{first.line} and {name}:{second.line}"
    what = f"{shown(second.value)} is written twice: {places}"
    return Problem(f"{name}:{second.line}", what, "keep one of them")
