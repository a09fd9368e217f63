"""Months of a pipeline, whatever goes wrong; and a witness that is shown able to see."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.sim import sized
from tests.sim.pipelines.scene import MONTHS, live_through
from tests.sim.story.missing import Missing, find, nothing
from tidegate.engine.brakes.book import BrakeBook
from tidegate.gates.brakes import Brakes
from tidegate.kinds.promotions.core.channels import decide
from tidegate.kinds.promotions.core.channels import plan as pipeline_plan
from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
from tidegate.kinds.promotions.core.requests import plan
from tidegate.kinds.promotions.core.requests.judgement import judge
from tidegate.kinds.promotions.core.requests.model import RequestPlan, RequestsWorld
from tidegate.model.verdict import verdict

# One of three months, chosen for what happens in it, and so many of some weeks beside it.
CHOSEN = 1
STORIES = sized(0, 1, 30)
# Without a rule, in days: what is missing shows early, or not at all.
DAYS = 20


def test_nothing_is_offered_without_evidence_and_the_last_version_arrives() -> None:
    """By what clusters, forges and people showed; the same seed tells the same story."""
    told = [live_through(CHOSEN, MONTHS), *(live_through(seed) for seed in range(STORIES))]
    seen = sum((each.seen for each in told[1:]), told[0].seen)
    acts = ("open", "update", "close")
    wanted = (*acts, "merged", "failures", "deaths", "declined", "pushed", "conflicts")
    assert all(seen[each] for each in wanted), seen


def soaked(*_: Any) -> Any:
    """No soak is ever asked for."""
    return (verdict(ChannelReason.SoakNotAsked),)


def clean(*_: Any) -> Any:
    """No version ever failed."""
    return verdict(ChannelReason.NotQuarantined)


def trusted(*_: Any) -> Any:
    """Every pipeline is trusted."""
    return verdict(ChannelReason.PipelineTrusted, 0, 0)


def unseen(**fields: Any) -> Any:
    """A judgement that does not see something of requests."""
    return lambda world: judge(
        replace(world, requests=tuple(replace(each, **fields) for each in world.requests))
    )


def forgotten(world: RequestsWorld) -> RequestPlan:
    """No person ever closed anything."""
    return plan.plan_requests(replace(world, declined=()))


MISSING = {
    "evidence": Missing(decide, "evidence_verdicts", nothing, "is not run by", 16),
    "soak": Missing(decide, "soak_verdicts", soaked, "has not soaked", 11),
    "quarantine": Missing(decide, "quarantine_verdict", clean, "failed elsewhere", 5),
    "trust": Missing(decide, "trust_verdict", trusted, "no person approved it", 10),
    "hold": Missing(BrakeBook, "read", lambda *_: Brakes(), "although everything is held", 11),
    "hand edits": Missing(plan, "judge", unseen(foreign=""), "which has work of a person", 11),
    "conflicts": Missing(plan, "judge", unseen(conflict=False), "does not come to rest", 16),
    "closed by a person": Missing(
        pipeline_plan, "plan_requests", forgotten, "offered as a person closed it", 20
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one rule out, and some story breaks, in words that say which."""
    find(MISSING[name], lambda seed: live_through(seed, DAYS), monkeypatch, 40)
