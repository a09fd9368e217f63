"""The brakes as one plan sees them: pins, the verdicts of each target, and free places.

Made once a decision, and only where there are brakes. A pinned target is decided on as an ignored
one, so that it counts neither way; a target in progress shows the brakes that it ignores.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from tidegate.gates.ask import Ask, Purpose, Verdicts, moments, pins_of, say, spare
from tidegate.gates.brakes import Brakes, Coverage, Coverages
from tidegate.gates.claims import Claim, ClaimHolder
from tidegate.gates.shared import Share, ShareLedger
from tidegate.kinds.rollouts.core.census import Census
from tidegate.kinds.rollouts.core.course import Course, CourseMode
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Action
from tidegate.model.target import State, Status, Target
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, all_pass

# What a start is for, on each course.
PURPOSES = {
    CourseMode.FORWARD: Purpose.ROLL_OUT,
    CourseMode.REVERT: Purpose.REVERT,
    CourseMode.SETTLED: Purpose.JOIN,
}
_FAILED = frozenset((State.FAILED, State.TIMED_OUT))
_UPDATING = frozenset((State.IN_FLIGHT, State.HOLDING))
# By state: changed and not yet soaked, so that it has its places of what is shared.
_EXPOSED = [state in _FAILED | _UPDATING | {State.SOAKING} for state in State]


class Gates(msgspec.Struct, frozen=True):
    """What the brakes say of all targets they cover alike."""

    verdicts: Verdicts
    passes: bool
    shares: tuple[Share, ...] = ()

    def shared(self, name: str) -> Verdicts:
        """What budgets and mutexes say of a target."""
        return tuple([share.verdict(name) for share in self.shares]) if self.shares else ()

    def take(self, name: str) -> None:
        """A target starts: it takes its places."""
        for share in self.shares:
            share.pot.take(name)


class RolloutBrakes:
    """The brakes of one decision."""

    def __init__(self, world: RolloutWorld, brakes: Brakes, course: Course, now: Instant) -> None:
        self._brakes = brakes
        self._course = course
        self._now = now
        self._coverages = Coverages(brakes, world.labels)
        self._by_target = self._coverages.of_all(target.name for target in world.targets)
        self._asks = {ask.purpose: ask for ask in _asks(world, brakes, course, now)}
        self._purpose = PURPOSES[course.mode]
        self._known: dict[tuple[int, Purpose], Gates] = {}
        self._of_start: dict[int, Gates] = {}  # the same for starts, found without a tuple
        self._spared: dict[int, Verdicts] = {}
        self._moments: set[Instant] = set()
        self._pins = self._pinned() if brakes.pins else {}
        self._ledger: ShareLedger | None = None
        self._changed: frozenset[str] = frozenset()  # names: changed and not yet soaked
        # Names of targets that may have places of what is shared already.
        self.owners: frozenset[str] = frozenset()
        self.pinned = frozenset(self._pins)
        # Pinned targets count neither way, as ignored ones do.
        self.world = _with_ignored(world, self.pinned) if self._pins else world

    def _pinned(self) -> dict[int, Verdicts]:
        known = {id(one): one for one in self._by_target}
        said = {at: pins for at, one in known.items() if (pins := pins_of(one, self._now))}
        return {i: said[id(one)] for i, one in enumerate(self._by_target) if id(one) in said}

    def read(self, census: Census) -> None:
        """Add the verdicts of pinned targets and those in progress, and find who has places."""
        self._tell_pinned(census)
        self._tell_under_way(census)
        shared = self._brakes.budgets or self._brakes.mutexes
        if not shared and not self._brakes.claims:
            return
        exposed = list(self._exposed(census))
        self._changed = frozenset(holder.target for holder, _ in exposed)
        if shared:
            everybody = chain(self._by_target, self._elsewhere())
            self._ledger = ShareLedger(self._brakes, everybody, exposed)
            self.owners = self._ledger.owners()

    def _tell_pinned(self, census: Census) -> None:
        firsts = [group.first for group in self.world.groups]
        for i, pins in self._pins.items():
            own = census.own[i]
            census.own[i] = pins if own is None else (*own, *pins)
            self._watch(pins)
            if own is None:  # nothing waits for it, not even the end of the rollout
                census.tallies[bisect_right(firsts, i) - 1].ignored_waiting -= 1

    def _tell_under_way(self, census: Census) -> None:
        if not self._brakes.holds and not self._brakes.freezes:
            return
        told: dict[tuple[int, int], Verdicts] = {}
        for i, state in enumerate(census.states):
            own = census.own[i]
            if state is not State.IN_FLIGHT or own is None:
                continue
            spared = self._spare(self._by_target[i])
            if spared:  # equal verdicts stay one shared tuple
                key = (id(own[0]), id(spared))
                census.own[i] = told.get(key) or told.setdefault(key, (*own, *spared))

    def _spare(self, coverage: Coverage) -> Verdicts:
        known = self._spared.get(id(coverage))
        if known is None:
            ask = self._asks[self._purpose]
            known = self._spared[id(coverage)] = spare(coverage, ask)
            self._watch(known)
            self._moments.update(moments(coverage, ask))
        return known

    def _elsewhere(self) -> Iterator[Coverage]:
        """Targets with known labels that are in no group of this rollout."""
        here = {target.name for target in self.world.targets}
        return (self._coverages.of(name) for name in self.world.labels if name not in here)

    def _exposed(self, census: Census) -> Iterator[tuple[ClaimHolder, Coverage]]:
        """Targets that are changed and not yet soaked, those to be retried included."""
        by = self._brakes.partition or "this rollout"
        retried = self._course.is_retried
        for i, (target, state) in enumerate(zip(self.world.targets, census.states, strict=True)):
            if not _EXPOSED[state] and not (retried and self._is_retried(target, state)):
                continue
            own = census.own[i]
            holder = ClaimHolder(
                target=target.name,
                by=by,
                since=target.since if state in _UPDATING else None,
                frees_at=own[0].until if state is State.SOAKING and own else None,
                failed=state in _FAILED,
            )
            yield holder, self._by_target[i]

    def _is_retried(self, target: Target, state: State) -> bool:
        """Whether a target waits only because what it said of this revision is void."""
        if state is not State.WAITING:
            return False
        fresh = target.revision in (None, self._course.revision) and self._course.vouched
        if target.status is Status.Succeeded:
            soaks_at = None if target.since is None else target.since + self.world.strategy.soak
            return fresh and (soaks_at is None or self._now < soaks_at)
        return fresh and target.status in (Status.Failed, Status.TimeOut, Status.Progressing)

    def gates(self, i: int) -> Gates:
        """What the brakes say of a start of the target."""
        coverage = self._by_target[i]
        return self._of_start.get(id(coverage)) or self._gates(coverage, self._purpose)

    def gates_back(self, i: int) -> Gates:
        """What the brakes say of its way back to the last good revision."""
        return self._gates(self._by_target[i], Purpose.RETURN)

    def gates_out(self, name: str) -> Gates:
        """What the brakes say of removing a target that is in no group."""
        return self._gates(self._coverages.of(name), Purpose.REMOVE)

    def _gates(self, coverage: Coverage, purpose: Purpose) -> Gates:
        known = self._known.get((id(coverage), purpose))
        if known is None:
            ask = self._asks[purpose]
            said = say(self._brakes, coverage, ask)
            self._watch(said)
            self._moments.update(moments(coverage, ask))
            shares: tuple[Share, ...] = ()
            if self._ledger is not None and purpose is not Purpose.REMOVE:
                shares = self._ledger.shares(coverage)
            known = self._known[id(coverage), purpose] = Gates(said, all_pass(said), shares)
            if purpose is self._purpose:
                self._of_start[id(coverage)] = known
        return known

    def _watch(self, said: Sequence[Verdict]) -> None:
        self._moments.update(each.until for each in said if each.until is not None)

    def recheck_at(self, otherwise: Instant | None) -> Instant | None:
        """The earliest moment at which time alone changes a verdict."""
        ahead = [moment for moment in self._moments if moment > self._now]
        return min(ahead if otherwise is None else [*ahead, otherwise], default=None)

    def wanted(self) -> tuple[Claim, ...]:
        """The places the plan takes of what is shared."""
        return self._ledger.wanted() if self._ledger is not None else ()

    def freed(self, actions: Sequence[Action]) -> tuple[Claim, ...]:
        """The places this rollout has and needs no more: soaked, dropped, or gone for good.

        Of a target that was not read nothing is known, so that it keeps its places.
        """
        mine = [each for each in self._brakes.claims if each.partition == self._brakes.partition]
        if not mine or not self._brakes.partition:
            return ()
        kept = self._changed.union(action.target for action in actions)
        here = {target.name for target in self.world.targets}
        left = {each.name for each in self.world.departed if each.status is Status.Progressing}
        return tuple(
            each
            for each in mine
            if each.target not in kept
            and (each.target in here or (self.world.complete and each.target not in left))
        )


def brake(world: RolloutWorld, course: Course, now: Instant) -> RolloutBrakes | None:
    """The brakes of one decision; None where there are none."""
    return RolloutBrakes(world, world.brakes, course, now) if world.brakes is not None else None


def _asks(world: RolloutWorld, brakes: Brakes, course: Course, now: Instant) -> Iterator[Ask]:
    """One question for what the course does, one for the way back, one for removals."""
    apply = brakes.apply_time if brakes.apply_time is not None else world.strategy.deadline
    soaked = None if apply is None else Duration(apply + world.strategy.soak)
    for purpose in (PURPOSES[course.mode], Purpose.RETURN, Purpose.REMOVE):
        back = purpose is Purpose.RETURN
        yield Ask(
            purpose=purpose,
            now=now,
            revision=world.rollout.last_good if back else course.revision,
            version=course.version,
            author=brakes.author,
            # A target that joins later does not soak; a removal takes no time.
            need={Purpose.ROLL_OUT: soaked, Purpose.REMOVE: Duration(0)}.get(purpose, apply),
        )


def _with_ignored(world: RolloutWorld, positions: frozenset[int]) -> RolloutWorld:
    targets = list(world.targets)
    for i in positions:
        targets[i] = msgspec.structs.replace(targets[i], ignored=True)
    return msgspec.structs.replace(world, targets=tuple(targets))
