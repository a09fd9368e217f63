"""Data written as YAML that every reader reads alike.

A text without quotes is written only where YAML 1.1 and 1.2 both read it as that text: `1234567`,
`12e4567`, `0302051` and `yes` get quotes, `f929a38` needs none.
"""

import re

from yaml.resolver import Resolver

from tidegate.documents.strict_yaml import meaning
from tidegate.edit.tree import Data, Scalar
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

# Characters that start or end nothing, in a block and within brackets.
_BARE = re.compile(r"[A-Za-z0-9_/.$+][A-Za-z0-9_./@$+-]*(?:[ :]?[A-Za-z0-9_./@$+-]+)*")
_STEP = 2
# YAML's escapes inside double quotes that have a letter of their own.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def is_plain(text: str) -> bool:
    """Whether a text needs no quotes, to any reader."""
    if not _BARE.fullmatch(text) or text.startswith(("---", "...")):
        return False
    value, doubt, _ = meaning(text)
    return isinstance(value, str) and not doubt and not _typed_in_yaml_11(text)


def _typed_in_yaml_11(text: str) -> bool:
    known = Resolver.yaml_implicit_resolvers
    return any(pattern.match(text) for _, pattern in known.get(text[0], ()))


def scalar(value: Scalar, style: str = "") -> str:
    """A scalar on one line, with the quotes of `style` if it is a text; others if it must be."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if style not in {"'", '"'} and is_plain(value):
        return value
    if style != '"' and all(_is_shown(letter) for letter in value):
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(_escaped(letter) for letter in value) + '"'


def _is_shown(letter: str) -> bool:
    return letter.isprintable() and ord(letter) < 0x10000


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return f"\\U{ord(letter):08x}"


def flow(data: Data) -> str:
    """Data within brackets, on one line."""
    if isinstance(data, dict):
        return "{" + ", ".join(f"{scalar(k)}: {flow(v)}" for k, v in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(map(flow, data)) + "]"
    return scalar(data)


def block(data: Data, *, list_step: int) -> list[str]:
    """Data on lines of its own; lists in objects are indented by `list_step`."""
    if isinstance(data, dict) and data:
        return [line for name, each in data.items() for line in pair(name, each, list_step)]
    if isinstance(data, list) and data:
        return [line for each in data for line in item(each, 1, list_step)]
    return [flow(data)]


def pair(name: str, data: Data, list_step: int) -> list[str]:
    """A field of an object, on lines of its own."""
    lines = block(data, list_step=list_step)
    if not (isinstance(data, dict | list) and data):
        return [f"{scalar(name)}: {lines[0]}"]
    step = list_step if isinstance(data, list) else _STEP
    return [f"{scalar(name)}:", *(" " * step + line for line in lines)]


def item(data: Data, gap: int, list_step: int) -> list[str]:
    """An item of a list, on lines of its own, so many spaces after its dash."""
    first, *rest = block(data, list_step=list_step)
    return ["-" + " " * gap + first, *(" " * (1 + gap) + line for line in rest)]


def check(data: object, what: str, depth: int = 0) -> None:
    """UserError unless this is data that can be written."""
    problem = ""
    if depth > 16:
        problem = "is nested too deep to be added"
    elif isinstance(data, dict):
        for name, each in data.items():
            if not isinstance(name, str):
                problem = f"has the name {shown(name)}, which is no text"
                break
            check(name, what)
            check(each, what, depth + 1)
    elif isinstance(data, list):
        for each in data:
            check(each, what, depth + 1)
    elif isinstance(data, str):
        if any(0xD800 <= ord(letter) < 0xE000 for letter in data):
            problem = f"is {data!a}, which is no Unicode text"
    elif data is not None and not isinstance(data, int):
        problem = f"is {shown(data)}, a {type(data).__name__}"
    if problem:
        remedy = "write texts, whole numbers, true or false, in objects and lists"
        raise UserError((Problem("", f"the value for {what} {problem}", remedy),))
