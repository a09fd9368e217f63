"""Laws of promotions: they keep their order, go back only if asked to, and are the same twice."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.gates.brakes import Brakes
from tidegate.gates.hold import Hold
from tidegate.gates.scope import EVERYTHING
from tidegate.git.history import Ancestry
from tidegate.kinds.promotions.core.decide import decide
from tidegate.kinds.promotions.core.model import (
    Artifact,
    CommitForm,
    Promotion,
    PromotionEnvironment,
    WrittenVersion,
)
from tidegate.kinds.promotions.core.world import (
    ImageState,
    PromotionWorld,
    Relation,
    SchemasNeed,
)
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import all_pass

# A line of commits: the number of one is how far along it is. Those of 100 and more are aside.
LINE = st.integers(0, 6)
NOW = Instant(0)


def sha(number: int) -> str:
    """The name of a commit."""
    return f"{number:02x}" * 20


def stand(old: int, new: int) -> Relation:
    """How two commits of a line stand; the last one of it is not known."""
    if old == 6:
        return Relation(Ancestry.UNKNOWN)
    if old == new:
        return Relation(Ancestry.SAME)
    return Relation(Ancestry.AHEAD if new > old else Ancestry.BEHIND, abs(new - old))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[PromotionWorld, dict[str, list[int]], int]:
    """A pipeline with what stands where, and a version."""
    count = draw(st.integers(1, 5))
    names = [f"env-{number}" for number in range(count)]
    held: list[WrittenVersion] = []
    environments: list[PromotionEnvironment] = []
    at: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        after = tuple(draw(st.lists(st.sampled_from(names[:index]), unique=True)) if index else ())
        environments.append(PromotionEnvironment(name=name, after=after))
        at[name] = draw(st.lists(LINE, min_size=1, max_size=3))
        for line, number in enumerate(at[name]):
            form = draw(st.sampled_from(CommitForm))
            value = sha(number)[: draw(st.sampled_from((7, 40)))]
            held.append(
                WrittenVersion(environment=name, file=name, line=line, value=value, form=form)
            )
    version = draw(st.integers(0, 5))
    stands = {each.value: stand(int(each.value[:2], 16), version) for each in held}
    world = PromotionWorld(
        promotion=Promotion(
            name="p", artifact=Artifact(), environments=tuple(environments), where="here"
        ),
        written=tuple(held),
        version=sha(version),
        to=tuple(draw(st.lists(st.sampled_from(names), unique=True))),
        relations=stands,
        image_state=draw(st.sampled_from(ImageState)),
        backward=draw(st.booleans()),
        brakes=draw(st.sampled_from((Brakes(), HELD))),
        schemas=draw(st.sampled_from((None, *map(need, Ancestry)))),
    )
    return world, at, version


def need(stands: Ancestry) -> SchemasNeed:
    """Schemas that are there, or not."""
    return SchemasNeed("aaaaaaa", "bbbbbbb", stands)


HELD = Brakes(holds=(Hold(name="h", scope=EVERYTHING, why="w", owner="o"),))


@given(worlds())
def test_an_environment_is_moved_if_and_only_if_every_gate_passes(
    drawn: tuple[PromotionWorld, dict[str, list[int]], int],
) -> None:
    """What is acted on is what passes, in the order of the pipeline; and deciding is repeatable."""
    world, _, _ = drawn
    plan = decide(world, NOW)
    asked = world.targets()
    passing = [asked[o.target].name for o in plan.options if all_pass(o.verdicts)]
    assert [action.target for action in plan.actions] == passing
    assert len(plan.options) == len(asked)
    assert decide(world, NOW) == plan


@given(worlds())
def test_a_promotion_never_goes_back_unless_asked_to(
    drawn: tuple[PromotionWorld, dict[str, list[int]], int],
) -> None:
    """Nothing that is moved holds a newer commit, or one that is not known."""
    world, at, version = drawn
    if world.backward:
        return
    for action in decide(world, NOW).actions:
        assert all(number <= version for number in at[action.target])


@given(worlds())
def test_environments_keep_their_order(
    drawn: tuple[PromotionWorld, dict[str, list[int]], int],
) -> None:
    """What goes first has the version already, or is moved in the same go."""
    world, at, version = drawn
    moved = {action.target for action in decide(world, NOW).actions}
    for environment in world.promotion.environments:
        if environment.name in moved:
            for earlier in environment.after:
                had = all(version <= number < 6 for number in at[earlier])
                assert earlier in moved or had


@given(worlds())
def test_nothing_moves_in_a_hold_without_its_image_or_its_schemas(
    drawn: tuple[PromotionWorld, dict[str, list[int]], int],
) -> None:
    """Missing or unknown is never good, and a hold holds promotions too."""
    world, _, _ = drawn
    need = world.schemas
    lacking = need is not None and need.ancestry not in (Ancestry.SAME, Ancestry.BEHIND)
    unsure = world.image_state in (ImageState.MISSING, ImageState.UNKNOWN)
    if world.brakes is HELD or unsure or lacking:
        assert not decide(world, NOW).actions


@given(worlds())
def test_what_is_there_is_done_and_nothing_else(
    drawn: tuple[PromotionWorld, dict[str, list[int]], int],
) -> None:
    """An environment is done just where every value is what would be written."""
    world, _, _ = drawn
    plan = decide(world, NOW)
    for option, environment in zip(plan.options, world.targets(), strict=True):
        done = any(each.reason is ProgressReason.Done for each in option.verdicts)
        assert done == all(held.has(world.version) for held in world.commits_in(environment.name))
        shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
        assert done <= bool(shut)
