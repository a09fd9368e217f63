"""The budgets and mutexes a plan uses: places taken, and places given out target by target."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from tidegate.gates.brakes import Brakes, Coverage
from tidegate.gates.budget import Budget, budget_claim, budget_label, budget_verdict
from tidegate.gates.claims import Claim, ClaimHolder, ClaimPool
from tidegate.gates.mutex import Mutex, mutex_claim, mutex_verdict
from tidegate.model.verdict import Verdict


class Share:
    """One budget or mutex, and its verdicts; targets with equal verdicts share one object."""

    def __init__(self, pot: ClaimPool, speak: Callable[[ClaimPool, str], Verdict]) -> None:
        self.pot = pot
        self._speak = speak
        self._said: dict[object, Verdict] = {}

    def verdict(self, target: str) -> Verdict:
        """Whether the target may have a place, or has one."""
        # Targets without a place get the same verdict until the next place is given out.
        likeness = target if self.pot.owns(target) else self.pot.taken
        said = self._said.get(likeness)
        if said is None:
            said = self._speak(self.pot, target)
            said = self._said[likeness] = self._said.setdefault(said, said)
        return said


class ShareLedger:
    """All that is shared, while one plan is made."""

    def __init__(
        self,
        brakes: Brakes,
        everybody: Iterable[Coverage],
        exposed: Iterable[tuple[ClaimHolder, Coverage]],
    ) -> None:
        self._partition = brakes.partition
        self._claims: dict[str, list[Claim]] = defaultdict(list)
        for claim in brakes.claims:
            self._claims[claim.name].append(claim)
        self._sizes = _count(brakes, everybody)
        self._exposed, self._unsure = _sort(exposed)
        self._shares: dict[str, Share] = {}

    def shares(self, coverage: Coverage) -> tuple[Share, ...]:
        """What those covered alike draw on."""
        it = coverage.surely
        budgets = (self._budget(budget, value) for budget, value in it.budgets)
        return (*budgets, *(self._mutex(mutex) for mutex in it.mutexes))

    def owners(self) -> frozenset[str]:
        """Targets that may have a place of something already: they are asked one by one."""
        held = (*self._exposed.values(), *self._unsure.values())
        mine = {holder.target for some in held for holder in some}
        return frozenset(mine | {each.target for some in self._claims.values() for each in some})

    def wanted(self) -> tuple[Claim, ...]:
        """The claims that the executor of the plan has to make first."""
        shares = (self._shares[name] for name in sorted(self._shares))
        return tuple(claim for share in shares for claim in share.pot.wanted)

    def _budget(self, budget: Budget, value: str | None) -> Share:
        name = budget_claim(budget, value)
        known = self._shares.get(name)
        if known is None:
            size = budget.sizes.get(value or "", self._sizes[name])
            pot = self._pot(name, budget.limit.of(size), f"budget {budget.name}")
            label = budget_label(budget, value)
            known = Share(pot, lambda pot, target: budget_verdict(label, pot, target))
            self._shares[name] = known
        return known

    def _mutex(self, mutex: Mutex) -> Share:
        name = mutex_claim(mutex)
        known = self._shares.get(name)
        if known is None:
            pot = self._pot(name, 1, f"mutex {mutex.name}")
            known = Share(pot, lambda pot, target: mutex_verdict(mutex, pot, target))
            self._shares[name] = known
        return known

    def _pot(self, name: str, limit: int, brake: str) -> ClaimPool:
        pot = ClaimPool(name, limit, self._claims[name], self._partition)
        for holder in (*self._exposed[name], *self._unsure[brake]):
            pot.expose(holder)
        return pot


def _count(brakes: Brakes, everybody: Iterable[Coverage]) -> Counter[str]:
    """How many targets each budget covers; counted only where a percentage is taken."""
    sizes: Counter[str] = Counter()
    if any(budget.limit.percent for budget in brakes.budgets):
        all_of_them = list(everybody)
        known = {id(coverage): coverage for coverage in all_of_them}
        for at, times in Counter(map(id, all_of_them)).items():
            for budget, value in known[at].surely.budgets:
                sizes[budget_claim(budget, value)] += times
    return sizes


def _sort(
    exposed: Iterable[tuple[ClaimHolder, Coverage]],
) -> tuple[dict[str, list[ClaimHolder]], dict[str, list[ClaimHolder]]]:
    """Which targets have a place of what; one whose labels are not known counts in each."""
    surely: dict[str, list[ClaimHolder]] = defaultdict(list)
    unsure: dict[str, list[ClaimHolder]] = defaultdict(list)
    for holder, coverage in exposed:
        for budget, value in coverage.surely.budgets:
            surely[budget_claim(budget, value)].append(holder)
        for mutex in coverage.surely.mutexes:
            surely[mutex_claim(mutex)].append(holder)
        for budget, _ in coverage.perhaps.budgets:
            unsure[f"budget {budget.name}"].append(holder)
        for mutex in coverage.perhaps.mutexes:
            unsure[f"mutex {mutex.name}"].append(holder)
    return surely, unsure
