"""A value replaced where a JSONPath of the existing promotion bot leads, all else left as it is.

Read are names and filters by equality, which is all that the bot's paths have:

    $.resourceTemplates[?(@.url == 'u')].targets[?(@.name == 'prod')].ref

The bot writes the whole file anew. A file that is written as its writer would write it comes out
the same; in any other, the bot also changes spaces and line breaks, and we do not.
"""

import re
from typing import Any

import msgspec

from tidegate.documents.strict_yaml import read_yaml
from tidegate.edit.edit import edit, read_original
from tidegate.edit.edits import Replace
from tidegate.edit.place import YamlPlace
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

_STEP = re.compile(
    r"\.(?P<name>[\w-]+)|"
    r"\[\?\(@\.(?P<field>[\w-]+) ?== ?(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\)\]"
)
_START = "---\n"


class _PathStep(msgspec.Struct, frozen=True):
    """Into a field; with a value, into the items of a list whose field has it."""

    field: str
    value: str | None

    def __str__(self) -> str:
        if self.value is None:
            return f".'{self.field}'"
        value = self.value.replace("'", "''")
        return f"['{self.field}'=='{value}']"


def replace_at(content: str, path: str, value: str) -> str:
    """The text with every value the path leads to replaced; as it was if there is none."""
    steps = _steps(path)
    if not _leads_somewhere(read_yaml("content", content).data, steps):
        return content
    place = YamlPlace("".join(str(each) for each in steps).removeprefix("."))
    data = content.encode()
    written = edit(read_original("content", data), [Replace(place, value)]).data.decode()
    return written if written.startswith(_START) else _START + written


def _steps(path: str) -> tuple[_PathStep, ...]:
    found: list[_PathStep] = []
    at = 1
    while path.startswith("$") and (step := _STEP.match(path, at)):
        at = step.end()
        value = step["single"] if step["double"] is None else step["double"]
        found.append(_PathStep(step["name"] or step["field"], value))
    if not found or at < len(path) or found[0].value is not None:
        remedy = "write one like $.targets[?(@.name == 'prod')].ref"
        raise UserError((Problem("search", f"{shown(path)} is no path that is read here", remedy),))
    return tuple(found)


def _leads_somewhere(data: Any, steps: tuple[_PathStep, ...]) -> bool:
    reached = [data]
    for step in steps:
        if step.value is None:
            objects = (each for each in reached if isinstance(each, dict))
            reached = [each[step.field] for each in objects if step.field in each]
        else:
            items = (one for each in reached if isinstance(each, list) for one in each)
            reached = [
                one for one in items if isinstance(one, dict) and one.get(step.field) == step.value
            ]
    return bool(reached)
