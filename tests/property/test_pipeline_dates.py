"""One truth about dates: what `when` says of a pipeline is what then happens."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.pipeline_stage import DAY, HOUR, START, Shelf, Stage, publisher, subscriber
from tests.pipelined import NEW, declared
from tests.sim import sized
from tidegate.gates.brakes import Brakes
from tidegate.gates.freeze import Freeze, Span
from tidegate.gates.scope import EVERYTHING
from tidegate.kinds.promotions.core.channels.foresight import forecast_subscribers
from tidegate.kinds.promotions.core.channels.plan import PipelineWorld, plan_pipeline
from tidegate.model.time import SECOND, Instant

AHEAD = 10 * DAY
# An odd number of minutes: at these steps nothing is offered too soon, beside where it may open.
STEP = sized(337, 337, 37) * 60 * SECOND
SCHEDULES = ("", "* 8-16 * * 1-4", "0 3 * * *", "30 12 1 1 *", "* * * * 6")


@given(
    soak=st.integers(0, 6 * 24).map(lambda hours: hours * HOUR),
    schedule=st.sampled_from(SCHEDULES),
    frozen=st.tuples(st.integers(0, 6 * 24), st.integers(1, 72)),
    deployed=st.booleans(),
)
def test_when_is_what_a_run_in_virtual_time_then_does(
    soak: int, schedule: str, frozen: tuple[int, int], deployed: bool
) -> None:
    """Minute by minute nothing is offered before the date, and at the date it is."""
    one = replace(subscriber("prod", "payments", soak=soak), schedule=schedule)
    stage = Stage(Shelf(declared(), [publisher("stage", "payments")], [one]))
    if deployed:
        stage.deployed(NEW)
    stage.round()
    begin, hours = frozen
    span = Span(Instant(START + begin * HOUR), Instant(START + (begin + hours) * HOUR))
    freeze = Freeze(name="f", scope=EVERYTHING, owner="ada", why="quiet", spans=(span,))
    state, now = stage.state(), stage.clock.now()
    world = stage.rules.world(state, Brakes(freezes=(freeze,)), now, None)
    assert world is not None
    inner: PipelineWorld = world.inner
    found = forecast_subscribers(inner.channels, now, Instant(now + AHEAD))[one.name]
    if found.at is None:
        assert found.held_by is not None or found.not_before is not None
    # Just before the date, and wherever something opens before it, nothing is offered.
    end = found.at if found.at is not None else Instant(now + AHEAD)
    openings = {span.start - 1, span.end, now + soak, START + soak, end - 1, *range(now, end, STEP)}
    openings |= {START - START % DAY + at for at in range(0, AHEAD, DAY // 2)}
    openings |= {START - START % DAY + 3 * HOUR + at for at in range(0, AHEAD, DAY)}
    for each in sorted(openings):
        if now <= each < end:
            assert not plan_pipeline(inner, Instant(each)).promotions, found
    if found.at is not None:
        assert plan_pipeline(inner, found.at).promotions
