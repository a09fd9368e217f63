"""What was found in a bundle: where it stands, what stands there, and what to write instead."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

Step = str | int
Path = tuple[Step, ...]
Severity = Literal["error", "warning"]

# What a finding is about, in a word that people can search for; and what it says in general.
RULES = {
    "yaml": "A text that is no YAML, or means different things to different readers",
    "schema": "A field that is missing, unknown or of the wrong type",
    "value": "An amount, a schedule or a name that cannot be used",
    "reference": "A file that is named and is not there, or is something else",
    "spelling": "Two ways of saying the same thing that do not agree",
    "duplicate": "Two things of one name",
    "sharding": "Shards that cannot be worked out",
    "rollout": "Rules by which images move that cannot be used",
    "override": "An override that changes nothing, or is for nobody",
    "expired-pin": "An image of a shard's own whose time is over",
    "mutable-tag": "A tag in production that can become another image without a change here",
    "no-effect": "A field that nobody reads beside the others",
    "long-name": "A name that is cut, with a hash at its end, to fit",
    "unread": "A file that nothing is read from",
}


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong at a path of one document."""

    path: Path
    message: str
    rule: str
    remedy: str = ""
    value: str = ""
    severity: Severity = "error"
    # A field that is there and should not be, or has the wrong name: point at its name.
    key: str | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault, and the place of it in a file."""

    file: str
    line: int
    column: int
    severity: Severity
    rule: str
    path: str
    message: str
    remedy: str = ""
    value: str = ""


def path_text(path: Sequence[Step]) -> str:
    """`managed[0].spec.imageRef`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each once, by where they stand."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda each: (each.file, each.line, each.column, each.message)))
