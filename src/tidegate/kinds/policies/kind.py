"""Policies as a worker runs them: rollouts, with what earlier readings make of a new one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tidegate.journal.fact import Fact, Mode, some_names
from tidegate.journal.facts import TaskOutcome
from tidegate.kinds.policies.core.memory import (
    Unsettled,
    grouped,
    lingering,
    moved_by_others,
    named,
    put_back,
    regrouped,
    weighed,
)
from tidegate.kinds.policies.core.requests import NOTHING, new_requests
from tidegate.kinds.policies.core.revision import Fields
from tidegate.kinds.policies.fleet import WORD, PolicyFleet, PolicyRefusedError
from tidegate.kinds.policies.observation import PolicyObservation
from tidegate.kinds.policies.rules import PolicyRules
from tidegate.kinds.policies.wire.event_doc import (
    EventReason,
    RolloutEvent,
    events_between,
    mark_of,
    refusal,
)
from tidegate.kinds.policies.wire.status_doc import refused_status, status_of
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.strategy import OnFailure, Rollout
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.kinds.rollouts.news import LAG_MAX
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.target import UNGROUPED, Status, Target
from tidegate.model.time import SECOND, Duration, Instant, format_instant

if TYPE_CHECKING:
    from tidegate.engine.round import Round


# While only numbers change, an object is written no more often: clusters answer one by one.
STATUS_EVERY = Duration(SECOND)
# So long after the last edit of a policy of a set, its author has written all that go together.
SETTLED = Duration(10 * SECOND)
# A scheduler that forms its groups anew writes the members and the name of each one after the
# other: what is there in between puts clusters into groups that were never meant.
REGROUPED = Duration(5 * SECOND)
# What a worker calls the status, where it cannot be written.
STATUS = "status of the Rollout"


class PolicyKind(RolloutKind):
    """The policies of one hub."""

    def __init__(self, fleet: PolicyFleet) -> None:
        super().__init__(fleet, PolicyRules())
        self._policies = fleet
        # What was decided last of each policy, until its object says so.
        self._untold: dict[str, tuple[RolloutWorld, RolloutPlan]] = {}
        # When each object was last written, and what it said but for numbers.
        self._gists: dict[str, tuple[Instant, tuple[object, ...]]] = {}
        # The groups of each policy, and what they were formed from.
        self._grouped: dict[str, tuple[tuple[object, ...], tuple[Membership, ...]]] = {}
        # Since when members of each policy are in no decision. Another worker begins anew, which
        # keeps them for longer.
        self._missed: defaultdict[str, dict[str, Instant]] = defaultdict(dict)
        # What others moved or took away, by policy and cluster, until it is put back.
        self._undone: defaultdict[str, dict[str, str]] = defaultdict(dict)
        # By set, the revision that its author may still be writing at.
        self._written = Unsettled[str | None](SETTLED)
        # By policy, the groups that clusters changed to on the way.
        self._regrouped = Unsettled[tuple[Membership, ...]](REGROUPED)
        # What is wrong with the pointers that are moved now, by policy, for people to see.
        self._strays: dict[str, dict[str, str]] = {}

    def news(
        self, state: RolloutState, seen: Observation, now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """What differs from what is known, and what its document asks for anew."""
        assert isinstance(seen, PolicyObservation)
        seen = self._settled(state, seen, now)
        known, declared = state.declared, seen.declared
        before = known.groups if known is not None else ()
        kept = seen.offline
        if seen.complete:
            kept = lingering(
                self._missed[declared.origin],
                before,
                declared.groups,
                offline=seen.offline,
                registered=seen.registered,
                now=now,
            )
        groups = self._groups(state, before, kept, seen)
        if self._is_torn(state, before, groups, seen, now):
            groups, seen = before, replace(seen, complete=False)
        reports = weighed(state.reports, seen.reports, declared.strategy, now)
        seen = replace(seen, declared=replace(declared, groups=groups), reports=reports)
        weighed_seen = self._drifted(state, seen, now)
        asked = new_requests(
            known.requests if known is not None else None,
            declared.requests,
            state.rollout,
            declared.revision or "",
            declared.origin,
            [each.name or UNGROUPED for each in groups],
        )
        # Asked last: what a request is about has to be declared by then.
        return [*super().news(state, weighed_seen, now), *((now, fact) for fact in asked)]

    def look_at(self, state: RolloutState) -> Instant | None:
        """When the author of a set, or a scheduler, will have written all that go together."""
        origin = state.declared.origin if state.declared is not None else ""
        ends = (self._written.ends_at(origin), self._regrouped.ends_at(origin))
        return min((each for each in ends if each is not None), default=None)

    def _is_torn(
        self,
        state: RolloutState,
        before: tuple[Membership, ...],
        groups: tuple[Membership, ...],
        seen: PolicyObservation,
        now: Instant,
    ) -> bool:
        """Whether clusters changed groups, on the way of a revision, too lately for it to last."""
        declared = seen.declared
        if _may_reorder(state, declared) or groups == before or not regrouped(before, groups):
            self._regrouped.forget(declared.origin)
            return False
        return self._regrouped.is_new(declared.origin, groups, now)

    def _settled(
        self, state: RolloutState, seen: PolicyObservation, now: Instant
    ) -> PolicyObservation:
        """A reading in which a set wants what it did, while its author may still be writing.

        Policies of one commit come one after the other: what is there in between is no revision
        that anyone meant.
        """
        known, declared = state.declared, seen.declared
        if not seen.several or known is None or declared.revision in (None, known.revision):
            self._written.forget(declared.origin)
            return seen
        if not self._written.is_new(declared.origin, declared.revision, now):
            return seen
        paused = declared.requests.paused if declared.requests is not None else False
        before = replace(
            declared,
            revision=known.revision,
            last_good=known.last_good,
            author=known.author,
            requests=replace(known.requests or NOTHING, paused=paused),
        )
        return replace(seen, declared=before)

    def _groups(
        self,
        state: RolloutState,
        before: tuple[Membership, ...],
        kept: frozenset[str],
        seen: PolicyObservation,
    ) -> tuple[Membership, ...]:
        """The groups to decide on, formed again only where they may differ."""
        declared = seen.declared
        reorder = _may_reorder(state, declared)
        basis = (before, declared.groups, kept, seen.complete, seen.stable, reorder)
        known = self._grouped.get(declared.origin)
        if known is None or known[0] != basis:
            groups = grouped(
                before,
                declared.groups,
                complete=seen.complete,
                offline=kept,
                stable=seen.stable,
                reorder=reorder,
            )
            known = self._grouped[declared.origin] = (basis, groups)
        return known[1]

    def _drifted(
        self, state: RolloutState, seen: PolicyObservation, now: Instant
    ) -> PolicyObservation:
        """A reading in which no pointer counts that another moved: put back, or left by choice."""
        declared = seen.declared
        if not seen.staged:
            self._strays.pop(declared.origin, None)
            return seen
        sent = {name: one.task.change.revision for name, one in state.pending.items()}
        moved, lost = moved_by_others(state.reports, sent, seen.reports)
        # A reading may lag behind what we gave a moment ago: such a cluster is as it was.
        lagging = {name for name in moved if _was_just_given(state.reports[name], now)}
        reports = [each for each in seen.reports if each.name not in lagging]
        known = state.declared.pinned if state.declared is not None else {}
        if seen.leaves_drift:
            # What was found once stays, for as long as it differs from what is wanted.
            moved |= {
                each.name: each
                for each in reports
                if each.name in known and each.revision not in (None, declared.revision)
            }
        drift = {
            name: f"its pointer was moved to {moved[name].revision}, by another"
            for name in sorted(moved.keys() - lagging)
        }
        self._strays[declared.origin] = drift
        undone = self._undone[declared.origin]
        # What has a pointer again that is in order, without us, is not to be put back.
        well = {each.name for each in reports if each.revision} - drift.keys() - sent.keys()
        for name in undone.keys() & well:
            del undone[name]
        undone |= {name: f"pointer of {name}" for name in drift}
        undone |= {
            name: f"policy on {name}"
            for name in lost
            if not _was_just_given(state.reports[name], now)
        }
        if seen.leaves_drift:
            owner = declared.origin if drift else ""
            lift = f"remove its pointer, or `onDrift: leave` from {owner}"
            declared = replace(
                declared, pinned=drift, pinned_by=owner, unpinned_by=dict.fromkeys(drift, lift)
            )
        else:
            reports = [put_back(each) if each.name in drift else each for each in reports]
        return replace(seen, declared=declared, reports=tuple(reports))

    async def after_round(self, round_: "Round") -> Mapping[str, str]:
        """Have the Rollout object say what was decided, where this worker acts."""
        partition = round_.part.partition
        if round_.acting is not Mode.ACT:
            return self._stray(round_)
        return {
            **self._stray(round_),
            **await self._tidied(round_),
            **await self._told(round_, partition),
        }

    def _stray(self, round_: "Round") -> dict[str, str]:
        declared = round_.part.state.declared
        drift = self._strays.get(declared.origin if declared is not None else "", {})
        return {f"drift of {name}": why for name, why in drift.items()}

    async def _tidied(self, round_: "Round") -> dict[str, str]:
        """Remove revisions that nothing names any more; what could not be is told."""
        try:
            await self._policies.tidy(round_.part.partition, named(round_.part.state))
        except (OutsideError, StaleError) as error:
            return {"revisions that are not in use": str(error)}
        return {}

    async def _told(self, round_: "Round", partition: str) -> dict[str, str]:
        """Status and Events of the Rollout object; what could not be written is told."""
        if round_.made is not None:
            self._untold[partition] = (round_.made.world, round_.made.plan)
        documents = self._objects(partition)
        happened = self._put_back(round_, partition)
        if len(documents) != 1 or (partition not in self._untold and not happened):
            return {}
        (document,) = documents
        before, status, now = document.get("status") or {}, None, round_.clock.now()
        if partition in self._untold:
            world, plan = self._untold[partition]
            gist = (plan.summary, plan.course.revision, *(each.status for each in plan.groups))
            known = self._gists.get(partition)
            if known is not None and known[1] == gist and now - known[0] < STATUS_EVERY:
                return await self._events(round_, document, happened)
            rollout = round_.part.state.rollout
            status = status_of(world, plan, rollout, document, now)
            happened += events_between(before, status, _returns_to(world, rollout))
        troubles = await self._events(round_, document, happened)
        if status is not None:
            troubles |= await self._status(document, status)
            if STATUS not in troubles:
                del self._untold[partition]
                self._gists[partition] = (now, gist)
        return troubles

    def _objects(self, partition: str) -> list[Fields]:
        return self._policies.objects.of(partition.removeprefix(f"{WORD}/"))

    def _put_back(self, round_: "Round", partition: str) -> list[RolloutEvent]:
        """What others had changed, and was put back in this round."""
        state = round_.part.state
        undone = self._undone[state.declared.origin] if state.declared is not None else {}
        done = {task.target for task, end in round_.outcomes if end is TaskOutcome.DONE}
        names = [undone.pop(each) for each in sorted(done & undone.keys())]
        names += self._policies.put_back.pop(partition, [])
        if not names:
            return []
        note = f"changed by others, and put back: {some_names(names)}"
        return [RolloutEvent(EventReason.DRIFT_PUT_BACK, note)]

    async def _events(
        self, round_: "Round", document: Fields, happened: Sequence[RolloutEvent]
    ) -> dict[str, str]:
        worker, now = round_.lease.holder, round_.clock.now()
        mark = mark_of(document.get("status") or {})
        try:
            for each in happened:
                # What was put back is not in the status: each time is another.
                is_drift = each.reason is EventReason.DRIFT_PUT_BACK
                its = format_instant(now) if is_drift else mark
                await self._policies.objects.write_event(document, each, its, worker, now)
        except (OutsideError, StaleError) as error:
            return {"Events of the Rollout": str(error)}
        return {}

    async def _status(self, document: Fields, status: Fields) -> dict[str, str]:
        try:
            await self._policies.objects.write_status(document, status)
        except (OutsideError, StaleError) as error:
            return {STATUS: str(error)}
        return {}

    async def unseen(self, round_: "Round", error: Exception) -> None:
        """Have the Rollout object say why it is refused, where this worker acts."""
        if not isinstance(error, PolicyRefusedError) or round_.mode is not Mode.ACT:
            return
        troubles: dict[str, str] = {}
        # What it said before is not what it says now.
        self._gists.pop(round_.part.partition, None)
        for document in self._objects(round_.part.partition):
            now = round_.clock.now()
            status = refused_status(document, error.reason, error.problems, now)
            happened = refusal(document.get("status") or {}, status)
            troubles |= await self._events(round_, document, happened)
            troubles |= await self._status(document, status)
        if troubles:
            told = "; ".join(f"{what}: {why}" for what, why in troubles.items())
            raise OutsideError(f"{error}; {told}") from None

    def on_lease_lost(self, partition: str) -> None:
        """Another worker writes it."""
        self._untold.pop(partition, None)
        self._gists.pop(partition, None)


def _returns_to(world: RolloutWorld, rollout: Rollout) -> str:
    """What clusters return to once a rollout is aborted; empty: they stay as they are."""
    last_good = rollout.last_good or world.rollout.last_good
    return (last_good or "") if world.strategy.on_failure is OnFailure.ROLLBACK else ""


def _was_just_given(known: Target, now: Instant) -> bool:
    """Whether a cluster was given something so short ago that a reading may not show it."""
    if known.status is not Status.Progressing or known.since is None:
        return False
    return now - known.since <= LAG_MAX


def _may_reorder(state: RolloutState, declared: RolloutDeclared) -> bool:
    """Whether groups may take another order: not while a revision is on its way through them."""
    known = state.declared
    if known is None or known.revision != declared.revision or state.began_at is None:
        return True
    return state.summary not in _UNDER_WAY


# One that failed goes on with a retry, or once an agent answers after all: then the clusters that
# are next must not be others than before.
_UNDER_WAY = frozenset((Summary.WAITING, Summary.PROGRESSING, Summary.PAUSED, Summary.FAILED))
