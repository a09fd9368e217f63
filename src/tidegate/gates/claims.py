"""What several rollouts share, while one plan is made: the places taken, and those left.

A claim is one place that a target has: one of many in a budget, the only one of a mutex. The claims
of the whole world come in as a snapshot; targets of this very rollout that are changed and not yet
soaked count too, claimed or not; and whatever the plan starts is counted at once, so that no round
ever goes over a limit. Taking a claim for good is a conditional insert, elsewhere: the plan only
says which ones it needs.
"""

from collections.abc import Iterable

import msgspec

from tidegate.model.time import Instant

# A verdict names this many holders; more would not fit on a line.
NAMES_MAX = 3


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One place of a budget or mutex, and the target that has it."""

    name: str  # mutex/db, budget/eu-cap, budget/eu-cap/eu
    target: str
    # Whose rollout it is, and which of its tasks.
    partition: str = ""
    key: str = ""
    # None: it does not say.
    since: Instant | None = None
    place: int = 0


class ClaimHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A target that has a place."""

    target: str
    by: str
    since: Instant | None = None
    # When its soak is over; None: not for time alone to say.
    frees_at: Instant | None = None
    # It failed: it keeps the place until it is retried or gets a new revision.
    failed: bool = False


class ClaimPool:
    """The places of one budget or mutex."""

    def __init__(self, name: str, limit: int, claims: Iterable[Claim], partition: str) -> None:
        self.name = name
        self.limit = limit
        self.holders: list[ClaimHolder] = []
        self.started: list[str] = []
        self.wanted: list[Claim] = []
        self.taken = 0  # how often something was given out: what was said before is old then
        self._known: dict[str, int] = {}  # target to the holder that stands for this rollout's
        self._own: set[str] = set()
        self._places: set[int] = set()
        self._next_place = 0
        for claim in sorted(claims, key=_claim_order):
            self._places.add(claim.place)
            own = bool(partition) and claim.partition == partition
            if own:
                self._own.add(claim.target)
            if own or not partition:  # without a partition, any claim may be ours
                self._known[claim.target] = len(self.holders)
            by = claim.partition or "another rollout"
            self.holders.append(ClaimHolder(target=claim.target, by=by, since=claim.since))

    def expose(self, holder: ClaimHolder) -> None:
        """A target of this rollout is changed and not yet soaked: it has a place, if unclaimed."""
        at = self._known.get(holder.target)
        if at is None:
            self._known[holder.target] = len(self.holders)
            self.holders.append(holder)
            self._own.add(holder.target)
            return
        self.holders[at] = msgspec.structs.replace(
            self.holders[at], frees_at=holder.frees_at, failed=holder.failed
        )

    def owns(self, target: str) -> bool:
        """Whether this rollout has a place for the target already."""
        return target in self._own

    @property
    def room(self) -> int:
        """How many places are left; negative where more are taken than there are."""
        return self.limit - len(self.holders) - len(self.started)

    def take(self, target: str) -> None:
        """Give the target a place, unless it has one; a failed target is retried in its own."""
        self.taken += 1
        if target in self._own:
            at = self._known[target]
            self.holders[at] = msgspec.structs.replace(self.holders[at], failed=False)
            return
        while self._next_place in self._places:
            self._next_place += 1
        self._places.add(self._next_place)
        self.started.append(target)
        self.wanted.append(Claim(name=self.name, target=target, place=self._next_place))

    def names(self) -> tuple[str, ...]:
        """The first few targets that have a place, or take one now."""
        names = sorted({holder.target for holder in self.holders}) + self.started[:NAMES_MAX]
        return (*names[:NAMES_MAX], "…") if len(names) > NAMES_MAX else tuple(names)

    def frees_at(self) -> Instant | None:
        """The first moment at which a soak ends that frees a place."""
        moments = [each.frees_at for each in self.holders if each.frees_at is not None]
        return min(moments, default=None)


def _claim_order(claim: Claim) -> tuple[str, int, str, str]:
    return (claim.target, claim.place, claim.partition, claim.key)
