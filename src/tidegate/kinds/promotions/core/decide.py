"""Which environments get a version now, and why the others do not: `decide(world, now)`.

A target is an environment. Every selected one has one option with the verdict of every gate. Those
whose verdicts all pass move together, in one change of files and one merge request; an environment
that goes earlier and moves in the same change counts as moved.

Environments that share an open merge request move on together or not at all: a newer version for
one of them alone would be a second merge request that changes the same lines.
"""

import msgspec

from tidegate.gates.ask import Ask, Purpose, moments, say
from tidegate.gates.brakes import Brakes, Coverages
from tidegate.gates.claims import Claim, Holder
from tidegate.gates.scope import KindOfChange
from tidegate.gates.shared import Ledger
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.kinds.promotions.core.rules import verdicts
from tidegate.kinds.promotions.core.world import OfferState, PromotionWorld
from tidegate.model.plan import Action, Change, ChangeKind, Option, Plan
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

KIND = KindOfChange.PROMOTIONS.value
# How claims call us where the partition has no name.
_BY = "promotions"


class VersionChange(msgspec.Struct, frozen=True):
    """One change of files: a version for some environments, in order."""

    version: str
    environments: tuple[str, ...]


class PromotionDecision(Plan, frozen=True, kw_only=True):
    """All that was decided; positions are those of `world.targets()`."""

    # What is offered now, in one merge request; None: nothing.
    change: VersionChange | None = None
    # Places of budgets and mutexes to claim before the change is offered, and those to give back.
    claims: tuple[Claim, ...] = ()
    freed: tuple[Claim, ...] = ()


def decide(world: PromotionWorld, now: Instant) -> PromotionDecision:
    """What moves now, and what every gate says of every selected environment."""
    together: dict[str, str] = {}
    while True:  # ends: every turn adds an environment, or is the last
        round_ = _Round(world, together, now)
        found = round_.split_offers()
        if not found:
            return round_.decision()
        together |= found


class _Round:
    """One pass over the environments, with those that wait for others of their offer."""

    def __init__(self, world: PromotionWorld, together: dict[str, str], now: Instant) -> None:
        self._world, self._now = world, now
        self._targets = world.targets()
        self._braking = _Braking(world, now)
        self._change = Change(ChangeKind.APPLY, world.version)
        self._options: list[Option] = []
        self._moved: list[str] = []
        for at, environment in enumerate(self._targets):
            name = environment.name
            said = (
                *verdicts(world, environment, frozenset(self._moved), now),
                *_waits_with(world, together, name),
                *self._braking.verdicts(name),
            )
            if all_pass(said):
                self._moved.append(name)
                self._braking.take(name)
            self._options.append(Option(at, self._change, said))

    def split_offers(self) -> dict[str, str]:
        """Environments that would leave an open offer, with the one that keeps them there."""
        found: dict[str, str] = {}
        for name in self._moved:
            offer = self._world.offers.get(name)
            if offer is None or offer.state is not OfferState.OPEN:
                continue
            for other in offer.environments:
                if other not in self._moved and self._shares(name, other):
                    found.setdefault(name, other)
        return found

    def _shares(self, name: str, other: str) -> bool:
        """Whether the open offer of one is still the newest of the other, which needs it."""
        offers = self._world.offers
        return offers.get(other) == offers[name] and not self._world.has(other)

    def decision(self) -> PromotionDecision:
        """What was decided."""
        moved = tuple(self._moved)
        untils = [v.until for o in self._options for v in o.verdicts if v.until is not None]
        ahead = [each for each in (*untils, *self._braking.moments()) if each > self._now]
        return PromotionDecision(
            options=self._options,
            actions=[Action(name, self._change) for name in moved],
            recheck_at=min(ahead, default=None),
            change=VersionChange(self._world.version, moved) if moved else None,
            claims=self._braking.claims(),
            freed=self._braking.freed(moved),
        )


def _waits_with(world: PromotionWorld, together: dict[str, str], name: str) -> tuple[Verdict, ...]:
    if name not in together:
        return ()
    offer = world.offers[name]
    return (verdict(PromotionReason.OfferShared, together[name], offer.name),)


class _Braking:
    """The brakes on the environments of one promotion, while one plan is made."""

    def __init__(self, world: PromotionWorld, now: Instant) -> None:
        self._brakes: Brakes = msgspec.structs.replace(world.brakes, kind=KindOfChange.PROMOTIONS)
        names = [each.name for each in world.targets()]
        coverages = Coverages(self._brakes, {name: {} for name in names})
        self._covers = {name: coverages.of(name) for name in names}
        self._ask = Ask(
            purpose=Purpose.ROLL_OUT,
            now=now,
            revision=world.version[:SHORT],
            version=world.version,
            author=self._brakes.author,
            need=Duration(0),
        )
        self._exposed = frozenset(name for name in names if is_under_way(world, name))
        holders = [
            (Holder(target=name, by=self._brakes.partition or _BY), self._covers[name])
            for name in names
            if name in self._exposed
        ]
        self._ledger = Ledger(self._brakes, self._covers.values(), holders)

    def verdicts(self, name: str) -> tuple[Verdict, ...]:
        """What the brakes say of one environment, shared budgets and mutexes included."""
        coverage = self._covers[name]
        said = say(self._brakes, coverage, self._ask)
        return (*said, *(each.verdict(name) for each in self._ledger.shares(coverage)))

    def take(self, name: str) -> None:
        """The environment moves: it takes a place of everything it shares."""
        for each in self._ledger.shares(self._covers[name]):
            each.pot.take(name)

    def claims(self) -> tuple[Claim, ...]:
        """Places to claim before anything is done."""
        return self._ledger.wanted()

    def freed(self, moved: tuple[str, ...]) -> tuple[Claim, ...]:
        """Places that this promotion has and no longer needs."""
        mine = self._brakes.partition
        kept = self._exposed.union(moved)
        return tuple(
            each
            for each in self._brakes.claims
            if mine and each.partition == mine and each.target not in kept
        )

    def moments(self) -> list[Instant]:
        """When a brake changes its answer though no verdict says until when."""
        return [each for one in self._covers.values() for each in moments(one, self._ask)]


def is_under_way(world: PromotionWorld, name: str) -> bool:
    """Whether an environment is between a decision and running what was decided."""
    if name in world.pending:
        return True
    offer, check = world.offers.get(name), world.checks.get(name)
    if offer is None or offer.state is OfferState.CLOSED:
        return False
    if offer.state is OfferState.OPEN:
        return True
    return check is not None and not (check.version == offer.version and check.matches)
