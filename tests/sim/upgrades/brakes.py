"""What people set to keep clusters from being upgraded, or to hurry one: written and remembered."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tests.sim.upgrades.record import Cluster
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Braked, Lifted
from tidegate.model.time import Instant, format_instant
from tidegate.store.port import Store

NEVER = Instant(0)


@dataclass
class Brake:
    """One of them, from when it is set to when it is lifted."""

    kind: str
    name: str
    scope: dict[str, Any]
    set_at: Instant
    # Of a freeze and an expedite: from when to when.
    start: Instant = NEVER
    end: Instant = NEVER
    # Of a block and an expedite.
    version: str = ""
    # None: it is still on.
    lifted_at: Instant | None = None

    def is_on(self, at: int, within: int) -> bool:
        """Whether it is on, and was set so long ago that everyone must know."""
        return self.set_at <= at - within and (self.lifted_at is None or self.lifted_at > at)

    def covers(self, cluster: Cluster, at: int) -> bool:
        """Whether it is about a cluster."""
        if "targets" in self.scope:
            return cluster.name in self.scope["targets"]
        if "selector" in self.scope:
            wanted = self.scope["selector"]["matchLabels"]
            labels = {**cluster.labels.at(at), "org": cluster.org, "env": cluster.env}
            return all(labels.get(name) == value for name, value in wanted.items())
        return True

    def spans(self, at: int) -> bool:
        """Whether a moment lies in its time."""
        return self.start <= at < self.end

    def concerns(self, version: str) -> bool:
        """Whether it is about a version."""
        return fnmatchcase(version, self.version)

    def document(self) -> dict[str, Any]:
        """As it is written down."""
        found = {"name": self.name, "scope": self.scope, "owner": "ada", "reason": "a story"}
        if self.kind == "freeze":
            found |= {"from": format_instant(self.start), "to": format_instant(self.end)}
        if self.kind == "block":
            found["revision"] = self.version
        if self.kind == "expedite":
            found |= {"version": self.version, "expires": format_instant(self.end)}
        return found


@dataclass
class Board:
    """All that people have set."""

    store: Store
    every: list[Brake] = field(default_factory=list)

    def set(self, brake: Brake) -> None:
        """A person sets it."""
        self.every.append(brake)
        fact = Braked(
            brake=brake.kind, name=brake.name, document=brake.document(), reason="a story"
        )
        self.store.append(BRAKES, [JournalNote(brake.set_at, "user:ada", fact)])

    def lift(self, brake: Brake, at: Instant) -> None:
        """A person lifts it."""
        brake.lifted_at = at
        fact = Lifted(brake=brake.kind, name=brake.name)
        self.store.append(BRAKES, [JournalNote(at, "user:ada", fact)])

    def on(self, kind: str, at: int, within: int = 0) -> list[Brake]:
        """Those of a kind that are on."""
        return [each for each in self.every if each.kind == kind and each.is_on(at, within)]
