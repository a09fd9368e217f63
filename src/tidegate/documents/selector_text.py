"""Label selectors on one line, as kubectl takes them: `env=prod,region in (eu, us),!canary`.

The result is the document people write in files, so that both are read by the same rules.
"""

import re
from typing import Any

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_EQUAL = re.compile(rf"({_NAME})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)")
_SET = re.compile(rf"({_NAME})\s+(in|notin)\s*\(([^()]*)\)")
_THERE = re.compile(rf"(!?)\s*({_NAME})")
REMEDY = 'write it like "env=prod,region in (eu,us),!canary"'


def parse_selector(text: str) -> dict[str, Any]:
    """The `matchExpressions` of a selector; ValueError names the part that is not one."""
    parts = _split(text)
    if not parts:
        raise ValueError(f"an empty selector; {REMEDY}")
    return {"matchExpressions": [_requirement(part) for part in parts]}


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


def _requirement(part: str) -> dict[str, Any]:
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
