"""Laws of the objects of a namespace: carried out, it is equal to Git; and nothing else is done."""

import asyncio
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.estates import Land, estate
from tests.property.estate_worlds import CLUSTERS, NAMESPACES, estates
from tidegate.gates.brakes import Brakes
from tidegate.gates.hold import Hold
from tidegate.gates.scope import Scope
from tidegate.kinds.integrations.app.executor import ObjectExecutor, apply
from tidegate.kinds.integrations.core.objects.decide import (
    ActAttempt,
    ObjectWorld,
    Repeats,
    decide,
    with_objects,
)
from tidegate.kinds.integrations.core.objects.stand import (
    ChangeClass,
    ObjectStand,
    SaidVerdict,
    WaveLimits,
    digest_of,
    stands_of,
    waves_of,
)
from tidegate.kinds.integrations.core.waves.rules import ChangePace
from tidegate.kinds.integrations.core.workloads.change import (
    ClusterReading,
    ObjectAction,
    PlannedChange,
)
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest, candidates_of
from tidegate.kinds.integrations.core.workloads.estate import Estate, manifest_of
from tidegate.kinds.integrations.core.workloads.live import workload_of
from tidegate.kubernetes.port import MANAGER
from tidegate.model.limit import Limit
from tidegate.model.plan import ChangeKind
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.model.verdict import all_pass

NOW = Instant(1_790_000_000 * SECOND)
# So many rounds are always enough: a removal waits for what takes its place.
ROUNDS_MAX = 40


class Space:
    """The namespaces of some clusters, each decided and carried out as `serve` does."""

    def __init__(self, land: Land, wanted: Estate) -> None:
        self.land, self.wanted = land, wanted

    def decided(
        self, **more: Any
    ) -> list[tuple[list[PlannedChange], list[ObjectStand], list[bool]]]:
        """By namespace: the changes, their stands, and which of them start."""
        surveys = self.land.read(self.wanted)
        seen = {name: each.seen for name, each in surveys.items()}
        self.objects = {k: each for one in surveys.values() for k, each in one.objects.items()}
        found = {each.key: each for one in seen.values() for each in one.found}
        changes = candidates_of(self.wanted, seen, ChangeRequest())
        made = []
        for where in sorted({each.key[:2] for each in changes}):
            mine = [each for each in changes if each.key[:2] == where]
            stands = stands_of(mine, self.wanted, found)
            ours = sum(each.ours for each in found.values() if each.key[:2] == where)
            plain = ObjectWorld(
                managed=ours,
                removing=sum(each.removes for each in stands),
                waves=waves_of(self.wanted),
                declared=bool(self.wanted.places),
            )
            world = msgspec.structs.replace(with_objects(plain, stands), **more)
            options = decide(world, NOW).options
            made.append((mine, list(stands), [all_pass(each.verdicts) for each in options]))
        return made

    def round(self, **more: Any) -> int:
        """Carry out what starts; how many that was."""
        starting = [
            change
            for mine, _, starts in self.decided(**more)
            for change, starts_ in zip(mine, starts, strict=True)
            if starts_
        ]
        executor = ObjectExecutor(clusters=self.land.clusters(), objects=self.objects, exact=True)
        asyncio.run(apply(starting, executor))
        return len(starting)


def _land(first: Estate, foreign: Estate) -> Land:
    land = Land(*CLUSTERS, namespaces=NAMESPACES)
    for piece in foreign.pieces():
        document = dict(manifest_of(piece, foreign.site, adopted=True))
        document["metadata"] = {**document["metadata"], "annotations": {}, "labels": {}}
        land.somebody_applies(document, piece.cluster)
    land.apply(first)
    return land


@given(estates(), estates(), estates())
def test_round_after_round_it_becomes_what_git_declares(
    foreign: Estate, first: Estate, second: Estate
) -> None:
    """Except images that a rollout moves, objects of others, and keys that two would own."""
    space = Space(_land(first, foreign), second)
    for _ in range(ROUNDS_MAX):
        if not space.round(allows_mass_delete=True):
            break
    else:
        raise AssertionError("it never rests")
    left = {
        ObjectAction.UNCHANGED,
        ObjectAction.STAGED,
        ObjectAction.RESHARD,
        ObjectAction.ADOPT,
        ObjectAction.CONFLICT,
        # The inventory of an integration that is still declared is empty.
        ObjectAction.KEPT,
    }
    verbs = {each.verb for mine, _, _ in space.decided() for each in mine}
    assert verbs <= left


@given(estates(), estates(), estates())
def test_what_is_not_ours_is_left_as_it_is_and_no_image_of_a_wave_is_moved(
    foreign: Estate, first: Estate, second: Estate
) -> None:
    """Whatever is carried out; a shard that has an image of its own gets it."""
    land = _land(first, foreign)
    others = {w: r for w, r in land.records().items() if MANAGER not in r.owners}
    space = Space(land, second)
    for mine, _, starts in space.decided(allows_mass_delete=True):
        for change, starts_ in zip(mine, starts, strict=True):
            there = space.objects.get(change.key)
            place = second.place(f"{change.integration}@{change.cluster}.{change.namespace}")
            if not starts_ or there is None or change.manifest is None or place is None:
                continue
            unit = place.unit(change.shard)
            if place.managed.rollout is not None and unit is not None and not unit.pinned_by:
                was, to_be = workload_of(there.document), workload_of(change.manifest)
                assert was.image == to_be.image
    space.round(allows_mass_delete=True)
    now = land.records()
    assert {where: now.get(where) for where in others} == others


@given(estates(), estates(), st.sampled_from(CLUSTERS))
def test_of_a_partial_reading_nothing_is_removed(
    first: Estate, second: Estate, broken: str
) -> None:
    """One gap is enough."""
    land = _land(first, estate())
    seen = {name: each.seen for name, each in land.read(second).items()}
    gap = ClusterReading(found=seen[broken].found, gaps={"ns": "no answer"})
    changes = candidates_of(second, {**seen, broken: gap}, ChangeRequest())
    assert not [
        each for each in changes if each.cluster == broken and each.verb is ObjectAction.REMOVE
    ]


# Worlds drawn piece by piece

_SAID = {
    ObjectAction.CREATE: SaidVerdict("ObjectMissing"),
    ObjectAction.CONFIGURE: SaidVerdict("ObjectDiffers"),
    ObjectAction.REMOVE: SaidVerdict("DeclaredNoMore"),
    ObjectAction.UNCHANGED: SaidVerdict("ObjectAsDeclared"),
    ObjectAction.ADOPT: SaidVerdict("NotOurs"),
    ObjectAction.KEPT: SaidVerdict("BundleUnsound"),
    ObjectAction.STAGED: SaidVerdict("ImageLeftToRollout", ("b", "a")),
}
_CLASSES = {
    ObjectAction.CREATE: ChangeClass.NEW,
    ObjectAction.CONFIGURE: ChangeClass.FIELDS,
    ObjectAction.REMOVE: ChangeClass.REMOVAL,
}


_NUMBERS, _WAVES, _FLAGS = st.integers(0, 8), st.integers(0, 2), st.booleans()
_VERBS, _PACES = st.sampled_from(sorted(_SAID)), st.sampled_from(ChangePace)
_TARGETS, _WANTED = st.sampled_from(("a/1", "a/2", "a/3", "a/4")), st.sampled_from(("x", "y"))
_MOMENTS = st.integers(-7200, 0).map(lambda each: Instant(NOW + each * SECOND))
_REPEATED = st.lists(_MOMENTS, max_size=6)


@st.composite
def worlds(draw: st.DrawFn) -> ObjectWorld:
    """A namespace with waves, failures, repetition and brakes."""
    objects = []
    for number in range(draw(_NUMBERS)):
        verb = draw(_VERBS)
        wave = draw(_WAVES)
        objects.append(
            ObjectStand(
                object=f"deployment/{number}",
                target=draw(_TARGETS),
                verb=verb,
                said=(_SAID[verb],),
                integration="a",
                wanted=draw(_WANTED),
                change=_CLASSES.get(verb),
                pace=draw(_PACES),
                wave=wave,
                group=f"g{wave}",
                settled=draw(_FLAGS),
                staged=draw(_FLAGS),
                labels={"tier": "x"},
            )
        )
    stands = tuple(objects)
    names = sorted({each.target for each in stands})
    some = st.sampled_from(names) if names else st.nothing()
    again = {
        name: Repeats(
            digest_of([each for each in stands if each.target == name and each.acts]),
            tuple(sorted(draw(_REPEATED))),
        )
        for name in (draw(st.sets(some)) if names else ())
    }
    hold = Hold(
        name="h",
        scope=Scope(targets=frozenset({"a/1"})),
        owner="ada",
        why="x",
        expires_at=draw(st.sampled_from((None, Instant(NOW + 60 * SECOND)))),
    )
    plain = ObjectWorld(
        managed=draw(st.integers(0, 30)),
        removing=sum(each.removes for each in stands),
        removals=draw(st.sampled_from((Limit(10, percent=True), Limit(0), Limit(3)))),
        allows_mass_delete=draw(st.booleans()),
        waves=draw(
            st.sampled_from(
                ({}, {"a": WaveLimits(Duration(600 * SECOND), Limit(1))}, {"a": WaveLimits()})
            )
        ),
        brakes=draw(st.sampled_from((Brakes(), Brakes(holds=(hold,))))),
        paused=draw(st.sampled_from((False, False, True))),
        attempts={
            name: ActAttempt(draw(_WAVES), "no answer", retry_at=Instant(NOW + 30 * SECOND))
            for name in (draw(st.sets(some, max_size=1)) if names else ())
        },
        repeats=again,
        settled_at={name: draw(_MOMENTS) for name in (draw(st.sets(some)) if names else ())},
        by_hand=draw(st.booleans()),
    )
    return with_objects(plain, stands)


@given(worlds())
def test_a_target_acts_if_and_only_if_all_its_verdicts_pass(world: ObjectWorld) -> None:
    """Once, for all its objects together; what is applied goes before what is removed."""
    plan = decide(world, NOW)
    starts: dict[str, list[ObjectStand]] = {}
    for stand, option in zip(world.objects, plan.options, strict=True):
        assert world.targets[option.target] == stand.target
        assert option.verdicts, "every object has a reason"
        if all_pass(option.verdicts):
            assert stand.acts
            starts.setdefault(stand.target, []).append(stand)
    assert {each.target for each in plan.actions} == set(starts)
    assert len({each.target for each in plan.actions}) == len(plan.actions)
    for action in plan.actions:
        mine = starts[action.target]
        acting = [each for each in world.objects if each.target == action.target and each.acts]
        if not world.by_hand:
            removes = action.change.kind is ChangeKind.REMOVE
            assert mine == [each for each in acting if each.removes == removes]
        assert action.change.revision == digest_of(mine)


@given(worlds())
def test_no_more_is_removed_than_the_limit_and_nothing_behind_a_stop(world: ObjectWorld) -> None:
    """Nor while the partition is paused, held or a rule leaves it to people."""
    plan = decide(world, NOW)
    pairs = zip(world.objects, plan.options, strict=True)
    starting = [stand for stand, option in pairs if all_pass(option.verdicts)]
    removed = sum(each.removes for each in starting)
    if not world.allows_mass_delete and removed:
        limit = world.removals
        most = max(1, world.managed * limit.amount // 100) if limit.percent else limit.amount
        assert removed <= most
    if world.paused:
        assert not starting
    if world.brakes.holds:
        assert not [each for each in starting if each.target == "a/1"]
    if not world.by_hand:
        assert not [each for each in starting if each.pace is ChangePace.BY_HAND]
    assert not [each for each in starting if each.target in world.attempts]


@given(worlds())
def test_a_later_group_waits_for_every_earlier_one(world: ObjectWorld) -> None:
    """Where fields go in waves."""
    if not world.waves:
        return
    plan = decide(world, NOW)
    for stand, option in zip(world.objects, plan.options, strict=True):
        in_waves = stand.pace is ChangePace.WAVES and stand.change is ChangeClass.FIELDS
        if in_waves and all_pass(option.verdicts):
            earlier = [each for each in world.objects if each.wave < stand.wave]
            assert all(each.settled and not each.acts for each in earlier)


@given(worlds(), st.randoms())
def test_the_order_of_objects_changes_nothing(world: ObjectWorld, draw: Any) -> None:
    """The same verdicts for the same object."""
    mixed = list(world.objects)
    draw.shuffle(mixed)
    other = with_objects(world, tuple(mixed))

    def found(one: ObjectWorld) -> dict[str, bool]:
        plan = decide(one, NOW)
        pairs = zip(one.objects, plan.options, strict=True)
        return {stand.object: all_pass(option.verdicts) for stand, option in pairs}

    assert found(world) == found(other)


@given(worlds(), st.integers(1, 7200))
def test_before_the_next_look_time_alone_changes_nothing(world: ObjectWorld, later: int) -> None:
    """`recheck_at` is honest."""
    plan = decide(world, NOW)
    then = Instant(NOW + later * SECOND)
    if plan.recheck_at is None or then < plan.recheck_at:
        assert decide(world, then).options == plan.options
