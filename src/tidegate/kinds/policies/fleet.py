"""Policies as a fleet: a policy is a rollout, a managed cluster a target, a revision its content.

Observing reads the hub; acting moves one cluster's pointer. A policy is taken over in place with
the first move, and nothing on any cluster changes by that.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection
from contextlib import aclosing

from tidegate.engine.kind import ActRefusedError, PartitionRefusedError
from tidegate.kinds.policies.core.history import surplus
from tidegate.kinds.policies.core.waves import StageWay
from tidegate.kinds.policies.hub.mirror import FRESH_S
from tidegate.kinds.policies.hub.rollout_objects import RolloutObjects
from tidegate.kinds.policies.hub.set_view import SetView, member_names, set_view_of
from tidegate.kinds.policies.hub.set_writer import SetWriter
from tidegate.kinds.policies.hub.shelves import HubShelves, ReadFiles
from tidegate.kinds.policies.hub.view import PolicyView, PolicyViews, view_of
from tidegate.kinds.policies.hub.wave_view import WaveView, wave_view_of
from tidegate.kinds.policies.hub.wave_writer import WaveWriter
from tidegate.kinds.policies.hub.writer import HubWriter
from tidegate.kinds.policies.observation import PolicyObservation, observation_of
from tidegate.kinds.policies.sets import observe_set, tidy_set
from tidegate.kinds.policies.waves import act_on_wave, observe_waves
from tidegate.kinds.policies.wire.rollout_doc import OnDrift, PolicyRollout
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kubernetes.port import Cluster, ObjectRefusedError
from tidegate.model.errors import NotFoundError, OutsideError, StaleError, UserError
from tidegate.model.plan import ChangeKind
from tidegate.model.problem import Problem, nearest_or_all

# One policy, or those of one set.
StagedView = PolicyView | SetView
WORD = "policies"
# Deadlines are weighed with every look: silence is no event.
LOOK_S = 10.0
# How long a propagator has to see our decisions before a binding names them.
SETTLE_S = 3.0
MOVED = "pointer moved"
# Why a rollout is refused, as a condition has it.
INVALID = "InvalidRollout"
NOT_STAGEABLE = "NotStageable"
# How many revisions are removed in one round.
TIDIED_MAX = 20


class PolicyRefusedError(PartitionRefusedError):
    """What people wrote of a policy cannot be carried out."""

    def __init__(self, reason: str, error: UserError) -> None:
        super().__init__(str(error))
        # InvalidRollout or NotStageable: public, as a reason of a condition.
        self.reason = reason
        # The same words as `policies plan` has.
        self.problems = [each.text() for each in error.problems]


class PolicyFleet:
    """The policies of one hub that have a rollout."""

    def __init__(
        self,
        hub: Cluster,
        *,
        fresh_s: float = FRESH_S,
        look_s: float = LOOK_S,
        settle_s: float = SETTLE_S,
        files: ReadFiles | None = None,
    ) -> None:
        self._hub = hub
        self._shelves = HubShelves(hub, fresh_s, files)
        self.objects = RolloutObjects(hub, self._shelves)
        self._views = PolicyViews(self._shelves)
        # What was last seen of each set.
        self._sets: dict[str, SetView] = {}
        self._look_s = look_s
        self._settle_s = settle_s
        # The last observation of each policy, and what it was made from.
        self._observed: dict[str, tuple[tuple[int, ...], PolicyRollout, PolicyObservation]] = {}
        # Decisions are written whole: one at a time for each policy.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # Clusters that have a pointer and are about to be in a decision; in order.
        self._unplaced: defaultdict[str, dict[str, None]] = defaultdict(dict)
        # What others had changed and was put back, by policy, until it is told.
        self.put_back: defaultdict[str, list[str]] = defaultdict(list)

    async def partitions(self) -> list[str]:
        """The policies that a rollout is declared for, readable or not."""
        await self._shelves.fresh()
        gaps = (self._shelves.rollouts.gap, self._shelves.policies.gap, self._shelves.files_gap)
        for gap in gaps:
            if gap is not None:
                raise OutsideError(gap)
        declared = self._shelves.declared()
        rollouts = [each for each in declared.values() if not isinstance(each, UserError)]
        self._views.keep([n for each in rollouts for n in member_names(self._shelves, each)])
        for name in self._observed.keys() - declared.keys():
            del self._observed[name]
        return [f"{WORD}/{name}" for name in declared]

    async def observe(self, partition: str) -> PolicyObservation:
        """What is declared, and what every cluster reports of what it was given."""
        try:
            rollout = await self.rollout(partition)
            stamp = self._shelves.stamp_of(*member_names(self._shelves, rollout))
            known = self._observed.get(rollout.name)
            if known is None or known[0] != stamp or known[1] != rollout:
                known = (stamp, rollout, self._observation(self._view_of(rollout)))
                self._observed[rollout.name] = known
        except UserError as error:
            raise self._refusal(partition, error) from None
        return known[2]

    def _view_of(self, rollout: PolicyRollout) -> StagedView | WaveView:
        if rollout.stage is StageWay.WAVES:
            return wave_view_of(self._shelves, rollout)
        if rollout.policy_set:
            view = self._sets[rollout.name] = set_view_of(self._shelves, self._views, rollout)
            return view
        return self._views.of(rollout)

    def _writer(self, view: StagedView) -> HubWriter | SetWriter:
        if isinstance(view, SetView):
            return SetWriter(self._hub, self._shelves, view)
        return HubWriter(self._hub, self._shelves, view)

    def _observation(self, view: StagedView | WaveView) -> PolicyObservation:
        if isinstance(view, WaveView):
            return observe_waves(view)
        if isinstance(view, SetView):
            return observe_set(self._views, view)
        named = [*view.members, *sorted(view.given.keys() - set(view.members))]
        return observation_of(
            view,
            named,
            view.groups,
            view.revision.name,
            self._views.reports(view, named),
            staged=view.staged,
            leaves_drift=view.rollout.on_drift is OnDrift.LEAVE,
            author=view.author,
        )

    async def act(self, partition: str, task: RolloutTask) -> str:
        """Move one cluster's pointer, enforce it, or take the policy from one that left."""
        try:
            rollout = await self.rollout(partition)
            if rollout.stage is StageWay.WAVES:
                return await self._act_on_wave(partition, task)
            if task.change.kind is not ChangeKind.REMOVE:
                wanted, cluster = task.change.revision, task.target
                pointed = self._pointed(rollout, cluster, wanted)
                if pointed is not None:
                    before = pointed.pointer_of(self._shelves, cluster)
                    # The pointers of a group are written side by side.
                    await self._writer(pointed).point(cluster, wanted)
                    return MOVED + _words(pointed, before, task)
                return await self._give(partition, task)
            async with self._locks[partition]:
                view = await self._staged(partition)
                return await self._remove(self._writer(view), view, task.target)
        except ObjectRefusedError as error:
            raise ActRefusedError(str(error)) from None
        except UserError as error:
            raise self._refusal(partition, error) from None

    def _pointed(
        self, rollout: PolicyRollout, cluster: str, wanted: str | None
    ) -> StagedView | None:
        """What only pointers have to be written of, to give a cluster a revision; None: more."""
        if not rollout.policy_set:
            return self._views.pointed(rollout, cluster, wanted)
        view = self._sets.get(rollout.name)
        together = view.kept.get(wanted or "") if view is not None else None
        if view is None or together is None or together.keys() != view.policies.keys():
            return None
        each = [self._views.pointed(rollout.member(n), cluster, r) for n, r in together.items()]
        return view if None not in each else None

    async def _act_on_wave(self, partition: str, task: RolloutTask) -> str:
        async with self._locks[partition]:
            view = await self._seen(partition)
            if not isinstance(view, WaveView):
                raise StaleError(f"{partition} is staged now")
            return await act_on_wave(self._hub, self._shelves, view, task)

    async def _give(self, partition: str, task: RolloutTask) -> str:
        wanted, cluster = task.change.revision, task.target
        async with self._locks[partition]:
            view = await self._staged(partition)
            writer = self._writer(view)
            if cluster not in view.members and cluster not in view.given:
                raise StaleError(f"{cluster} is in no group any more")
            if wanted is None or wanted not in view.known:
                raise StaleError(f"revision {wanted} is neither the author's nor kept on the hub")
            await writer.keep_named(wanted)
            adopted = not view.staged
            if adopted:
                await writer.adopt(self._settle_s)
            elif not view.placement_kept:
                await writer.keep_placement()
            await writer.bind(view.astray)
            self.put_back[f"{WORD}/{view.rollout.name}"] += [
                f"binding {each.name}" for each in view.astray
            ]
            # What a pointer names is not removed by anything: until one does, nothing else may.
            first = wanted not in view.pointed
            if first:
                await writer.point(cluster, wanted)
        if not first:
            await writer.point(cluster, wanted)
        await self._place(partition, writer, cluster)
        moved = MOVED + _words(view, view.given.get(cluster), task)
        return f"policy adopted, {moved}" if adopted else moved

    async def _place(self, partition: str, writer: HubWriter | SetWriter, cluster: str) -> None:
        """Have a cluster in our decisions, and with it all that wait for the same."""
        waiting = self._unplaced[partition]
        waiting[cluster] = None
        try:
            async with self._locks[partition]:
                if cluster in waiting:
                    some = list(waiting)
                    await writer.place(some)
                    for each in some:
                        waiting.pop(each, None)
        finally:
            waiting.pop(cluster, None)

    async def _remove(self, writer: HubWriter | SetWriter, view: StagedView, cluster: str) -> str:
        if not view.reading.complete:
            raise OutsideError("; ".join(view.reading.gaps))
        if cluster in view.members:
            raise StaleError(f"{cluster} is in a group again")
        was_there = await writer.displace(cluster)
        if cluster in view.pointers:
            await writer.point(cluster, None)
        return "removed" if was_there else "was not there"

    async def adopt(self, partition: str) -> str:
        """Take a policy over in place, before anything is rolled out; the revision that it has."""
        async with self._locks[partition]:
            # A root that was rewritten is taken over as it is now: all clusters have that.
            view = await self.view(partition, rewritten=True)
            if not view.staged:
                await self._writer(view).adopt(self._settle_s)
            return view.baseline_name

    async def leave(self, partition: str) -> str:
        """Hand a policy back: a plain root, bound as before; the revision that it has.

        UserError unless its rollout is paused: a worker would take it over again.
        """
        async with self._locks[partition]:
            view = await self.view(partition)
            if not view.staged:
                return view.baseline_name
            _check_paused(view.rollout)
            return await self._writer(view).leave()

    async def leave_waves(self, partition: str, *, back: bool = False) -> WaveView:
        """Hand back what is enforced in waves; as it was.

        Enforced by itself, where all clusters are; `back`: with every cluster informing again.
        """
        async with self._locks[partition]:
            rollout = await self.rollout(partition)
            view = wave_view_of(self._shelves, rollout, leaves=True)
            _check_paused(rollout)
            writer = WaveWriter(self._hub, self._shelves, view)
            await (writer.take_all_back() if back else writer.leave())
            return view

    async def tidy(self, partition: str, named: Collection[str]) -> int:
        """Remove revisions that are neither in use nor among the last few; how many.

        `named` are those that the journal names. It is decided on lists that are read right
        before, and nothing is moved meanwhile; where one cannot be read, nothing is removed.
        """
        rollout = self._shelves.declared().get(partition.removeprefix(f"{WORD}/"))
        if rollout is None or isinstance(rollout, UserError) or rollout.stage is StageWay.WAVES:
            return 0
        limit, place = rollout.history, (rollout.namespace, rollout.name)
        if len(self._shelves.made(*place)) <= limit:
            return 0
        async with self._locks[partition]:
            view = await self._staged(partition)
            if not surplus(self._shelves.made(*place), {*named, *view.in_use}, limit):
                return 0
            for shelf in (self._shelves.pointer_maps, self._shelves.revision_maps):
                await shelf.load(self._hub)
            view = await self._staged(partition)
            if not view.staged or not view.reading.complete:
                return 0
            if isinstance(view, SetView):
                set_writer = SetWriter(self._hub, self._shelves, view)
                return await tidy_set(self._shelves, set_writer, view, named, TIDIED_MAX)
            writer = HubWriter(self._hub, self._shelves, view)
            gone = surplus(self._shelves.made(*place), {*named, *view.in_use}, limit)[:TIDIED_MAX]
            for each in gone:
                await writer.forget(each)
            return len(gone)

    async def rollout(self, partition: str) -> PolicyRollout:
        """What is declared of one policy now; UserError says what is wrong with that."""
        await self._shelves.fresh()
        gaps = self._shelves.gaps()
        if gaps:
            raise OutsideError("; ".join(gaps))
        declared = self._shelves.declared()
        name = partition.removeprefix(f"{WORD}/")
        if name not in declared:
            raise NotFoundError("rollout of policy", name, nearest_or_all(name, declared))
        found = declared[name]
        if isinstance(found, UserError):
            raise found
        return found

    async def view(self, partition: str, *, rewritten: bool = False) -> StagedView:
        """One staged policy, or set, as it is now; UserError says why it cannot be staged.

        `rewritten`: it can, even if its root was rewritten.
        """
        found = await self.any_view(partition, rewritten=rewritten)
        if isinstance(found, WaveView):
            remedy = "this is for revisions; waves have none to give, to compare or to take over"
            problem = Problem(f"{found.rollout.origin}: spec.stage", "is waves", remedy)
            raise UserError((problem,))
        return found

    async def any_view(self, partition: str, *, rewritten: bool = False) -> StagedView | WaveView:
        """One policy as it is now, whichever way it goes out; UserError says why it cannot."""
        rollout = await self.rollout(partition)
        if not rewritten or rollout.stage is StageWay.WAVES:
            return self._view_of(rollout)
        if rollout.policy_set:
            return set_view_of(self._shelves, None, rollout)
        return view_of(self._shelves, rollout, rewritten=True)

    async def _seen(self, partition: str) -> StagedView | WaveView:
        """The same for a round, in which what people wrote wrong is a trouble of the outside."""
        try:
            return await self.any_view(partition)
        except UserError as error:
            raise self._refusal(partition, error) from None

    def _refusal(self, partition: str, error: UserError) -> PolicyRefusedError:
        declared = self._shelves.declared().get(partition.removeprefix(f"{WORD}/"))
        reason = INVALID if isinstance(declared, UserError) else NOT_STAGEABLE
        return PolicyRefusedError(reason, error)

    async def _staged(self, partition: str) -> StagedView:
        view = await self._seen(partition)
        if isinstance(view, WaveView):
            raise StaleError(f"{partition} is enforced in waves now")
        return view

    async def changes(self) -> AsyncIterator[str]:
        """Policies of which something changed, and all of them now and then."""
        news: asyncio.Queue[str] = asyncio.Queue()
        task = asyncio.create_task(self._listen(news))
        try:
            while True:
                try:
                    async with asyncio.timeout(self._look_s):
                        yield await news.get()
                except TimeoutError:
                    if task.done():
                        task.result()
                    for name in list(self._shelves.declared()):
                        yield f"{WORD}/{name}"
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _listen(self, news: "asyncio.Queue[str]") -> None:
        shelves = self._shelves
        changes = shelves.mirror.changes()
        async with aclosing(changes):
            async for shelf, change in changes:
                for name in shelves.touched(shelf, change):
                    news.put_nowait(f"{WORD}/{name}")


def _check_paused(rollout: PolicyRollout) -> None:
    if not rollout.paused:
        remedy = "pause it, so that no worker takes the policy over again"
        raise UserError((Problem(rollout.origin, "paused is not true", remedy),))


def _words(view: StagedView, given: str | None, task: RolloutTask) -> str:
    """What is to be said of a cluster that returns from what it was given."""
    if task.change.kind is not ChangeKind.RETURN:
        return ""
    return view.lost_by_return(given, task.change.revision)
