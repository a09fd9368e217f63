"""Hub templates, as far as Tidegate writes them: what a propagator makes of them for one cluster.

    {{hub fromConfigMap "" (printf "web-rev-%s" …) "0" | toLiteral hub}}

Anything else is an error, as it is on a hub: a simulated one must not know more than a real one.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from tidegate.model.json_text import decode_json

_TOKEN = re.compile(r'\s*(?:"([^"]*)"|([()|])|([.\w]+))')
_HUB = re.compile(r"\{\{hub (.*) hub\}\}")

# A key of a ConfigMap in the policy's own namespace; KeyError says what is missing.
Lookup = Callable[[str, str], str]


class HubTemplateError(Exception):
    """A template cannot be resolved."""


def resolve(text: str, cluster: str, lookup: Lookup) -> Any:
    """What a text becomes for a cluster; HubTemplateError says why it cannot."""
    found = _HUB.fullmatch(text)
    if found is None:
        raise HubTemplateError(f"not a hub template: {text}")
    tokens = [_token(each) for each in _TOKEN.finditer(found[1])]
    words = iter(tokens)
    value = _pipe(words, cluster, lookup)
    try:
        return decode_json(value)
    except ValueError as error:
        raise HubTemplateError(f"no literal: {error}") from None


def _token(found: re.Match[str]) -> tuple[str, str]:
    if found[1] is not None:
        return "text", found[1]
    return ("sign", found[2]) if found[2] else ("word", found[3])


def _pipe(words: Iterator[tuple[str, str]], cluster: str, lookup: Lookup) -> str:
    """A call, up to a closing parenthesis, a pipe or the end."""
    parts: list[str] = []
    for kind, word in words:
        if (kind, word) == ("sign", "("):
            parts.append(_pipe(words, cluster, lookup))
        elif (kind, word) == ("sign", ")"):
            break
        elif (kind, word) == ("sign", "|"):
            if next(words, ("", ""))[1] != "toLiteral":
                raise HubTemplateError("unknown function")
            break
        elif word == ".ManagedClusterName" and kind == "word":
            parts.append(cluster)
        else:
            parts.append(word)
    return _call(parts, lookup)


def _call(parts: list[str], lookup: Lookup) -> str:
    match parts:
        case ["printf", form, value]:
            return form.replace("%s", value)
        case ["fromConfigMap", "", name, key]:
            return lookup(name, key)
        case _:
            raise HubTemplateError(f"unknown function: {' '.join(parts)}")
