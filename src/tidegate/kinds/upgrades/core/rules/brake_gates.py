"""The brakes as upgrades meet them: hold, freeze, block, pin, budgets, mutexes, approvals, health.

An upgrade is asked for now and starts up to two hours later, so a freeze must be off at both
moments. Brakes select clusters by name, and by their labels without prefix, beside `org` and `env`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from tidegate.gates.ask import Ask, Purpose, moments, say
from tidegate.gates.brakes import LISTS, Brakes, Coverage, Coverages
from tidegate.gates.claims import Claim, ClaimHolder
from tidegate.gates.scope import KindOfChange
from tidegate.gates.shared import ShareLedger
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet, brake_labels
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

_BY = "upgrades"
_THEN = frozenset((Gate.FREEZE, Gate.READING))
HOLDS = frozenset((Gate.HOLD, Gate.READING))
"""What binds whatever is done to a cluster."""


class BrakeGates:
    """All brakes, while one plan is made."""

    def __init__(
        self,
        brakes: Brakes,
        fleets: Iterable[OrganisationFleet],
        now: Instant,
        former: "BrakeGates | None" = None,
    ) -> None:
        """Over all clusters; or, after a `former` plan, over those that are being changed."""
        self._brakes = msgspec.structs.replace(brakes, kind=KindOfChange.UPGRADES)
        self._now = now
        self._is_idle = not any(getattr(brakes, field) for field in LISTS)
        self._covers: dict[str, Coverage] = {}
        self._names: dict[str, str] = {}
        self._said: dict[tuple[int, str, Instant | None], tuple[Verdict, ...]] = {}
        pairs = [(fleet, member) for fleet in fleets for member in fleet.members]
        if former is not None:
            self._covers, self._names = former._covers, former._names
        elif not self._is_idle:
            self._cover(pairs)
        exposed = [
            (self._holder(member), self._covers[member.cluster.uuid])
            for _, member in pairs
            if not self._is_idle and member.progress.occupies
        ]
        self._shared = ShareLedger(self._brakes, self._covers.values(), exposed)

    def verdicts(
        self, member: FleetMember, version: str, starts_at: Instant | None
    ) -> tuple[Verdict, ...]:
        """What the brakes say of a version for a cluster, at both moments."""
        if self._is_idle:
            return ()
        coverage = self._covers[member.cluster.uuid]
        key = (id(coverage), version, starts_at)
        if key not in self._said:
            said = say(self._brakes, coverage, self._ask(version, self._now))
            if starts_at is not None:
                then = say(self._brakes, coverage, self._ask(version, starts_at))
                said += tuple(
                    each
                    for each in then
                    if each.outcome is not Outcome.PASS and each.gate in _THEN and each not in said
                )
            self._said[key] = said
        return self._said[key]

    def held(self, member: FleetMember) -> tuple[Verdict, ...]:
        """The holds on a cluster, and what may be one: all that binds what changes no version."""
        said = self.verdicts(member, "", None)
        return tuple(each for each in said if each.gate in HOLDS)

    def shares(self, member: FleetMember) -> tuple[Verdict, ...]:
        """What shared budgets and mutexes say of a cluster."""
        if self._is_idle:
            return ()
        shares = self._shared.shares(self._covers[member.cluster.uuid])
        return tuple(each.verdict(self._names[member.cluster.uuid]) for each in shares)

    def take(self, member: FleetMember) -> None:
        """The cluster is upgraded now: it has a place of all that it draws on."""
        if not self._is_idle:
            for each in self._shared.shares(self._covers[member.cluster.uuid]):
                each.pot.take(self._names[member.cluster.uuid])

    def claims(self) -> tuple[Claim, ...]:
        """Places to be claimed before anything is done."""
        return self._shared.wanted()

    def moments(self) -> Iterator[Instant]:
        """When brakes say something else though no verdict has it as its `until`."""
        for coverage in {id(each): each for each in self._covers.values()}.values():
            yield from moments(coverage, self._ask("", self._now))

    def _ask(self, version: str, now: Instant) -> Ask:
        return Ask(
            purpose=Purpose.ROLL_OUT,
            now=now,
            revision=version,
            version=version,
            author=self._brakes.author,
            need=self._brakes.apply_time,
        )

    def _cover(self, pairs: list[tuple[OrganisationFleet, FleetMember]]) -> None:
        """Clusters may have equal names: the second of a name is looked up apart from the first."""
        names = Counter(member.cluster.name for _, member in pairs)
        layers: list[dict[str, dict[str, str]]] = []
        met: Counter[str] = Counter()
        placed: list[tuple[int, FleetMember]] = []
        for fleet, member in pairs:
            cluster = member.cluster
            at = met[cluster.name]
            met[cluster.name] += 1
            if at == len(layers):
                layers.append({})
            layers[at][cluster.name] = brake_labels(fleet.org, cluster)
            placed.append((at, member))
            only = names[cluster.name] == 1
            self._names[cluster.uuid] = cluster.name if only else f"{cluster.name} ({cluster.uuid})"
        coverages = [Coverages(self._brakes, labels) for labels in layers]
        for at, member in placed:
            self._covers[member.cluster.uuid] = coverages[at].of(member.cluster.name)

    def _holder(self, member: FleetMember) -> ClaimHolder:
        name = self._names[member.cluster.uuid]
        return ClaimHolder(target=name, by=_BY, failed=member.progress.is_stuck)
