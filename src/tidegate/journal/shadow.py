"""Our decisions beside those of another system, over the time that a journal covers."""

import msgspec

from tidegate.model.time import Instant


class ShadowDecision(msgspec.Struct, frozen=True, kw_only=True):
    """One change that one of both asked for: since when each did, and why the other did not."""

    target: str
    # What it is; empty: the revision that goes out.
    what: str = ""
    ours_at: Instant | None = None
    theirs_at: Instant | None = None
    why: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether both asked for it."""
        return self.ours_at is not None and self.theirs_at is not None


class Shadowed(msgspec.Struct, frozen=True, kw_only=True):
    """What a period of shadowing shows."""

    decisions: tuple[ShadowDecision, ...]
    # What we would have started and the other system has not yet: no difference so far.
    ours_only: tuple[ShadowDecision, ...] = ()
    # How many observations were decided on by both; None: theirs are only observed.
    looks: int | None = None
    began_at: Instant | None = None
    ended_at: Instant | None = None

    @property
    def differ(self) -> tuple[ShadowDecision, ...]:
        """The decisions in which the two differ."""
        return tuple(each for each in self.decisions if not each.is_equal)
