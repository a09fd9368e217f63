"""What every event of a plan makes true of the rollout that is remembered."""

import pytest
from msgspec.structs import replace

from tests.sim.by_hand import case, decided
from tidegate.kinds.rollouts.core.remember import remember
from tidegate.kinds.rollouts.core.strategy import Approvals, Retry, Rollout, Strategy, StrategyType
from tidegate.model.plan import Event

ALL = Strategy(StrategyType.ALL)
BEFORE = Rollout(
    uid="u1",
    revision="r1",
    paused=True,
    aborted=True,
    last_good="r0",
    approvals=Approvals(frozenset(("dev",)), for_version="r1"),
    retry=Retry.EVERYTHING,
)

TABLE: list[tuple[tuple[Event, ...], dict[str, object]]] = [
    ((), {}),
    ((Event.RETRIED,), {"retry": Retry.NOTHING, "aborted": False}),
    (
        (Event.RESTARTED,),
        {"uid": "u2", "retry": Retry.NOTHING, "aborted": False, "restarted": True},
    ),
    ((Event.ABORTED,), {"aborted": True}),
    ((Event.COMPLETED,), {"completed": True, "last_good": "r1"}),
    (
        (Event.SUPERSEDED,),
        {"uid": "u2", "revision": "r2", "retry": Retry.NOTHING, "aborted": False},
    ),
    (
        (Event.COMPLETED, Event.SUPERSEDED),
        {
            "uid": "u2",
            "revision": "r2",
            "retry": Retry.NOTHING,
            "aborted": False,
            "last_good": "r1",
        },
    ),
]


@pytest.mark.parametrize("events, changes", TABLE)
def test_an_event_changes_what_it_says_and_nothing_else(
    events: tuple[Event, ...], changes: dict[str, object]
) -> None:
    """A pause and approvals are people's: no event lifts them."""
    world, plan = decided(case(ALL, {"dev": "a"}, rollout=BEFORE))
    assert remember(world, replace(plan, events=events), "u2") == replace(BEFORE, **changes)


def test_every_event_is_in_the_table() -> None:
    """None is left to chance."""
    assert {event for events, _ in TABLE for event in events} == set(Event)


def test_the_revision_under_way_is_known_from_the_first_plan_on() -> None:
    """So that a newer one is recognised from it."""
    world, plan = decided(case(ALL, {"dev": "a"}))
    assert remember(world, plan, "u2").revision == "r2"
