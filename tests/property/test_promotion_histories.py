"""Laws of promotions over whole histories: what was offered, merged, checked, refused and asked."""

import msgspec
from hypothesis import given

from tests.property.promotion_histories import HISTORIES, MOVING, VERSIONS, History, Step
from tidegate.journal.fact import decode as decode_fact
from tidegate.journal.fact import tag_of
from tidegate.kinds.promotions.core.decide import decide
from tidegate.kinds.promotions.core.journal.facts import Offered
from tidegate.kinds.promotions.core.journal.record import read_fact
from tidegate.kinds.promotions.core.journal.state import PromotionState, decode, encode, fold
from tidegate.kinds.promotions.core.world import OfferState
from tidegate.model.verdict import all_pass


@given(HISTORIES)
def test_every_history_has_one_decision(steps: list[Step]) -> None:
    """Deciding is total and repeatable: an option for every environment, each with verdicts."""
    history = History().run(steps)
    world = history.world
    decision = decide(world, history.now)
    assert decide(world, history.now) == decision
    assert [world.targets()[each.target].name for each in decision.options] == list(world.to)
    assert all(each.verdicts for each in decision.options)
    passing = [world.to[each.target] for each in decision.options if all_pass(each.verdicts)]
    assert [each.target for each in decision.actions] == passing
    assert (decision.change.environments if decision.change else ()) == tuple(passing)


@given(HISTORIES)
def test_no_version_is_offered_twice(steps: list[Step]) -> None:
    """Whatever is known to be offered, open, merged or closed is not offered again unasked."""
    for world, decision in History().run(steps).offers:
        assert decision.change is not None
        for name in decision.change.environments:
            offer = world.offers.get(name)
            assert offer is None or offer.version != decision.change.version
            assert name not in world.pending


@given(HISTORIES)
def test_an_offer_goes_forward_and_keeps_the_order(steps: list[Step]) -> None:
    """Environments that go first have the version, or are in the same offer; none goes back."""
    for world, decision in History().run(steps).offers:
        assert decision.change is not None
        new = VERSIONS.index(decision.change.version)
        at = {each.environment: VERSIONS.index(each.value) for each in world.written}
        for name in decision.change.environments:
            assert at[name] < new
            environment = world.promotion.environment(name)
            assert environment is not None
            for earlier in environment.after:
                assert earlier in decision.change.environments or at[earlier] >= new


@given(HISTORIES)
def test_environments_of_an_open_offer_move_together(steps: list[Step]) -> None:
    """An open merge request is replaced as a whole: no second one changes the same lines."""
    for world, decision in History().run(steps).offers:
        assert decision.change is not None
        for name in decision.change.environments:
            offer = world.offers.get(name)
            if offer is None or offer.state is not OfferState.OPEN:
                continue
            for other in offer.environments:
                same = world.offers.get(other) == offer and not world.has(other)
                assert other in decision.change.environments or not same


@given(HISTORIES)
def test_nothing_is_offered_while_paused_or_aborted(steps: list[Step]) -> None:
    """`pause` and `abort` bind promotions too."""
    for world, decision in History().run(steps).offers:
        assert not world.paused
        assert not world.aborted
        assert decision.change is not None
        assert not decision.change.environments or set(decision.change.environments) <= set(MOVING)


@given(HISTORIES)
def test_what_is_offered_waits(steps: list[Step]) -> None:
    """Once an offer is recorded, its environments are not decided again."""
    history = History().run(steps)
    change = decide(history.world, history.now).change
    if change is None:
        return
    history.add(
        Offered(environments=change.environments, version=change.version, branch="b", commit="c")
    )
    after = decide(history.world, history.now)
    assert not {each.target for each in after.actions} & set(change.environments)


@given(HISTORIES)
def test_a_state_is_kept_and_facts_are_read_as_they_were_written(steps: list[Step]) -> None:
    """From the journal's bytes the same state is folded; a kept state is the same again."""
    history = History().run(steps)
    state = PromotionState()
    for at, fact in history.facts:
        again = decode_fact(tag_of(fact), msgspec.json.encode(fact))
        assert again == fact
        state = fold(state, at, again, "user:ada")
    assert state == history.state
    assert decode(encode(state)) == state


@given(HISTORIES)
def test_a_reading_that_finds_nothing_new_is_recorded_only_after_a_merge(
    steps: list[Step],
) -> None:
    """The journal does not grow while nothing happens; a merge needs one more reading."""
    history = History().run(steps)
    assert history.state.read is not None
    fact = read_fact(history.state, history.state.read)
    if fact is not None:
        assert any(each.state is OfferState.MERGED for each in history.state.offers.values())
        history.add(fact)
        assert read_fact(history.state, history.state.read) is None
