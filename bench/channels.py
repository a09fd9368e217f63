"""What a decision about a pipeline costs: every gate of every subscriber, and its merge requests.

Five subscribers share a channel, and two publishers show its version; every tenth version failed,
every fourth subscriber asks for soak, every third for a schedule. *soaking* has publishers that
were deployed an hour ago, *open* lets nearly all of them through, *braked* has a freeze, a hold and
a budget over all, *requested* has an open merge request for all that is wanted. *decide* is the
gates, *plan* is the gates and the merge requests.
"""

from collections.abc import Callable
from functools import partial

import msgspec
from msgspec.structs import replace

from bench.table import Report, count, draw, figure
from bench.timing import Effort, best_ms
from tidegate.gates.brakes import Brakes
from tidegate.gates.budget import Budget
from tidegate.gates.freeze import Freeze, Span
from tidegate.gates.hold import Hold
from tidegate.gates.scope import EVERYTHING, Scope
from tidegate.kinds.promotions.core.channels.decide import decide
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.journal.facts import DeploymentsSeen, RequestsSeen
from tidegate.kinds.promotions.core.channels.journal.state import (
    PipelineKnown,
    read_fact,
    take,
)
from tidegate.kinds.promotions.core.channels.journal.world import channel_world
from tidegate.kinds.promotions.core.channels.pipeline import Pipeline
from tidegate.kinds.promotions.core.channels.plan import PipelineWorld, plan_pipeline
from tidegate.kinds.promotions.core.channels.sources import (
    PipelineReading,
    SaasPublisher,
    SaasSubscriber,
    TargetPlace,
)
from tidegate.kinds.promotions.core.requests.model import (
    ChecksResult,
    HeldPromotion,
    SeenRequest,
)
from tidegate.model.limit import parse_limit
from tidegate.model.time import SECOND, Duration, Instant

SIZES = (100, 1_000, 10_000)
TOGETHER, PUBLISHERS = 5, 2
GOAL_SUBSCRIBERS, GOAL_MS = 1_000, 100.0
HOUR = 3600 * SECOND
DAY = 24 * HOUR
NOW = Instant(20_000 * DAY)
URL = "https://git.example.com/app/code"


class Row(msgspec.Struct, frozen=True):
    """One pipeline; milliseconds of CPU."""

    subscribers: int
    channels: int
    case: str
    starting: int
    decide_ms: float
    plan_ms: float
    goal: str


def run(effort: Effort, say: Callable[[str], None]) -> Report:
    """Measure pipelines of every size."""
    rows = []
    for size in (each for each in SIZES if each <= max(effort.sizes)):
        for case in ("soaking", "open", "braked", "requested"):
            say(f"channels: {size:,} subscribers, {case}")
            rows.append(_row(size, case, effort))
    return Report(rows, [_table(rows)])


def _row(size: int, case: str, effort: Effort) -> Row:
    world = pipeline_world(size, case)
    plan = plan_pipeline(world, NOW)
    decide_ms = best_ms(partial(decide, world.channels, NOW), effort.patience_s)
    plan_ms = best_ms(partial(plan_pipeline, world, NOW), effort.patience_s)
    goal = "" if size != GOAL_SUBSCRIBERS else "met" if plan_ms < GOAL_MS else "missed"
    channels = size // TOGETHER
    return Row(size, channels, case, len(plan.actions), decide_ms, plan_ms, goal)


def pipeline_world(size: int, case: str) -> PipelineWorld:
    """A pipeline with so many subscribers, as its journal folds to."""
    known = PipelineKnown()
    reading = _reading(size)
    fact = read_fact(known, reading)
    assert fact is not None
    take(known, NOW, fact, "bench")
    ago = HOUR if case == "soaking" else 30 * DAY
    seen = tuple(
        DeploymentSeen(
            target=each.name,
            version=each.version or "",
            at=Instant(NOW - ago),
            good=at % 10 != 0,
        )
        for at, each in enumerate(reading.publishers)
    )
    take(known, NOW, DeploymentsSeen(deployments=seen, source="bench"), "bench")
    seen_requests = _requests(known, reading) if case == "requested" else RequestsSeen()
    take(known, NOW, seen_requests, "bench")
    brakes = _brakes() if case == "braked" else Brakes()
    channels = channel_world(known, brakes, {})
    assert channels is not None
    assert known.reading is not None
    return PipelineWorld(reading=known.reading, channels=channels, requests=known.requests)


def _requests(known: PipelineKnown, reading: PipelineReading) -> RequestsSeen:
    """Every wanted promotion in an open merge request of its own."""
    channels = channel_world(known, Brakes(), {})
    assert channels is not None
    found = plan_pipeline(
        PipelineWorld(reading=reading, channels=channels, requests=RequestsSeen()), NOW
    )
    return RequestsSeen(
        requests=tuple(
            SeenRequest(
                number=number,
                url="",
                branch=f"b{number}",
                holds=(HeldPromotion(each.channels, each.content),),
                check=ChecksResult.PENDING,
            )
            for number, each in enumerate(found.promotions, start=1)
        )
    )


def _reading(size: int) -> PipelineReading:
    subscribers = tuple(_subscriber(at) for at in range(size))
    publishers = tuple(
        SaasPublisher(
            place=_place(f"p{at}-{one}", "stage"),
            ref="main",
            channels=(f"c{at}",),
            version=f"{at:040x}",
        )
        for at in range(size // TOGETHER)
        for one in range(PUBLISHERS)
    )
    return PipelineReading(
        pipeline=Pipeline(name="bench"), subscribers=subscribers, publishers=publishers
    )


def _subscriber(at: int) -> SaasSubscriber:
    one = SaasSubscriber(
        place=_place(f"s{at}", "prod"), ref="f" * 40, channels=(f"c{at // TOGETHER}",)
    )
    if at % 4 == 0:
        one = replace(one, soak=Duration(DAY))
    return replace(one, schedule="* 0-22 * * *") if at % 3 == 0 else one


def _place(name: str, environment: str) -> TargetPlace:
    return TargetPlace(
        saas="saas",
        template="it",
        target=name,
        cluster=environment,
        namespace=name,
        environment=environment,
        file=f"data/{name}.yml",
        namespace_ref=f"/{name}.yml",
        url=URL,
    )


def _brakes() -> Brakes:
    span = Span(Instant(NOW - DAY), Instant(NOW + DAY))
    some = Scope(targets=frozenset({_place("s3", "prod").name}))
    limit = parse_limit(50)
    assert limit is not None
    return Brakes(
        freezes=(Freeze(name="quiet", scope=some, owner="ada", why="quiet", spans=(span,)),),
        holds=(Hold(name="look", scope=some, owner="ada", why="look"),),
        budgets=(Budget(name="room", scope=EVERYTHING, limit=limit),),
    )


def _table(rows: list[Row]) -> str:
    heads = ("subscribers", "channels", "case", "offered", "decide ms", "plan ms", "goal")
    cells = [
        (
            count(each.subscribers),
            count(each.channels),
            each.case,
            count(each.starting),
            figure(each.decide_ms),
            figure(each.plan_ms),
            each.goal,
        )
        for each in rows
    ]
    title = f"Pipelines: goal at {GOAL_SUBSCRIBERS:,} subscribers: plan under {GOAL_MS:.0f} ms"
    return draw(title, heads, cells)
