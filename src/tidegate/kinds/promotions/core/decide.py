"""Which environments get a version now, and why the others do not: `decide(world, now)`.

A target is an environment. Every selected one has one option with the verdict of every gate. Those
whose verdicts all pass move together, in one change of files and one merge request; an environment
that goes earlier and moves in the same change counts as moved.

Environments that share an open merge request move on together or not at all, in that merge request:
a newer version for one of them alone, or for one more beside them, would be a second one that
changes the same lines.

A person may request another version for some environments. It is decided by the same gates, and
moves in a merge request of its own; the newest version is not offered to them meanwhile.
"""

import msgspec

from tidegate.gates.claims import Claim
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.promotions.core.brakes import PromotionBrakes
from tidegate.kinds.promotions.core.model import PromotionEnvironment
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.kinds.promotions.core.rules import unread, verdicts
from tidegate.kinds.promotions.core.world import OfferState, PromotionWorld
from tidegate.model.plan import Action, Change, ChangeKind, Option, Plan
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

KIND = KindOfChange.PROMOTIONS.value


class VersionChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change of files: a version for some environments, in order."""

    version: str
    environments: tuple[str, ...]
    # The request that it carries out; empty: it is the newest version, which no one requested.
    request: str = ""
    # The branch of the open offer that it updates; empty: it is offered on a branch of its own.
    branch: str = ""


class _ChangeGroup(msgspec.Struct, frozen=True):
    """What environments have in common that move in one change."""

    request: str
    branch: str


class PromotionDecision(Plan, frozen=True, kw_only=True):
    """All that was decided; positions are those of `world.targets()`."""

    # What is offered now: the newest version in one merge request, and each that was requested.
    changes: tuple[VersionChange, ...] = ()
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
        names = [each.name for each in self._targets]
        self._brakes = PromotionBrakes(
            world.brakes,
            {name: {} for name in names},
            frozenset(name for name in names if is_under_way(world, name)),
            now,
        )
        self._options: list[Option] = []
        # Environments that move, with what those have in common that move in one change.
        self._moved: dict[str, _ChangeGroup] = {}
        for at, environment in enumerate(self._targets):
            name = environment.name
            said = self._verdicts(environment, together)
            if all_pass(said):
                self._moved[name] = self._group(name)
                self._brakes.take(name)
            self._options.append(Option(at, self._change(name), said))

    def _verdicts(
        self, environment: PromotionEnvironment, together: dict[str, str]
    ) -> tuple[Verdict, ...]:
        """What every gate says of the version that an environment is to get."""
        world, name = self._world, environment.name
        seen = world.of(name)
        if seen is None:
            return tuple(unread(world, world.requests[name]))
        mine = self._group(name)
        moved = frozenset(each for each, group in self._moved.items() if group == mine)
        return (
            *verdicts(seen, environment, moved, self._now),
            *_waits_with(world, together, name),
            *self._brakes.verdicts(name, seen.version, world.requests.get(name)),
        )

    def _group(self, name: str) -> _ChangeGroup:
        """What has an environment moved, and the open offer that the change of it updates."""
        request, offer = self._world.requests.get(name), self._world.offers.get(name)
        is_open = offer is not None and offer.state is OfferState.OPEN
        return _ChangeGroup(
            request="" if request is None else request.ident,
            branch=offer.branch if offer is not None and is_open else "",
        )

    def _change(self, name: str) -> Change:
        return Change(ChangeKind.APPLY, self._world.wanted(name))

    def split_offers(self) -> dict[str, str]:
        """Environments that would leave an open offer, with the one that keeps them there."""
        found: dict[str, str] = {}
        for name in self._moved:
            offer = self._world.offers.get(name)
            if offer is None or offer.state is not OfferState.OPEN:
                continue
            for other in offer.environments:
                apart = self._moved.get(other) != self._moved[name]
                if apart and self._shares(name, other):
                    found.setdefault(name, other)
        return found

    def _shares(self, name: str, other: str) -> bool:
        """Whether the open offer of one is still the newest of the other, which needs it."""
        offers, seen = self._world.offers, self._world.of(other)
        return offers.get(other) == offers[name] and not (seen is not None and seen.has(other))

    def _changes(self) -> tuple[VersionChange, ...]:
        """What moves, change by change, in the order of environments."""
        found: dict[_ChangeGroup, list[str]] = {}
        for name, group in self._moved.items():
            found.setdefault(group, []).append(name)
        return tuple(
            VersionChange(self._world.wanted(names[0]), tuple(names), group.request, group.branch)
            for group, names in found.items()
        )

    def decision(self) -> PromotionDecision:
        """What was decided."""
        moved = tuple(self._moved)
        untils = [v.until for o in self._options for v in o.verdicts if v.until is not None]
        ahead = [each for each in (*untils, *self._brakes.moments()) if each > self._now]
        return PromotionDecision(
            options=self._options,
            actions=[Action(name, self._change(name)) for name in moved],
            recheck_at=min(ahead, default=None),
            changes=self._changes(),
            claims=self._brakes.claims(),
            freed=self._brakes.freed(moved),
        )


def _waits_with(world: PromotionWorld, together: dict[str, str], name: str) -> tuple[Verdict, ...]:
    if name not in together:
        return ()
    offer = world.offers[name]
    return (verdict(PromotionReason.OfferShared, together[name], offer.name),)


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
