"""The brakes on the targets of a promotion, while one plan is made."""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.gates.ask import Ask, Purpose, moments, say
from tidegate.gates.brakes import Brakes, Coverage, Coverages
from tidegate.gates.claims import Claim, ClaimHolder
from tidegate.gates.scope import KindOfChange
from tidegate.gates.shared import ShareLedger
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.core.world import RequestedVersion
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict

# How claims call us where the partition has no name.
_BY = "promotions"


class PromotionBrakes:
    """What brakes say of targets, each with its version, and the places that a plan takes."""

    def __init__(
        self,
        brakes: Brakes,
        labels: Mapping[str, Mapping[str, str]],
        exposed: frozenset[str],
        now: Instant,
    ) -> None:
        """`labels` has every target; `exposed` are those between a decision and its end."""
        self._now, self._exposed = now, exposed
        self._brakes: Brakes = msgspec.structs.replace(brakes, kind=KindOfChange.PROMOTIONS)
        coverages = Coverages(self._brakes, labels)
        self._covers = {name: coverages.of(name) for name in labels}
        self._asks: dict[tuple[str | None, str | None], Ask] = {}
        self._asked: dict[tuple[int, str | None, str | None], tuple[Coverage, Ask]] = {}
        holders = [
            (ClaimHolder(target=name, by=self._brakes.partition or _BY), self._covers[name])
            for name in labels
            if name in exposed
        ]
        self._ledger = ShareLedger(self._brakes, self._covers.values(), holders)

    def verdicts(
        self, name: str, version: str | None, request: RequestedVersion | None = None
    ) -> tuple[Verdict, ...]:
        """What the brakes say of one target, shared budgets and mutexes included."""
        # The author of a change that a person requested is that person.
        author = self._brakes.author if request is None else request.by
        coverage, ask = self._covers[name], self._ask(version, author)
        self._asked[id(coverage), version, author] = coverage, ask
        said = say(self._brakes, coverage, ask)
        return (*said, *(each.verdict(name) for each in self._ledger.shares(coverage)))

    def take(self, name: str) -> None:
        """The target moves: it takes a place of everything it shares."""
        for each in self._ledger.shares(self._covers[name]):
            each.pot.take(name)

    def claims(self) -> tuple[Claim, ...]:
        """Places to claim before anything is done."""
        return self._ledger.wanted()

    def freed(self, moved: Iterable[str]) -> tuple[Claim, ...]:
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
        return [each for asked in self._asked.values() for each in moments(*asked)]

    def _ask(self, version: str | None, author: str | None) -> Ask:
        known = self._asks.get((version, author))
        if known is None:
            known = self._asks[version, author] = Ask(
                purpose=Purpose.ROLL_OUT,
                now=self._now,
                revision=None if version is None else version[:SHORT],
                version=version,
                author=author,
                need=Duration(0),
            )
        return known
