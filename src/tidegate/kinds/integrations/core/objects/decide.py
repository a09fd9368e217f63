"""What is done in one namespace now, object by object: `decide(world, now) -> Plan`.

Every object has one option, with the verdict of every gate. What is known of the object speaks
first (`core/workloads/changes.py`); then, for what would be done: pause and failures, brakes, the
rule of its class of change (at once, in waves, by hand), repetition, and the limit on removals.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidegate.explain.table import first_shut
from tidegate.gates.ask import Ask, Purpose, moments, say
from tidegate.gates.brakes import LISTS, Brakes, Coverages
from tidegate.kinds.integrations.core.objects.stand import (
    ChangeClass,
    ObjectStand,
    WaveLimits,
    digest_of,
)
from tidegate.kinds.integrations.core.reasons import ObjectReason
from tidegate.kinds.integrations.core.waves.rules import ChangePace
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.model.limit import Limit
from tidegate.model.plan import Action, Change, ChangeKind, Option, Plan
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.removal import REMOVALS, removals_max
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

# The same thing may be applied so often within an hour; then it waits, twice as long each time.
AGAIN_FREE = 3
AGAIN_WITHIN = Duration(3600 * SECOND)
AGAIN_FIRST, AGAIN_MAX = Duration(300 * SECOND), Duration(3600 * SECOND)


class ActAttempt(msgspec.Struct, frozen=True):
    """A task without an outcome: how often it failed, why, and when it is tried again."""

    tries: int = 0
    failure: str = ""
    refused: bool = False
    retry_at: Instant | None = None
    removes: bool = False


class Repeats(msgspec.Struct, frozen=True):
    """When one and the same thing was done to a target: the last few times."""

    digest: str
    at: tuple[Instant, ...] = ()


class ObjectWorld(msgspec.Struct, frozen=True, kw_only=True):
    """One namespace: its objects, what is known of earlier attempts, and what is allowed."""

    objects: tuple[ObjectStand, ...] = ()
    targets: tuple[str, ...] = ()
    # Objects here that are ours, and those to be removed: of all that is decided on together.
    managed: int = 0
    removing: int = 0
    removals: Limit = REMOVALS
    allows_mass_delete: bool = False
    # Whether the bundle declares anything at all.
    declared: bool = True
    # By integration: where changes go in waves.
    waves: Mapping[str, WaveLimits] = {}
    brakes: Brakes = Brakes()
    paused: bool = False
    attempts: Mapping[str, ActAttempt] = {}
    repeats: Mapping[str, Repeats] = {}
    # When a target was seen to run as declared, after a change.
    settled_at: Mapping[str, Instant] = {}
    # A person asked for it: what is left to people passes, and the order is the executor's.
    by_hand: bool = False


def with_objects(world: ObjectWorld, objects: tuple[ObjectStand, ...]) -> ObjectWorld:
    """A world with these objects, and their targets."""
    targets = tuple(sorted({each.target for each in objects}))
    return msgspec.structs.replace(world, objects=objects, targets=targets)


def labels_of(objects: Iterable[ObjectStand]) -> dict[str, dict[str, str]]:
    """The labels of targets by which brakes choose them; of some they are not known."""
    return {each.target: each.labels for each in objects if each.labels is not None}


def version_of(world: ObjectWorld) -> str | None:
    """What an approval is for: all that is to be done here; None: nothing is."""
    acting = [each for each in world.objects if each.acts]
    return digest_of(acting) if acting else None


def decide(world: ObjectWorld, now: Instant) -> Plan:
    """One option for each object, in their order, and one action for each target that starts."""
    positions = {name: at for at, name in enumerate(world.targets)}
    gates = _Gates(world, now)
    said = [gates.of(each) for each in world.objects]
    _in_turn(world, said, gates)
    _together(world, said)
    _removed_last(world, said)
    options = [
        Option(positions[each.target], _change(each), verdicts)
        for each, verdicts in zip(world.objects, said, strict=True)
    ]
    return Plan(
        options=options, actions=list(_actions(world, said)), recheck_at=_recheck(said, gates)
    )


def _change(stand: ObjectStand) -> Change:
    kind = ChangeKind.REMOVE if stand.removes else ChangeKind.APPLY
    return Change(kind, stand.words if stand.acts else stand.object)


def _actions(world: ObjectWorld, said: list[tuple[Verdict, ...]]) -> Iterator[Action]:
    starts: defaultdict[str, list[ObjectStand]] = defaultdict(list)
    for each, verdicts in zip(world.objects, said, strict=True):
        if all_pass(verdicts):
            starts[each.target].append(each)
    for target in world.targets:
        if mine := starts.get(target):
            kind = ChangeKind.REMOVE if all(each.removes for each in mine) else ChangeKind.APPLY
            yield Action(target, Change(kind, digest_of(mine)))


def _recheck(said: list[tuple[Verdict, ...]], gates: "_Gates") -> Instant | None:
    """When time alone changes a verdict."""
    dated = {each.until for verdicts in said for each in verdicts if each.until is not None}
    return min(dated | gates.moments, default=None)


class _Gates:
    """What each gate says of an object, for all that wait for nothing but themselves."""

    def __init__(self, world: ObjectWorld, now: Instant) -> None:
        self._world, self.now = world, now
        self._coverages = Coverages(world.brakes, labels_of(world.objects))
        self._braked = any(getattr(world.brakes, field) for field in LISTS)
        self._mass = _mass(world)
        self._version = version_of(world)
        # Whether something other than a removal failed here.
        self._failing = any(one.tries and not one.removes for one in world.attempts.values())
        self.moments: set[Instant] = set()

    def of(self, stand: ObjectStand) -> tuple[Verdict, ...]:
        known = stand.verdicts()
        if not stand.acts:
            rests = all_pass(known)
            return (*known, verdict(ProgressReason.Done)) if rests else known
        if not all_pass(known):
            return known
        return (*self._progress(stand), *self._brakes(stand), *self._rule(stand), *known)

    def _progress(self, stand: ObjectStand) -> Iterator[Verdict]:
        world = self._world
        if world.paused:
            yield verdict(ProgressReason.Paused)
        attempt = world.attempts.get(stand.target)
        if attempt is not None and not attempt.tries:
            yield verdict(ProgressReason.InFlight)
        elif attempt is not None:
            reason = ObjectReason.ServerRefused if attempt.refused else ObjectReason.ServerFailed
            yield verdict(reason, attempt.failure, until=attempt.retry_at)

    def _brakes(self, stand: ObjectStand) -> tuple[Verdict, ...]:
        if not self._braked:
            return ()
        ask = ask_of(stand, self.now, self._version)
        coverage = self._coverages.of(stand.target)
        self.moments |= {each for each in moments(coverage, ask) if each > self.now}
        return say(self._world.brakes, coverage, ask)

    def _rule(self, stand: ObjectStand) -> Iterator[Verdict]:
        world = self._world
        if stand.pace is ChangePace.BY_HAND and not world.by_hand:
            yield verdict(ObjectReason.LeftToHand, stand.integration)
        if stand.pace is ChangePace.WAVES and stand.change is ChangeClass.NEW:
            yield verdict(ObjectReason.LeftToWaves, stand.group)
        again = world.repeats.get(stand.target)
        if again is not None and again.digest == digest_beside(world, stand):
            yield from self._repeated(again)
        if stand.removes:
            if self._failing:
                yield verdict(ObjectReason.RemovalWithheld)
            if (mass := self._mass.get(stand.object, self._mass.get(""))) is not None:
                yield mass

    def _repeated(self, again: Repeats) -> Iterator[Verdict]:
        lately = [at for at in again.at if self.now - at < AGAIN_WITHIN]
        more = len(lately) - AGAIN_FREE
        if more >= 0:
            again_at = max(lately) + min(AGAIN_MAX, AGAIN_FIRST << min(more, 8))
            if again_at > self.now:
                # Once the first is an hour ago, there is one less.
                until = Instant(min(again_at, min(lately) + AGAIN_WITHIN))
                yield verdict(ObjectReason.ChangedAgain, len(lately), until=until)


def digest_beside(world: ObjectWorld, stand: ObjectStand) -> str:
    """What would be done to a target together with one object of it."""
    return digest_of(
        each
        for each in world.objects
        if each.target == stand.target and each.acts and each.removes == stand.removes
    )


def ask_of(stand: ObjectStand, now: Instant, version: str | None = None) -> Ask:
    """What the brakes are asked about an object: a block is about the image it would have."""
    return Ask(
        purpose=Purpose.REMOVE if stand.removes else Purpose.ROLL_OUT,
        now=now,
        revision=stand.image or stand.wanted or stand.object,
        version=version,
        need=Duration(0),
    )


def _mass(world: ObjectWorld) -> dict[str, Verdict]:
    """Why objects are not removed: all (under no name), or those of an integration, by object."""
    if world.allows_mass_delete or not world.removing:
        return {}
    if not world.declared:
        return {"": verdict(ObjectReason.NothingDeclared)}
    most = removals_max(world.managed, world.removals)
    if world.removing > most:
        return {"": verdict(ObjectReason.MassDeletion, world.removing, world.managed, most)}
    # Where images move by rules, the rollout of an integration keeps the same limit for its own.
    found: dict[str, Verdict] = {}
    staged = [each for each in world.objects if each.staged]
    there = Counter(each.integration for each in staged if each.verb is not ObjectAction.CREATE)
    going = Counter(each.integration for each in staged if each.removes)
    for name, count in going.items():
        most = removals_max(there[name], world.removals)
        if count > most:
            why = verdict(ObjectReason.MassDeletion, count, there[name], most)
            mine = (one for one in staged if one.removes and one.integration == name)
            found |= {each.object: why for each in mine}
    return found


def _in_turn(world: ObjectWorld, said: list[tuple[Verdict, ...]], gates: _Gates) -> None:
    """Changes in waves wait for earlier groups, and for room."""
    for name, limits in world.waves.items():
        mine = [at for at, each in enumerate(world.objects) if each.integration == name]
        wave = _Wave(world, limits, [world.objects[at] for at in mine], gates)
        for at in sorted(mine, key=lambda at: (world.objects[at].wave, world.objects[at].target)):
            stand = world.objects[at]
            if (
                stand.pace is ChangePace.WAVES
                and stand.change is not ChangeClass.NEW
                and stand.acts
            ):
                said[at] = (*wave.verdicts(stand, starts=all_pass(said[at])), *said[at])


class _Wave:
    """The units of one integration, group after group."""

    def __init__(
        self, world: ObjectWorld, limits: WaveLimits, mine: list[ObjectStand], gates: _Gates
    ) -> None:
        self._world, self._limits, self._mine = world, limits, mine
        self._now = gates.now
        targets = {each.target for each in mine}
        self._most = len(targets)
        if limits.concurrency is not None:
            self._most = limits.concurrency.of(len(targets))
        self._busy = {each.target for each in mine if not each.acts and not each.settled}
        self._busy |= targets & world.attempts.keys()
        # By wave: why it waits for those before it. The same for all of it.
        self._before: dict[int, Verdict | None] = {}

    def verdicts(self, stand: ObjectStand, *, starts: bool) -> Iterator[Verdict]:
        if stand.wave not in self._before:
            self._before[stand.wave] = self._earlier(stand.wave)
        earlier = self._before[stand.wave]
        if earlier is not None:
            yield earlier
        elif stand.target not in self._busy:
            if len(self._busy) >= self._most:
                yield verdict(ObjectReason.ChangesUnderWay, len(self._busy), self._most)
            elif starts:
                self._busy.add(stand.target)

    def _earlier(self, wave: int) -> Verdict | None:
        before = [each for each in self._mine if each.wave < wave]
        for each in before:
            how = "differs yet" if each.acts else "" if each.settled else "is not running yet"
            if how:
                return verdict(ObjectReason.EarlierGroupDiffers, each.group, each.target, how)
        known = self._world.settled_at
        dated = [(known[each.target], each.group) for each in before if each.target in known]
        if dated:
            at, group = max(dated)
            until = Instant(at + self._limits.soak)
            if self._now < until:
                return verdict(ObjectReason.EarlierGroupSettles, group, until=until)
        return None


def _together(world: ObjectWorld, said: list[tuple[Verdict, ...]]) -> None:
    """Objects of one shard move together: where one waits, so do the others."""
    shut: dict[tuple[str, bool], Verdict] = {}
    for each, verdicts in zip(world.objects, said, strict=True):
        first = first_shut(verdicts) if each.acts else None
        if first is not None:
            shut.setdefault((each.target, each.removes), first)
    for at, each in enumerate(world.objects):
        why = shut.get((each.target, each.removes))
        if each.acts and why is not None and all_pass(said[at]):
            said[at] = (why, *said[at])


def _removed_last(world: ObjectWorld, said: list[tuple[Verdict, ...]]) -> None:
    """What a target has no more goes once what takes its place is there."""
    if world.by_hand:
        return
    busy = {
        each.target
        for each, verdicts in zip(world.objects, said, strict=True)
        if not each.removes and all_pass(verdicts)
    }
    for at, each in enumerate(world.objects):
        if each.removes and each.target in busy:
            said[at] = (verdict(ObjectReason.RemovedLast), *said[at])
