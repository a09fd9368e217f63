"""Looks ahead: the first at all clusters, the others at those for whom a gate may be open."""

from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec.structs import replace

from tidegate.gates.brakes import LISTS
from tidegate.kinds.upgrades.core.foresight.doubt import choice_doubts, shared_doubts
from tidegate.kinds.upgrades.core.foresight.expected import GateWaits
from tidegate.kinds.upgrades.core.foresight.fleet_state import (
    FleetChange,
    FleetState,
    freed,
    moved_in,
)
from tidegate.kinds.upgrades.core.foresight.future import FleetFuture
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.foresight.soak_clock import SoakClock
from tidegate.kinds.upgrades.core.foresight.soak_watch import SoakWatch
from tidegate.kinds.upgrades.core.foresight.watch import (
    GateWatch,
    Watches,
    WatchKey,
    opening,
    watched,
)
from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.addons import AddonUpgrades
from tidegate.kinds.upgrades.core.rules.brake_gates import BrakeGates
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.kinds.upgrades.core.rules.locks import UpgradeLocks
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan, actions_of
from tidegate.kinds.upgrades.core.rules.soak import Days, SoakLedger, carried, inherited
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.kinds.upgrades.core.versions import VersionError, key_of, minor_of
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.plan import Action, Option
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass

_LOCKS = (GateWatch.MUTEX, GateWatch.ROOM)


class FleetLooks:
    """A fleet, looked at again and again as time goes on."""

    def __init__(
        self, future: FleetFuture, waits: GateWaits, now: Instant, pace: UpgradePace
    ) -> None:
        self._future = future
        self._waits = waits
        self._pace = pace
        self._watches = Watches()
        self._soaks = SoakWatch()
        self._doubled = future.doubled()
        # Places of clusters with an agreement that is wanted, and cannot be given yet.
        self._unagreed: set[int] = set()
        # Organisations whose sources run other versions since the last look.
        self._inheriting: set[int] = set()
        self._ended = False
        # What was decided on in the last look, but for the first.
        self._options: dict[str, tuple[FleetState, FleetMember, list[Option]]] = {}
        world = future.world(now)
        self._gated = {each.prefix for each in world.gates}
        self._agree(range(len(world.clusters)), now)
        future.changed()
        world = future.world(now)
        self.plan = decide(world, now)
        self.decided = len(self.plan.members)
        self._world, self._last = world, now
        self._braking: BrakeGates | None = None
        self._clocks = {key: SoakClock(each) for key, each in world.ledgers.items()}
        self._addons: dict[str, SoakLedger] = {}
        self._states = self._first(world)
        self._kept = {key: each.kept() for key, each in self._clocks.items()}
        self._sources = {key for each in self._states for key in each.fleet.sources}
        self._always_all = bool(world.brakes.expedites)
        self._begin(world, now)

    def _first(self, world: UpgradeWorld) -> list[FleetState]:
        places = {id(cluster): at for at, cluster in enumerate(world.clusters)}
        found = []
        for fleet in self.plan.fleets:
            members = ((places[id(each.cluster)], each) for each in fleet.members)
            state = FleetState(fleet, members, self.plan.ledgers[fleet.key], self._doubled)
            self._clocks[fleet.key] = state.clock
            found.append(state)
        of_clusters = {each.fleet.key for each in found}
        self._addons = {
            key: each for key, each in self.plan.ledgers.items() if key not in of_clusters
        }
        return found

    def _begin(self, world: UpgradeWorld, now: Instant) -> None:
        """Note what every cluster waits for, as the plan has it."""
        places = {id(cluster): at for at, cluster in enumerate(world.clusters)}
        where = [places[id(each.cluster)] for each in self.plan.members]
        options: dict[int, list[Option]] = {}
        for option in self.plan.options:
            options.setdefault(where[option.target], []).append(option)
        self._waits.begin()
        for number, state in enumerate(self._states):
            days = self._soak_of(state)[0]
            for at in state.members:
                self._note(number, state, at, options.get(at, []), days, now)

    def doubts(self, uuid: str, step: UpgradeStep) -> list[str]:
        """What else a step of the last look depends on; nothing does in the first: it is now."""
        if uuid not in self._options:
            return []
        state, member, options = self._options[uuid]
        shared = shared_doubts(state, member, self._world.brakes)
        return [*shared, *choice_doubts(step, options)]

    def next_opening(self) -> Instant | None:
        """When a gate at which a cluster waits may open by time alone; None: none does."""
        moments = [self._watches.next_alarm(), self._soaks.next_moment()]
        if self._ended and self._sources:  # what others inherit, they see in the round after
            moments.append(Instant(self._last + 1))
        return min((each for each in moments if each is not None), default=None)

    def last_plan(self) -> UpgradePlan:
        """The last look once more, at every cluster."""
        ledgers = {key: each.ledger() for key, each in self._kept.items()} | self._addons
        return decide(replace(self._world, ledgers=ledgers), self._last)

    def look(self, now: Instant) -> list[Action]:
        """What is decided at a moment; what ended by then has ended."""
        before = Instant(now - self._pace.round)
        for clock in self._clocks.values():
            clock.advance(before)
        self._kept = {key: each.kept() for key, each in self._clocks.items()}
        self._addons = {key: carried(each, before) for key, each in self._addons.items()}
        # What was asked for is under way, before it ends.
        begun = self._renew(self._future.changed(), now)
        changed: set[int] = set()
        self._ended = self._future.settle(now)
        if self._ended:
            changed |= self._future.changed()
            self._agree(changed | self._unagreed, now)
            changed |= self._future.changed()
        ended = self._renew(changed, now)
        world = self._future.world(now)
        self._world, self._last = world, now
        self._waits.begin()
        due, inheriting = self._watches.due(now), self._inheriting
        self._inheriting = set()
        woken = [
            self._wake(number, (*begun[number], *ended[number]), due, inheriting, now)
            for number in range(len(self._states))
        ]
        braking = self._brakes(world, now)
        options: list[Option] = []
        members: dict[int, FleetMember] = {}
        self._options = {}
        for number, (state, some) in enumerate(zip(self._states, woken, strict=True)):
            options += self._decide(number, state, some, world, braking, now)
            members |= {at: state.members[at] for at in some}
        return actions_of([each for each in options if all_pass(each.verdicts)], members)

    def _brakes(self, world: UpgradeWorld, now: Instant) -> BrakeGates:
        if not any(getattr(world.brakes, field) for field in LISTS):
            return BrakeGates(world.brakes, (), now)
        if self._braking is None or world.brakes.health:  # evidence is seen anew
            self._braking = BrakeGates(world.brakes, [one.whole() for one in self._states], now)
            return self._braking
        busy = [each.occupied() for each in self._states]
        return BrakeGates(world.brakes, busy, now, self._braking)

    def _agree(self, some: Iterable[int], now: Instant) -> None:
        """Agreements are given as soon as a way leads to a version that asks for them."""
        if not self._gated:
            return
        clusters = {at: self._future.at(at) for at in sorted(some)}
        led = {
            each.uuid: at
            for at, each in clusters.items()
            if each.uuid not in self._doubled and _leads_to(each.available_upgrades, self._gated)
        }
        if not led:
            return
        chosen = tuple(clusters[at] for at in led.values())
        world = replace(self._future.world(now), clusters=chosen, approver=True)
        plan = decide(world, now)
        for action in plan.actions:
            self._future.carry_out(action, now)
        self._unagreed -= set(led.values())
        self._unagreed |= {
            led[plan.members[each.target].cluster.uuid]
            for each in plan.options
            if each.verdicts[0].reason is VersionReason.AgreementWanted
            and not all_pass(each.verdicts)
        }

    def _renew(self, changed: Iterable[int], now: Instant) -> list[list[FleetChange]]:
        """Look again at clusters that changed, organisation by organisation."""
        places = frozenset(changed)
        unread = self._world.unread
        found: list[list[FleetChange]] = []
        for state in self._states:
            mine: list[FleetChange] = []
            for at in sorted(places & state.members.keys() | state.timed):
                cluster = self._future.at(at)
                one = state.renew(at, cluster, unread.get(cluster.uuid), now)
                if one is not None:
                    mine.append(one)
            found.append(mine)
        return found

    def _wake(
        self,
        number: int,
        changes: Sequence[FleetChange],
        due: Iterable[int],
        inheriting: Container[int],
        now: Instant,
    ) -> dict[int, list[WatchKey]]:
        """Those to decide on; with what may be open, where that is all that changed for them."""
        state = self._states[number]
        versions = state.observe(changes, now, Instant(now - self._pace.round))
        keys = [*self._freed(number, changes), *self._caught_up(number, state, changes)]
        if state.fleet.sources or self._soaks.is_waited_for(number, versions, now):
            days = self._soak_of(state)[0]
            keys += self._soaks.soaked(number, days, self._clocks_of(state), now)
        if number in inheriting:
            keys += self._watches.keys(GateWatch.INHERITED, number)
        if versions and state.fleet.key in self._sources:
            self._lower(state)
        woken: dict[int, list[WatchKey]] = {}
        surely = {each.at for each in changes}
        surely |= {at for at in (*due, *self._watches.always) if at in state.members}
        for key in keys:
            for at in self._watches.wake(key):
                woken.setdefault(at, []).append(key)
        return woken | {at: [] for at in surely}

    def _freed(self, number: int, changes: Iterable[FleetChange]) -> list[WatchKey]:
        found: dict[WatchKey, None] = {}
        for each in changes:
            if each.frees:
                found |= {(GateWatch.MUTEX, number, (name,)): None for name in freed(each)}
                found[GateWatch.ROOM, number, (each.before.sector,)] = None
        return list(found)

    def _caught_up(
        self, number: int, state: FleetState, changes: Iterable[FleetChange]
    ) -> list[WatchKey]:
        moved = {place for each in changes for place in moved_in(each)}
        if not moved:
            return []
        found = []
        for key in self._watches.keys(GateWatch.SECTOR, number):
            sector, workload, version = key[2]
            if (sector, workload) in moved or (sector, None) in moved:
                slowest = state.slowest.of(sector, workload)
                if slowest is None or (slowest.key is not None and slowest.key >= key_of(version)):
                    found.append(key)
        return found

    def _clocks_of(self, state: FleetState) -> list[SoakClock]:
        """Where versions soak for an organisation: its own first, then those it inherits from."""
        sources = state.fleet.sources
        return [state.clock, *(self._clocks[key] for key in sources if key in self._clocks)]

    def _soak_of(self, state: FleetState) -> tuple[Days, Minima | None]:
        """What has soaked for an organisation; of those it inherits from, as of the last round."""
        if not state.fleet.sources:
            return state.clock.days, None
        sources = (self._kept[key].outline for key in state.fleet.sources if key in self._kept)
        return inherited(state.clock.outline(), sources)

    def _lower(self, state: FleetState) -> None:
        """Others see what its clusters run from the next look on."""
        minima = state.minima() or state.clock.minima
        if minima != state.clock.minima:
            state.clock.minima = minima
            self._inheriting |= {
                number
                for number, each in enumerate(self._states)
                if state.fleet.key in each.fleet.sources
            }

    def _decide(
        self,
        number: int,
        state: FleetState,
        woken: Mapping[int, list[WatchKey]],
        world: UpgradeWorld,
        braking: BrakeGates,
        now: Instant,
    ) -> list[Option]:
        addons: AddonUpgrades | None = None
        if state.fleet.org.addons:
            addons = AddonUpgrades(
                replace(world, ledgers=self._addons), state.whole(), braking, now
            )
            self._addons |= addons.ledgers
        if not woken:
            return []
        soak, locks = self._soak_of(state), state.locks(world)
        passed = state.begin(world, soak, locks, braking, addons, now)
        found: list[Option] = []
        for at in state.in_order(woken):
            member = state.members[at]
            if woken[at] and (shut := _still_shut(locks, member, woken[at])):
                self._waits.again(member.cluster.uuid, shut)
                for key in woken[at]:
                    self._watches.add(key, at)
                continue
            self.decided += 1
            options = passed.look_at(at, member)
            self._note(number, state, at, options, soak[0], now)
            self._options[member.cluster.uuid] = (state, member, options)
            found += options
        return found

    def _note(
        self,
        number: int,
        state: FleetState,
        at: int,
        options: list[Option],
        days: Days,
        now: Instant,
    ) -> None:
        """What a cluster waits for from now on."""
        member = state.members[at]
        self._waits.note(member.cluster.uuid, options)
        self._watches.forget(at)
        if member.excluded is not None:
            return
        if state.fleet.org.addons or self._always_all or at in state.timed:
            self._watches.always.add(at)
        for option in options:
            best = watched(option)
            if best is None:
                continue
            watch, one = best
            if watch in (GateWatch.ALWAYS, GateWatch.TIME):
                moment = opening(option, self._world, now)
                if moment is not None:
                    self._watches.add_alarm(moment, at)
                if watch is GateWatch.ALWAYS or moment is None:
                    self._watches.always.add(at)
            elif watch is not GateWatch.ITSELF:
                key = _key(watch, number, one, member)
                self._watches.add(key, at)
                if watch is GateWatch.SOAK:
                    self._soaks.add(key, days, self._clocks_of(state), now)


def _key(watch: GateWatch, number: int, one: Verdict, member: FleetMember) -> WatchKey:
    """What is watched for a verdict."""
    facts = tuple(map(str, one.facts))
    if watch is GateWatch.SECTOR:
        sector, _, workload, _, version = facts
        return (watch, number, (sector, workload, version))
    if watch is GateWatch.SOAK:
        policy = member.policy
        return (watch, number, (facts[0], str(policy.soak_days), *(policy.workloads or ())))
    return (watch, number, () if watch is GateWatch.INHERITED else facts[:1])


def _still_shut(
    locks: UpgradeLocks, member: FleetMember, keys: Iterable[WatchKey]
) -> list[Verdict]:
    """What shuts all that might be open for a cluster; empty: something may be open."""
    found = []
    for watch, _, names in keys:
        if watch not in _LOCKS:
            return []
        said = locks.mutexes(member) if watch is GateWatch.MUTEX else locks.slots(member)
        shut = [
            each
            for each in said
            if each.outcome is not Outcome.PASS
            and (watch is GateWatch.ROOM or each.facts[:1] == names)
        ]
        if not shut:
            return []
        found += shut
    return found


def _leads_to(versions: tuple[str, ...], minors: set[str]) -> bool:
    try:
        return any(minor_of(each) in minors for each in versions)
    except VersionError:
        return True
