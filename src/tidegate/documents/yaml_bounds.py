"""How deep and how long a YAML text may be, known before it is composed.

libyaml's composer recurses in C without a limit: some 20,000 brackets end the process. And an alias
costs nothing to write, while what it stands for is read again by every reader of the value. So both
are bounded here, for every text from outside.
"""

import re
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, SequenceNode

# Deeper documents are refused: nothing people write is, and recursion must have a bound.
DEPTH_MAX = 64
# How long a text may be, in bytes.
TEXT_BYTES_MAX = 32 << 20
# How many values a document has once its aliases are written out.
VALUES_MAX = 1_000_000

# Flow collections up to this many cannot nest deeper than the composer can go.
_FLOWS_MAX = 500
# A block nested that deeply begins on a line that begins with this much of indentation and
# indicators: each level needs a column, but for a list in an object.
_INDENTED = re.compile(r"\n[-?: \t]{200}")
_INDENTED_FIRST = re.compile(r"[-?: \t]{200}")


class YamlBoundError(yaml.MarkedYAMLError):
    """A text is too deep, too long, or means too much."""

    def __init__(self, what: str, mark: Any, remedy: str) -> None:
        super().__init__(problem=what, problem_mark=mark)
        self.remedy = remedy


def check_text(text: str) -> None:
    """YamlBoundError if a text is too long or too deep to be composed.

    Only a text that could be too deep is parsed for it, event by event: that takes no stack.
    """
    if len(text) <= _FLOWS_MAX:
        return  # it has too few characters to be; single values are read by the thousand
    if len(text) > TEXT_BYTES_MAX:
        what = f"longer than {TEXT_BYTES_MAX} characters"
        raise YamlBoundError(what, None, "split it")
    if (
        text.count("[") + text.count("{") <= _FLOWS_MAX
        and not _INDENTED.search(text)
        and not _INDENTED_FIRST.match(text)
    ):
        return
    depth, parser = 0, CParser(text)
    while (event := parser.get_event()) is not None:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_MAX + 1:
                what = f"nested deeper than {DEPTH_MAX}"
                raise YamlBoundError(what, event.start_mark, "flatten it")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def check_aliases(root: Node | None) -> None:
    """YamlBoundError if aliases make a document endless, or far longer than it is written."""
    if root is None:
        return
    # The number of values below a node; 0: it is being counted.
    sizes: dict[int, int] = {}
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, is_done = waiting.pop()
        parts = _parts(node)
        if is_done:
            size = 1 + sum(sizes[id(part)] for part in parts)
            if size > VALUES_MAX:
                what = f"more than {VALUES_MAX} values once its aliases are written out"
                raise YamlBoundError(what, node.start_mark, "write less, or without aliases")
            sizes[id(node)] = size
        elif id(node) not in sizes:
            sizes[id(node)] = 0
            waiting.append((node, True))
            for part in parts:
                if sizes.get(id(part)) == 0:
                    what = "an alias of something that it is in itself"
                    raise YamlBoundError(what, part.start_mark, "write the value out")
                waiting.append((part, False))


def _parts(node: Node) -> list[Node]:
    if isinstance(node, SequenceNode):
        return list(node.value)
    if isinstance(node, MappingNode):
        return [part for pair in node.value for part in pair]
    return []
