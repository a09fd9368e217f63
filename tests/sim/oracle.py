"""The rules once more, dumb on purpose: sets of names, loops over every target, no counting ahead.

Written from what `strict` means and from what the modules of the core say of themselves, not from
their code, and on the reading as it came in, so that order, membership and rank are worked out a
second time too. Nothing of the core is used but the types of its model.
"""

from dataclasses import dataclass, field

from tests.sim.generator import Case
from tests.sim.invariants import broken
from tests.sim.oracle_reading import in_order, is_per_group, ranked, selects, share
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.strategy import OnFailure, OnNewRevision, Retry, StrategyType
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.target import Status, Target


@dataclass
class Expected:
    """What the rules say must happen now."""

    mode: str = "forward"
    revision: str | None = None
    starts: set[str] = field(default_factory=set)
    breached: bool = False
    returns: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)


@dataclass
class Band:
    """Groups that move together, and their members in the order in which they go."""

    groups: list[int]
    mandatory: bool
    names: list[str] = field(default_factory=list)


@dataclass
class View:
    """The reading, looked at from one course."""

    mode: str
    revision: str | None
    version: str | None
    vouched: bool
    retry: Retry
    aborted: bool
    retry_groups: dict[str, Retry] = field(default_factory=dict)
    standing: dict[str, str] = field(default_factory=dict)


class Oracle:
    """Everything the rules need to know of one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.strategy = case.strategy
        self.groups = in_order(case.memberships)
        self.home: dict[str, int] = {}
        for position, group in enumerate(self.groups):
            for name in group.clusters:
                if name not in self.home:
                    self.home[name] = position
        self.heard = {one.name: one for one in case.statuses}
        self.whole = [self._is_whole(p) for p in range(len(self.groups))]
        self.mandatory = {p for p in range(len(self.groups)) if self._is_mandatory(p)}
        self.uncounted = {name for name in self.home if self._is_uncounted(name)}
        self.bands = self._bands()

    def _is_mandatory(self, position: int) -> bool:
        if self.strategy.type is StrategyType.ALL:
            return False
        group = self.groups[position]
        return any(
            group.name == ref.name if ref.name else group.index == ref.index
            for ref in self.strategy.mandatory
        )

    def is_ignored(self, name: str) -> bool:
        """Whether a target's status counts neither way, by its labels."""
        selector, labels = self.strategy.ignore, self.case.labels.get(name)
        return selector is not None and labels is not None and selects(selector, labels)

    def _is_uncounted(self, name: str) -> bool:
        return self.is_ignored(name) or self._target(name).status is Status.Skip

    def _target(self, name: str) -> Target:
        return self.heard.get(name) or Target(name)

    def _is_whole(self, position: int) -> bool:
        """Whether we see all members of a group."""
        group = self.groups[position]
        if not self.case.complete and self._may_follow_an_unseen(group):
            return False
        if group.count is None:
            return self.case.complete
        return group.count == len(set(group.clusters))

    def _may_follow_an_unseen(self, group: Membership) -> bool:
        """Whether an index before a group's is missing, in a reading that may lack some."""
        seen = {one.index for one in self.case.memberships if one.placement == group.placement}
        return any(index not in seen for index in range(group.index))

    def _bands(self) -> list[Band]:
        everywhere = range(len(self.groups))
        rest = [p for p in everywhere if p not in self.mandatory]
        bands = [Band([p], True) for p in everywhere if p in self.mandatory]
        if is_per_group(self.strategy.type):
            bands += [Band([p], False) for p in rest]
        elif rest:
            bands.append(Band(rest, False))
        for band in bands:
            mine = [name for name in self.home if self.home[name] in band.groups]
            band.names = ranked(mine, self.case)
        return bands

    def stand(self, view: View) -> None:
        """Work out what every target is to one course."""
        view.standing = {name: self._standing(self._target(name), view) for name in self.home}

    def _standing(self, one: Target, view: View) -> str:
        if one.status is Status.Skip:
            return "done"
        retries = self._retries(one.name, view)
        mine = view.vouched if one.revision is None else one.revision == view.revision
        late = self._is_late(one)
        if not mine:
            busy = one.status is Status.Unknown or (one.status is Status.Progressing and not late)
            return "held" if busy else "waiting"
        if one.status is Status.Unknown or (one.status is Status.Progressing and not late):
            return "flying"
        if one.status in (Status.Failed, Status.TimeOut, Status.Progressing):
            return "waiting" if retries else "failed"
        if one.status is Status.Succeeded and Retry.EVERYTHING not in retries:
            soaks = self.strategy.soak > 0 and view.mode == "forward"
            ripe = one.since is not None and self.case.now >= one.since + self.strategy.soak
            return "done" if ripe or not soaks else "soaking"
        if one.status is Status.NewCluster and view.mode == "settled":
            return "done"
        return "waiting"

    def _retries(self, name: str, view: View) -> set[Retry]:
        """What was asked for a target's group, and for all."""
        group = self.groups[self.home[name]].name or "ungrouped"
        asked = {view.retry, view.retry_groups.get(group, Retry.NOTHING)}
        return asked - {Retry.NOTHING}

    def _is_late(self, one: Target) -> bool:
        deadline = self.strategy.deadline
        if deadline is None or one.since is None:
            return False
        return self.case.now >= one.since + deadline

    def counted(self, view: View, *standings: str) -> list[str]:
        """The counted targets with one of these standings."""
        return [n for n in self.home if n not in self.uncounted and view.standing[n] in standings]

    def is_breached(self, view: View) -> bool:
        """Whether any scope has more failures than it may have."""
        limit = self.strategy.max_failures
        if limit is None or view.mode != "forward":
            return False
        failed = self.counted(view, "failed")
        if not failed:
            return False
        for position in range(len(self.groups)):
            here = [name for name in failed if self.home[name] == position]
            members = [n for n in self.home if self.home[n] == position and n not in self.uncounted]
            if position in self.mandatory and here:
                return True
            if is_per_group(self.strategy.type) and len(here) > share(limit, len(members)):
                return True
        if is_per_group(self.strategy.type) or len(self.mandatory) == len(self.groups):
            return False
        return len(failed) > share(limit, len(self.home) - len(self.uncounted))

    def is_admitted(self, view: View, band: Band) -> bool:
        """Whether a group takes part: always, but under ManualPerGroup only if it is let in."""
        if self.strategy.type is not StrategyType.MANUAL_PER_GROUP or band.mandatory:
            return True
        approvals, name = self.case.rollout.approvals, self.groups[band.groups[0]].name
        given = name in approvals.groups if name else approvals.ungrouped
        return given and approvals.for_version in (None, view.version)

    def is_turn(self, view: View, band: Band) -> bool:
        """Whether everything that goes before a band is done, and seen."""
        unfinished = self.counted(view, "waiting", "held", "flying", "soaking")
        for earlier in self.bands:
            if earlier is band:
                break
            if not self.is_admitted(view, earlier):
                continue
            if not all(self.whole[p] for p in earlier.groups):
                return False
            if any(name in earlier.names for name in unfinished):
                return False
        return True

    def starts(self, view: View) -> set[str]:
        """Who starts now."""
        if view.aborted or self.case.rollout.paused or self.is_breached(view):
            return set()
        started: set[str] = set()
        for band in self.bands:
            if not all(self.whole[p] for p in band.groups):
                continue
            if view.mode == "forward" and not (
                self.is_admitted(view, band) and self.is_turn(view, band)
            ):
                continue
            started |= self._band_starts(view, band, started)
        return started

    def _band_starts(self, view: View, band: Band, before: set[str]) -> set[str]:
        waiting = [name for name in band.names if view.standing[name] in ("waiting", "held")]
        limit = self.strategy.max_concurrency
        if limit is None or band.mandatory or view.mode == "settled":
            return set(waiting)
        by_group = is_per_group(self.strategy.type) and view.mode == "forward"
        bound = set(band.names if by_group else self.outside())
        ceiling = share(limit, len(bound), capped=False)
        fresh = bound & set(self.counted(view, "flying", "soaking"))
        fresh |= {name for name in before & bound if not self.is_ignored(name)}
        held = bound & set(self.counted(view, "held"))
        ignored = {name for name in waiting if self.is_ignored(name)}
        return _with_slots(waiting, ignored, fresh, held, ceiling)

    def outside(self) -> list[str]:
        """Targets outside mandatory groups: those that maxConcurrency is for."""
        return [name for name in self.home if self.home[name] not in self.mandatory]

    def is_live(self, view: View) -> bool:
        """Whether a rollout has begun, or was paused, and goes on by itself."""
        if view.aborted or view.mode == "settled" or self.is_breached(view):
            return False
        whole = self.case.complete and all(self.whole)
        if whole and not self.counted(view, "waiting", "held", "flying", "soaking"):
            return False
        moving = self.counted(view, "flying", "soaking")
        if moving:
            return True
        if not self.case.rollout.paused and not self.counted(view, "done", "failed"):
            return False
        for band in self.bands:
            for name in band.names:
                if view.standing[name] in ("waiting", "held"):
                    if view.mode == "revert" or self.is_admitted(view, band):
                        return True
        return False

    def has_spread(self, view: View) -> bool:
        """Whether it went well so far, and beyond the first of several bands that take part."""
        if self.counted(view, "failed"):
            return False
        touched = self.counted(view, "flying", "soaking", "done")
        here = [[name for name in band.names if name not in self.uncounted] for band in self.bands]
        bands = [names for names in here if names]
        beyond = [name for names in bands[1:] for name in names]
        return len(bands) < 2 or any(name in touched for name in beyond)

    def returns(self, view: View) -> set[str]:
        """Who goes back to the last good revision now."""
        good, limit = self.case.rollout.last_good, self.strategy.max_concurrency
        wanted = self.strategy.on_failure is OnFailure.ROLLBACK
        failed = view.aborted or self.is_breached(view)
        if not (wanted and failed) or self.case.rollout.paused:
            return set()
        if good is None or view.revision == good:
            return set()
        due = [name for row in self._by_group() for name in row if self._is_touched(name, view)]
        bound = {name for name in self.outside() if not self.is_ignored(name)}
        if limit is None:
            return set(due)
        busy = {name for name in bound if self._target(name).status in _BUSY}
        busy -= {name for name in busy if self._is_lost(name)}
        out = {name for name in busy if name in due}
        elsewhere = busy - out
        ceiling = share(limit, len(self.outside()), capped=False)
        queue = [name for name in due if name in bound]
        exempt = {name for name in due if name not in bound}
        return exempt | _with_slots(queue, set(), elsewhere, out, ceiling)

    def _by_group(self) -> list[list[str]]:
        return [
            [n for band in self.bands for n in band.names if self.home[n] == position]
            for position in range(len(self.groups))
        ]

    def _is_touched(self, name: str, view: View) -> bool:
        """Whether a target has got, or is getting, the revision that failed."""
        one = self._target(name)
        if one.status in (Status.ToApply, Status.Skip, Status.NewCluster):
            return False
        return view.vouched if one.revision is None else one.revision == view.revision

    def _is_lost(self, name: str) -> bool:
        """Whether a target in the middle of a change has given no answer by its deadline."""
        one = self._target(name)
        return one.status is Status.Progressing and self._is_late(one)

    def removed(self) -> set[str]:
        """Targets in no group, if the reading is complete."""
        seen_all = self.case.complete and all(self.whole)
        return {name for name in self.heard if name not in self.home} if seen_all else set()


_BUSY = (Status.Progressing, Status.Unknown)


def agree(case: Case, world: RolloutWorld, plan: RolloutPlan) -> None:
    """Hold a decision against what the rules, read a second time, say must happen."""
    want = expect(case)
    got = Expected(
        plan.course.mode.value,
        plan.course.revision,
        {one.target for one in plan.actions if one.change.kind is ChangeKind.APPLY},
        plan.breached,
        {one.target for one in plan.actions if one.change.kind is ChangeKind.RETURN},
        {one.target for one in plan.actions if one.change.kind is ChangeKind.REMOVE},
    )
    if got != want:
        raise broken(f"decided {got}\nexpected {want}", world, case.now, plan)


def expect(case: Case) -> Expected:
    """What the rules say of a case."""
    oracle = Oracle(case)
    view = _view(oracle)
    return Expected(
        view.mode,
        view.revision,
        oracle.starts(view),
        oracle.is_breached(view),
        oracle.returns(view),
        oracle.removed(),
    )


def _view(oracle: Oracle) -> View:
    """The course that binds: the one under way, or the newest revision in its place."""
    memory = oracle.case.rollout
    now_going = _under_way(oracle)
    declared = oracle.case.revision
    if memory.revision is None or declared in (None, memory.revision):
        return now_going
    reverts = declared == memory.last_good
    mode = "revert" if reverts else "forward"
    newest = View(mode, declared, memory.version or declared, False, Retry.NOTHING, False)
    oracle.stand(newest)
    finishes = oracle.strategy.on_new_revision is OnNewRevision.FINISH
    if not reverts and finishes and oracle.is_live(now_going) and oracle.has_spread(now_going):
        return now_going
    return newest


def _under_way(oracle: Oracle) -> View:
    memory = oracle.case.rollout
    asked = memory.retry is not Retry.NOTHING or len(memory.retried_groups) > 0
    opened = memory.completed and asked
    again = opened or memory.retry is Retry.EVERYTHING
    revision = memory.revision or oracle.case.revision
    # The version is the declared revision's; whatever goes out instead has no other name.
    version = (memory.version if revision == oracle.case.revision else None) or revision
    reverts = revision is not None and revision == memory.last_good
    mode = "revert" if reverts and not again and not memory.restarted else "forward"
    if memory.completed and not again:
        mode, revision = "settled", memory.last_good or revision
    aborted = memory.aborted and not asked
    view = View(mode, revision, version, True, memory.retry, aborted, memory.retried_groups)
    oracle.stand(view)
    return view


def _with_slots(
    queue: list[str], ignored: set[str], fresh: set[str], held: set[str], ceiling: int
) -> set[str]:
    """Who of a queue gets a slot. Those held from an earlier change may start in their own."""
    started: set[str] = set()
    left_behind = False
    for name in queue:
        if name in ignored:
            if ceiling and not left_behind:
                started.add(name)
            continue
        moving = fresh | (started - ignored)
        room = len(moving if name in held else moving | held) < ceiling
        if room:
            started.add(name)
        else:
            left_behind = True
    return started
