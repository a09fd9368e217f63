"""The world of a story: a rollout document in the making, and a clock, both tersely written.

Everything a story decides on goes through the document reader, so a scenario shows what a user who
writes the same document gets, warnings and errors included.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from tidegate.kinds.rollouts.wire.rollout_doc import RolloutReading, read_rollout
from tidegate.model.time import Instant, format_instant, parse_duration, parse_instant

Doc = dict[str, Any]

BEGINNING = parse_instant("2026-01-01T00:00:00Z")
_RANGE = re.compile(r"(.*?)(\d+)\.\.(.*?)(\d+)")
# A range longer than this is a slip of the pen.
RANGE_MAX = 100_000


class StoryError(Exception):
    """A step is written wrongly; the story cannot be played."""


@dataclass
class Story:
    """What is declared, observed and remembered, as it would stand in a document."""

    now: Instant = BEGINNING
    # Groups by placement; under "" where there are no placements.
    groups: dict[str, list[Doc]] = field(default_factory=dict)
    statuses: list[Doc] = field(default_factory=list)
    strategy: Doc = field(default_factory=dict)
    revision: str | None = None
    rollout: Doc = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    brakes: Doc = field(default_factory=dict)
    complete: bool = True
    uids: int = 1

    def document(self) -> Doc:
        """The rollout document; what is not said is left out."""
        doc: Doc = {"now": format_instant(self.now), "strategy": self.strategy}
        if set(self.groups) <= {""}:
            doc["groups"] = self.groups.get("", [])
        else:
            doc["placements"] = [{"name": n, "groups": g} for n, g in self.groups.items()]
        doc["statuses"] = self.statuses
        if self.revision is not None:
            doc["revision"] = self.revision
        if self.rollout:
            doc["rollout"] = self.rollout
        if self.labels:
            doc["clusters"] = [{"name": n, "labels": its} for n, its in self.labels.items()]
        if self.brakes:
            doc["brakes"] = self.brakes
        if not self.complete:
            doc["complete"] = False
        return doc

    def read(self) -> RolloutReading:
        """The document as the rules see it; UserError if it cannot be used."""
        return read_rollout(self.document())

    def status(self, name: str) -> Doc:
        """What a cluster reported last; empty if nothing."""
        return next((one for one in self.statuses if one["cluster"] == name), {})

    def forget(self, names: set[str]) -> None:
        """Drop what clusters reported."""
        self.statuses = [one for one in self.statuses if one["cluster"] not in names]

    def hear(self, name: str, status: str, since: Instant | None, revision: str | None) -> None:
        """Write down what a cluster reports, beside whatever it reported before."""
        doc: Doc = {"cluster": name, "status": status}
        if since is not None:
            doc["lastTransitionTime"] = format_instant(since)
        if revision is not None:
            doc["revision"] = revision
        self.statuses.append(doc)

    def moment(self, text: str) -> Instant:
        """`now`, an offset like -2m or +1h, or an RFC 3339 time."""
        if text == "now":
            return self.now
        try:
            if text[0] in "+-":
                return Instant(self.now + parse_duration(text))
            return parse_instant(text)
        except ValueError as error:
            raise StoryError(f"{text}: {error}") from None


def names_of(words: list[str]) -> list[str]:
    """Cluster names; `c01..c20` stands for twenty of them."""
    found: list[str] = []
    for word in words:
        match = _RANGE.fullmatch(word)
        if match is None:
            found.append(word)
            continue
        prefix, first, again, last = match.groups()
        if prefix != again or not 0 < int(last) - int(first) < RANGE_MAX:
            raise StoryError(f"{word}: not a range like c01..c20")
        found += [f"{prefix}{n:0{len(first)}d}" for n in range(int(first), int(last) + 1)]
    return found


def pairs_of(words: list[str]) -> dict[str, Any]:
    """`key=value` words, the values as YAML reads them: 1 is a number, "1" and 10% are texts."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise StoryError(f"{word}: write key=value")
        found[key] = yaml.safe_load(value)
    return found


def yaml_of(lines: tuple[str, ...]) -> Any:
    """The input of a command as YAML."""
    return yaml.safe_load("\n".join(lines))
