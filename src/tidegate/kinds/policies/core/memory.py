"""What earlier readings make of a new one: a reading alone is not the whole truth.

success     once it has lasted for the soak, it stays: what is NonCompliant later is drift, and
            no failure of the rollout. Within the soak, anything else starts the soak again.
failure     NonCompliant is on its way until the deadline, and then it has failed.
groups      a half-written set changes no membership; a cluster that is out of reach keeps its
            place; stable groups are kept as they were, and in their order while a rollout is
            under way. Meanwhile a cluster changes its group only if that lasts: a scheduler that
            forms its groups anew writes their members and their names one after the other.
drift       a pointer that is not where we left it was moved by another, whatever it says now.
departures  a scheduler takes its time: between the moment at which a cluster is well again and
            the one at which it is back in a decision, it looks as if it had left. So a cluster
            that is registered has left only once it was in no decision for a while.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Generic, TypeVar

from msgspec.structs import replace

from tidegate.kinds.policies.core.groups import steady, with_offline
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.strategy import Strategy
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant

T = TypeVar("T")

# Far longer than a scheduler takes, and than a taint that comes and goes is away.
DEPARTURE = Duration(5 * 60 * SECOND)


def weighed(
    known: Mapping[str, Target], seen: Iterable[Target], strategy: Strategy, now: Instant
) -> tuple[Target, ...]:
    """The reports of a reading, weighed against what each cluster reported before."""
    return tuple(_weigh(known.get(report.name), report, strategy, now) for report in seen)


def _weigh(known: Target | None, seen: Target, strategy: Strategy, now: Instant) -> Target:
    if known is not None and known.revision == seen.revision:
        if _has_soaked(known, strategy, now) and seen.status is not Status.ToApply:
            return known
        if seen.status is Status.Failed and _is_over(known, strategy, now):
            return seen
    if seen.status is Status.Failed:
        return replace(seen, status=Status.Progressing)
    return seen


def _has_soaked(known: Target, strategy: Strategy, now: Instant) -> bool:
    if known.status is not Status.Succeeded:
        return False
    return strategy.soak == 0 or (known.since is not None and now >= known.since + strategy.soak)


def _is_over(known: Target, strategy: Strategy, now: Instant) -> bool:
    """Whether a cluster had all the time it may take, or has failed already."""
    if known.status is Status.Failed:
        return True
    if known.status is not Status.Progressing or strategy.deadline is None:
        return False
    return known.since is not None and now >= known.since + strategy.deadline


def named(state: RolloutState) -> frozenset[str]:
    """Every revision that is remembered of a rollout: none of them may be lost."""
    rollout, declared = state.rollout, state.declared
    found = [rollout.revision, rollout.last_good]
    if declared is not None:
        # What was there before counts until something succeeded.
        found += [declared.revision, rollout.last_good or declared.last_good]
    found += [each.task.change.revision for each in state.pending.values()]
    found += [each.revision for each in state.reports.values()]
    return frozenset(each for each in found if each)


def moved_by_others(
    known: Mapping[str, Target], sent: Mapping[str, str | None], seen: Iterable[Target]
) -> tuple[dict[str, Target], list[str]]:
    """The clusters whose pointer another moved since we gave them something; `sent` is under way.

    One that was found to be so stays so until we give it something, or its pointer is gone. And
    those from which another took what they were given: a pointer, or a place in our decisions.
    """
    moved: dict[str, Target] = {}
    lost: list[str] = []
    for report in seen:
        last = known.get(report.name)
        if last is None or last.revision is None:
            continue
        if report.revision is None:
            lost += [report.name] if report.name not in sent else []
        elif sent.get(report.name) != report.revision and (
            report.revision != last.revision or last.status is Status.ToApply
        ):
            moved[report.name] = report
    return moved, lost


def put_back(report: Target) -> Target:
    """A cluster whose pointer another moved, to be given what it should have in its turn."""
    return Target(report.name, Status.ToApply, revision=report.revision)


def lingering(
    since: dict[str, Instant],
    before: Iterable[Membership],
    seen: Iterable[Membership],
    *,
    offline: Collection[str],
    registered: Collection[str],
    now: Instant,
) -> frozenset[str]:
    """Members in no decision that keep their place for now; `since` is when each was first missed.

    One that is out of reach is missed from when it is back; one that is not registered is gone.
    """
    there = {cluster for group in seen for cluster in group.clusters}
    missing = {cluster for group in before for cluster in group.clusters} - there
    for cluster in [*since]:
        if cluster not in missing or cluster in offline:
            del since[cluster]
    kept: set[str] = set()
    for cluster in missing & set(registered):
        if cluster in offline or now < since.setdefault(cluster, now) + DEPARTURE:
            kept.add(cluster)
    return frozenset(kept)


def grouped(
    before: tuple[Membership, ...],
    seen: tuple[Membership, ...],
    *,
    complete: bool,
    offline: Collection[str],
    stable: bool,
    reorder: bool = False,
) -> tuple[Membership, ...]:
    """The groups to decide on.

    Of a complete reading no sizes are kept: these are for what may lack members.
    """
    if not complete:
        return before or seen
    now = with_offline(before, seen, offline)
    found = steady(before, now, reorder=reorder) if stable else now
    return tuple(replace(group, count=None) for group in found)


class Unsettled(Generic[T]):
    """Changes that count once they have lasted: by name, what was seen, and since when."""

    def __init__(self, lasts: Duration) -> None:
        self._lasts = lasts
        self._seen: dict[str, tuple[T, Instant]] = {}

    def is_new(self, name: str, value: T, now: Instant) -> bool:
        """Whether a change that is seen has not lasted yet; one that has is forgotten."""
        last = self._seen.get(name)
        since = last[1] if last is not None and last[0] == value else now
        if now >= since + self._lasts:
            self.forget(name)
            return False
        self._seen[name] = (value, since)
        return True

    def forget(self, name: str) -> None:
        """Nothing has changed, or no longer."""
        self._seen.pop(name, None)

    def ends_at(self, name: str) -> Instant | None:
        """When what is seen now will have lasted; None: nothing waits for that."""
        seen = self._seen.get(name)
        return None if seen is None else Instant(seen[1] + self._lasts)


def regrouped(before: Iterable[Membership], now: Iterable[Membership]) -> frozenset[str]:
    """The clusters in another group than before; groups of one name are known by their rank."""
    was, places = _places(before), _places(now)
    return frozenset(each for each, place in was.items() if places.get(each, place) != place)


def _places(groups: Iterable[Membership]) -> dict[str, tuple[str, int]]:
    ranks: Counter[str] = Counter()
    found: dict[str, tuple[str, int]] = {}
    for group in groups:
        name = group.name or ""
        found |= dict.fromkeys(group.clusters, (name, ranks[name]))
        ranks[name] += 1
    return found
