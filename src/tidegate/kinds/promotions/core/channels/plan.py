"""What a pipeline does now: which subscribers get a version, and the merge requests that say so.

First every gate is asked for every subscriber (`decide.py`); those with all gates open are wanted,
whether a merge request holds them or not. Then the requests are planned for all that is wanted
(`core/requests`), and what is said of a request is the last verdict of its subscribers.
"""

import msgspec

from tidegate.gates.claims import Claim
from tidegate.kinds.promotions.core.channels.configs import desired_configs
from tidegate.kinds.promotions.core.channels.decide import decide
from tidegate.kinds.promotions.core.channels.journal.facts import RequestsSeen
from tidegate.kinds.promotions.core.channels.model import ChannelWorld
from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
from tidegate.kinds.promotions.core.channels.sources import PipelineReading
from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    RequestPlan,
    RequestsWorld,
    combination,
)
from tidegate.kinds.promotions.core.requests.plan import plan_requests
from tidegate.kinds.promotions.core.requests.wanted import wanted_promotions
from tidegate.model.plan import Action, Option, Plan
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass, verdict


class PipelineWorld(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the plan of a pipeline depends on."""

    reading: PipelineReading
    channels: ChannelWorld
    # None: the forge did not answer yet.
    requests: RequestsSeen | None = None
    # Whether requests of the existing manager are taken over.
    adopt: bool = False


class PipelinePlan(Plan, frozen=True, kw_only=True):
    """All that was decided; positions are those of the world's subscribers."""

    requests: RequestPlan = RequestPlan(acts=(), said={})
    # What is wanted, by its channels: what the acts write.
    promotions: tuple[ChannelPromotion, ...] = ()
    claims: tuple[Claim, ...] = ()
    freed: tuple[Claim, ...] = ()


def plan_pipeline(world: PipelineWorld, now: Instant) -> PipelinePlan:
    """What is promoted now, in which requests, and what every gate says of every subscriber."""
    found = decide(world.channels, now)
    names = [each.name for each in world.channels.subscribers]
    versions = {names[at]: found.options[at].change.revision or "" for at in found.wanted}
    subscribers = world.channels.subscribers
    configs = {names[at]: desired_configs(world.channels, subscribers[at]) for at in found.wanted}
    promotions = wanted_promotions(world.reading.subscribers, versions, configs)
    requests = _requests(world, promotions)
    wanted = frozenset(found.wanted)
    options = [
        _with_request(world, each, requests, offered=each.target in wanted)
        for each in found.options
    ]
    starting = [each for each in options if all_pass(each.verdicts)]
    return PipelinePlan(
        options=options,
        actions=[Action(names[each.target], each.change) for each in starting],
        recheck_at=found.recheck_at,
        requests=requests,
        promotions=promotions,
        claims=found.claims,
        freed=found.freed,
    )


def _requests(world: PipelineWorld, promotions: tuple[ChannelPromotion, ...]) -> RequestPlan:
    if world.requests is None:
        return RequestPlan(acts=(), said={})
    pipeline, seen = world.reading.pipeline, world.requests
    return plan_requests(
        RequestsWorld(
            pipeline=pipeline.name,
            wanted=promotions,
            requests=seen.requests,
            failed=seen.failed,
            declined=seen.declined,
            limit=pipeline.batch_max,
            adopt=world.adopt,
            labels=request_labels(world),
        )
    )


def request_labels(world: PipelineWorld) -> tuple[str, ...]:
    """The labels of every merge request of a pipeline, its priority included."""
    pipeline = world.reading.pipeline
    return (*pipeline.labels, *((pipeline.priority,) if pipeline.priority else ()))


def _with_request(
    world: PipelineWorld, option: Option, plan: RequestPlan, *, offered: bool
) -> Option:
    """An option with what is said of its merge request in place of its progress.

    What is on its way to an older version does not wait for that: a fix goes forward.
    """
    target = world.channels.subscribers[option.target]
    said: tuple[Verdict, ...] = tuple(
        each for each in option.verdicts if each.reason is not ProgressReason.InFlightSaying
    )
    if offered and world.requests is None:
        said = (*said, verdict(ChannelReason.RequestsUnread))
    elif offered:
        said = (*said, plan.said[combination(target.channels)])
    return msgspec.structs.replace(option, verdicts=said)
