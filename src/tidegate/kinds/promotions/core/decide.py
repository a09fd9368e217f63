"""Which environments get a version now, and why every other does not: `decide(world, now)`.

A target is an environment. Every one that is asked for has one option, with the verdict of every
gate; those whose verdicts all pass are moved together, in one change. What comes earlier in order
and is moved in the same go counts as moved.
"""

import enum
from collections.abc import Iterator, Mapping

import msgspec

from tidegate.gates.ask import Ask, Purpose, say
from tidegate.gates.brakes import Brakes, Coverages
from tidegate.gates.scope import KindOfChange
from tidegate.git.history import Ancestry
from tidegate.kinds.promotions.core.model import SHORT, Environment, Held, Promotion
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.model.plan import Action, Change, ChangeKind, Option, Plan
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

KIND = KindOfChange.PROMOTIONS.value


class Stand(msgspec.Struct, frozen=True):
    """How the version stands to what is written somewhere, and by how many commits if known."""

    ancestry: Ancestry
    commits: int = 0


class Built(enum.Enum):
    """Whether the image of a version is there."""

    THERE = "there"
    MISSING = "missing"
    UNKNOWN = "unknown"  # whoever would know did not answer
    UNASKED = "unasked"  # nobody was asked, because somebody said so, or there is none to ask for


class SchemasNeed(msgspec.Struct, frozen=True):
    """The schemas a version needs, and whether the bundle has them."""

    needed: str
    has: str
    stand: Ancestry  # of what is needed to what is there


class World(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of everything a promotion depends on."""

    promotion: Promotion
    # What stands at every place of every environment, whether it is asked for or not.
    held: tuple[Held, ...]
    version: str
    # The environments that are asked for; none: all that are not following a branch.
    to: tuple[str, ...] = ()
    # How the version stands to each value that is held, and to each branch that is followed.
    stands: Mapping[str, Stand] = {}
    image: str = ""
    built: Built = Built.UNASKED
    schemas: SchemasNeed | None = None
    brakes: Brakes = Brakes()
    # Somebody said that it may go back, or aside.
    backward: bool = False
    # Places that are declared and stand nowhere, by environment.
    missing: Mapping[str, tuple[str, ...]] = {}
    # Environments with files that cannot be read: what stands there is not known.
    unread: frozenset[str] = frozenset()

    def asked(self) -> tuple[Environment, ...]:
        """The environments that are asked for, in order.

        Unless named, those of the ready-made promotion that a bundle does not have are not meant.
        """
        every = self.promotion.environments
        if self.to:
            return tuple(each for each in every if each.name in self.to)
        there = {held.environment for held in self.held} | self.unread
        declared = bool(self.promotion.where)
        return tuple(e for e in every if not e.follows and (declared or e.name in there))

    def moving(self, environment: str) -> tuple[Held, ...]:
        """What is held there that a promotion may change."""
        return tuple(h for h in self.held if h.environment == environment and h.is_commit)


def decide(world: World, now: Instant) -> Plan:
    """What is moved now, and what every gate says of every environment that is asked for."""
    asked = world.asked()
    brakes = msgspec.structs.replace(world.brakes, kind=KindOfChange.PROMOTIONS)
    coverages = Coverages(brakes, {each.name: {} for each in asked})
    change = Change(ChangeKind.APPLY, world.version)
    options: list[Option] = []
    moved: set[str] = set()
    for at, environment in enumerate(asked):
        ask = Ask(
            purpose=Purpose.ROLL_OUT, now=now, revision=world.version[:SHORT], need=Duration(0)
        )
        said = (
            *_gates(world, environment, frozenset(moved)),
            *say(brakes, coverages.of(environment.name), ask),
        )
        options.append(Option(at, change, said))
        if all_pass(said):
            moved.add(environment.name)
    actions = [Action(each.name, change) for each in asked if each.name in moved]
    untils = [v.until for o in options for v in o.verdicts if v.until is not None]
    return Plan(options=options, actions=actions, recheck_at=min(untils, default=None))


def _gates(world: World, environment: Environment, moved: frozenset[str]) -> Iterator[Verdict]:
    yield from _places(world, environment)
    yield from _direction(world, environment)
    yield _order(world, environment, moved)
    yield _artifact(world)
    yield _schemas(world)


def _places(world: World, environment: Environment) -> Iterator[Verdict]:
    if environment.follows:
        yield verdict(PromotionReason.FollowsBranch, environment.follows)
        return
    missing = world.missing.get(environment.name, ())
    held = world.moving(environment.name)
    if missing:
        yield verdict(PromotionReason.PlaceMissing, missing)
    elif not held:
        yield verdict(PromotionReason.NothingHeld)
    elif all(each.has(world.version) for each in held):
        yield verdict(ProgressReason.Done)
    else:
        count = sum(not each.has(world.version) for each in held)
        yield verdict(PromotionReason.PlacesFound, count)


def _direction(world: World, environment: Environment) -> Iterator[Verdict]:
    """One verdict: of the value that stands worst to the version."""
    found = [(each.value, world.stands[each.value]) for each in world.moving(environment.name)]
    if not found:
        return
    value, worst = max(found, key=lambda one: (_WORST[one[1].ancestry], one[1].commits, one[0]))
    new, old = world.version[:SHORT], value[:SHORT]
    if worst.ancestry in (Ancestry.SAME, Ancestry.AHEAD):
        yield verdict(PromotionReason.Forward, worst.commits, old)
    elif world.backward:
        yield verdict(PromotionReason.BackwardAllowed, new, old)
    elif worst.ancestry is Ancestry.BEHIND:
        yield verdict(PromotionReason.Backward, new, worst.commits, old)
    elif worst.ancestry is Ancestry.APART:
        yield verdict(PromotionReason.NotDescendant, new, old)
    else:
        yield verdict(PromotionReason.AncestryUnknown, old)


_WORST = {
    Ancestry.SAME: 0,
    Ancestry.AHEAD: 1,
    Ancestry.APART: 2,
    Ancestry.BEHIND: 3,
    Ancestry.UNKNOWN: 4,
}


def _order(world: World, environment: Environment, moved: frozenset[str]) -> Verdict:
    if not environment.after:
        return verdict(ProgressReason.FirstInOrder)
    for name in environment.after:
        if name not in moved and (behind := _lacking(world, name)) is not None:
            return verdict(
                PromotionReason.EarlierEnvironmentBehind, name, behind, world.version[:SHORT]
            )
    return verdict(PromotionReason.EarlierEnvironmentsHaveIt, environment.after)


def _lacking(world: World, name: str) -> str | None:
    """What an environment is at that does not have the version; None: it has it."""
    earlier = world.promotion.environment(name)
    if earlier is None:
        return "nothing"
    values = [earlier.follows] if earlier.follows else [h.value for h in world.moving(name)]
    for value in values:
        if world.stands[value].ancestry not in (Ancestry.SAME, Ancestry.BEHIND):
            return value[:SHORT] if not earlier.follows else value
    return None if values else "nothing"


def _artifact(world: World) -> Verdict:
    if world.built is Built.THERE:
        return verdict(PromotionReason.ImageThere, world.image)
    if world.built is Built.MISSING:
        return verdict(PromotionReason.ImageMissing, world.image)
    if world.built is Built.UNKNOWN:
        return verdict(PromotionReason.ImageUnknown, world.image)
    return verdict(PromotionReason.ImageUnasked)


def _schemas(world: World) -> Verdict:
    need = world.schemas
    if need is None:
        return verdict(PromotionReason.SchemasNotNamed)
    if need.stand in (Ancestry.SAME, Ancestry.BEHIND):
        return verdict(PromotionReason.SchemasSuffice, need.needed[:SHORT], need.has[:SHORT])
    return verdict(PromotionReason.SchemasNeeded, need.needed[:SHORT], need.has[:SHORT] or "none")
