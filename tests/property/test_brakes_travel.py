"""Brakes go into a journal and come back as they were; those that cover nothing are left out."""

import msgspec
from hypothesis import given

from tests.property.brake_worlds import NOON, Case, cases, unsoaked
from tidegate.gates.brakes import Brakes, concerning
from tidegate.journal.chain import JournalNote, link
from tidegate.journal.facts import Bound
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.model.time import Instant


def names(case: Case) -> list[str]:
    """The targets of a case."""
    world = case.world()
    return [target.name for target in world.targets + world.departed]


@given(cases())
def test_a_fact_about_brakes_reads_back_equal(case: Case) -> None:
    """Sets, calendars, claims and evidence survive; the same brakes have the same bytes."""
    fact = Bound(brakes=case.brakes)
    (entry,) = link(b"", 1, [JournalNote(Instant(1), "x", fact)])
    assert entry.fact() == fact
    (again,) = link(b"", 1, [JournalNote(Instant(1), "x", msgspec.convert(fact, Bound))])
    assert again.body == entry.body


@given(cases())
def test_leaving_out_is_idempotent(case: Case) -> None:
    """What is left covers a target; looking again leaves out nothing more."""
    found = concerning(case.brakes or Brakes(), names(case), case.labels)
    if found is not None:
        assert concerning(found, names(case), case.labels) == found


@given(cases())
def test_what_is_left_out_would_have_said_nothing(case: Case) -> None:
    """The same targets start, the same claims are wanted: only words of passing gates are gone."""
    world = case.world()
    full = decide(world, NOON)
    found = concerning(case.brakes or Brakes(), names(case), case.labels)
    part = decide(msgspec.structs.replace(world, brakes=found), NOON)
    assert part.started == full.started
    assert part.actions == full.actions
    assert part.states == full.states
    assert part.claims == full.claims
    assert part.pinned == full.pinned
    assert part.summary == full.summary


@given(cases())
def test_a_freed_place_was_ours_and_is_not_needed(case: Case) -> None:
    """No target loses a place while changed and not yet soaked, and only our own are freed."""
    world = case.world()
    plan = decide(world, NOON)
    brakes = world.brakes or Brakes()
    moving = {action.target for action in plan.actions}
    changed = {
        target.name
        for target, state in zip(world.targets, plan.states, strict=True)
        if unsoaked(case, plan, target, state)
    }
    for claim in plan.freed:
        assert claim.partition == brakes.partition != ""
        assert claim.target not in moving | changed
