"""The facts of promotions: what was read, decided, offered, merged, checked and refused.

    PromotionRead      what is written where, and the newest version, where it differs from before
    PromotionDecided   a plan: the change to offer now, and whose gates say something else
    VersionRequested   a person requested a version for environments
    Offered            a version was offered for environments, on a branch or in a merge request
    MergeRequestSeen   a merge request changed its state
    Verified           whether what runs is what the files promise, where it differs from before
    PromotionRefused   an offer was not made: a gate, the bundle or the forge refused it

The partition is `promotions/NAME`, the targets are the environments of that promotion.
"""

import msgspec

from tidegate.git.history import SHORT, Commit
from tidegate.journal.fact import Fact, Mode, because, moment_text, register, some_names
from tidegate.journal.verdict_marks import (
    EVERY_GATE_OPEN,
    VerdictMark,
    asks_gate,
    changed_marks,
    changed_names,
    plan_news,
)
from tidegate.kinds.promotions.core.decide import VersionChange
from tidegate.kinds.promotions.core.model import Promotion, WrittenVersion
from tidegate.kinds.promotions.core.world import (
    CheckedIn,
    ImageState,
    OfferState,
    Relation,
    RequestedReading,
    RunningCheck,
    SchemasNeed,
)
from tidegate.model.time import Instant


class PromotionRead(Fact, frozen=True, tag="promotionRead", kw_only=True, omit_defaults=True):
    """The bundle, the artifact's repository and the registry were read; None: as before."""

    promotion: Promotion | None = None
    # The commit of the bundle.
    base: str | None = None
    written: tuple[WrittenVersion, ...] | None = None
    # Places that were not found, and files that cannot be read, by environment.
    missing: dict[str, tuple[str, ...]] | None = None
    unread: dict[str, tuple[str, ...]] | None = None
    # The newest commit of the artifact's branch.
    version: str | None = None
    # How that relates to each value that is written, and to each branch that is followed.
    relations: dict[str, Relation] | None = None
    # Commits that some environment does not have yet, the newest first; only the first of many.
    commits: tuple[Commit, ...] | None = None
    image: str | None = None
    image_state: ImageState | None = None
    # The schemas that the version needs; empty: none.
    schemas: tuple[SchemasNeed, ...] | None = None
    # What was read of versions that people requested, by the name of the request.
    requested: dict[str, RequestedReading] | None = None

    def line(self) -> str:
        """What is new."""
        parts: list[str] = []
        if self.promotion is not None:
            parts.append(f"declared for {some_names(e.name for e in self.promotion.environments)}")
        if self.version is not None:
            parts.append(f"newest version {self.version[:SHORT]}")
        if self.written is not None:
            values = dict.fromkeys(f"{w.environment} {w.value[:SHORT]}" for w in self.written)
            parts.append(f"written: {some_names(values)}")
        if self.image_state is not None:
            parts.append(f"image {self.image_state.value}")
        if self.unread:
            parts.append(f"unreadable: {some_names(self.unread)}")
        for ident, each in (self.requested or {}).items():
            parts.append(f"requested as {ident}: {each.problem or each.version[:SHORT]}")
        if self.base is not None and not parts:
            parts.append(f"read at {self.base[:SHORT]}")
        return "; ".join(parts) or "read, nothing new"

    def names(self, target: str) -> bool:
        """Whether what is written in an environment, or how it is declared, changed."""
        declared = self.promotion is not None and self.promotion.environment(target) is not None
        return declared or any(each.environment == target for each in self.written or ())


class PromotionTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change to offer, under the key of its decision: offered twice, it is one merge request."""

    key: str
    # The environments that it moves, with a comma between them.
    target: str
    change: VersionChange

    @property
    def name(self) -> str:
        """What it moves, as people call it."""
        return self.target


class EnvironmentVerdicts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What every gate says of one environment."""

    target: str
    verdicts: tuple[VerdictMark, ...]


class PromotionDecided(Fact, frozen=True, tag="promotionDecided", kw_only=True, omit_defaults=True):
    """A plan of a promotion, recorded before anything is done about it."""

    now: Instant
    mode: Mode
    version: str
    tasks: tuple[PromotionTask, ...] = ()
    changed: tuple[EnvironmentVerdicts, ...] = ()
    recheck_at: Instant | None = None
    # Of all verdicts of the plan, so that a replay can tell whether it decides the same.
    digest: str = ""

    def line(self) -> str:
        """What is offered, whose verdicts changed, and when to decide again."""
        verb = "" if self.mode is Mode.ACT else "would "
        offers = (
            f"{verb}offer {task.change.version[:SHORT]} to {task.target}" for task in self.tasks
        )
        parts = [some_names(offers) or f"nothing to offer of {self.version[:SHORT]}"]
        parts += plan_news(changed_names(self.changed), self.recheck_at)
        return "; ".join(parts)

    def line_of(self, target: str, gate: str) -> str:
        """What the plan says of one environment, of one gate, or of one gate there."""
        if not (target or gate):
            return self.line()
        return "; ".join(changed_marks(self.changed, target, gate)) or EVERY_GATE_OPEN

    def names(self, target: str) -> bool:
        """Whether something is offered to an environment, or its verdicts changed."""
        moved = {name for task in self.tasks for name in task.change.environments}
        return target in moved or any(each.target == target for each in self.changed)

    def asks(self, gate: str, target: str) -> bool:
        """Whether a verdict of the gate changed."""
        return asks_gate(self.changed, gate, target)


class VersionRequested(Fact, frozen=True, tag="versionRequested", kw_only=True, omit_defaults=True):
    """A person requested a version for environments, in the place of the newest one."""

    ident: str
    ref: str
    environments: tuple[str, ...]
    backward: bool = False
    reason: str = ""

    def line(self) -> str:
        """The version, the environments, and why."""
        back = ", even if it is older" if self.backward else ""
        what = f"requested {self.ref} for {some_names(self.environments)}{back}"
        return f"{what} ({self.ident}){because(self.reason)}"

    def names(self, target: str) -> bool:
        """Whether it is for an environment."""
        return target in self.environments


class Offered(Fact, frozen=True, tag="offered", kw_only=True, omit_defaults=True):
    """A version was offered for environments; an open offer of theirs was updated."""

    environments: tuple[str, ...]
    version: str
    branch: str
    commit: str
    # Empty and None: only a branch was pushed.
    url: str = ""
    number: int | None = None
    # What the gates said when it was decided, by environment.
    verdicts: dict[str, tuple[VerdictMark, ...]] = msgspec.field(default_factory=dict)
    reason: str = ""

    def line(self) -> str:
        """The version, the environments, and where."""
        where = self.url or f"branch {self.branch}"
        what = f"offered {self.version[:SHORT]} to {some_names(self.environments)} in {where}"
        return f"{what}{because(self.reason)}"

    def names(self, target: str) -> bool:
        """Whether it is for an environment."""
        return target in self.environments


class MergeRequestSeen(Fact, frozen=True, tag="mergeRequestSeen", kw_only=True, omit_defaults=True):
    """A merge request of an offer has another state than before."""

    branch: str
    state: OfferState
    url: str = ""
    number: int | None = None
    # The environments it is for, the account that merged or closed it, and the merge commit.
    environments: tuple[str, ...] = ()
    by: str = ""
    merged_as: str = ""

    def line(self) -> str:
        """The merge request and its state."""
        by = f" by {self.by}" if self.by else ""
        return f"{self.url or self.branch} is {self.state.value}{by}"

    def names(self, target: str) -> bool:
        """Whether it is for an environment."""
        return target in self.environments


class Verified(Fact, frozen=True, tag="verified", kw_only=True, omit_defaults=True):
    """What runs was compared with what the files promise; only what differs from before."""

    checks: tuple[RunningCheck, ...]

    def line(self) -> str:
        """Which environments run what they should, and which do not."""
        return some_names(_check_text(each) for each in self.checks)

    def names(self, target: str) -> bool:
        """Whether an environment was checked."""
        return any(each.environment == target for each in self.checks)


def _check_text(check: RunningCheck) -> str:
    if check.matches and check.seen_in is CheckedIn.BUNDLE:
        return f"{check.environment} has {check.version[:SHORT]} in its files"
    if check.matches:
        return f"{check.environment} runs {check.version[:SHORT]}"
    differing = some_names(check.differing)
    return f"{check.environment} does not run {check.version[:SHORT]}: {differing}"


class PromotionRefused(Fact, frozen=True, tag="promotionRefused", kw_only=True, omit_defaults=True):
    """An offer was not made, because something refused it right before."""

    environments: tuple[str, ...]
    version: str
    # A gate, `bundle` or `forge`.
    by: str
    why: str
    # What the gates said; by environment.
    verdicts: dict[str, tuple[VerdictMark, ...]] = msgspec.field(default_factory=dict)
    # When to try again; None: after `retry`, or with a newer version.
    until: Instant | None = None

    def line(self) -> str:
        """What was refused, by what, and why."""
        what = f"{self.version[:SHORT]} to {some_names(self.environments)}"
        again = f"; tried again at {moment_text(self.until)}" if self.until is not None else ""
        return f"{self.by} refused {what}: {self.why}{again}"

    def names(self, target: str) -> bool:
        """Whether it is about an environment."""
        return target in self.environments


PROMOTION_FACTS: tuple[type[Fact], ...] = (
    PromotionRead,
    PromotionDecided,
    VersionRequested,
    Offered,
    MergeRequestSeen,
    Verified,
    PromotionRefused,
)
register(*PROMOTION_FACTS)
