"""Laws of promotions over whole histories: what was offered, merged, checked, refused and asked."""

import msgspec
from hypothesis import given

from tests.property.promotion_histories import (
    HISTORIES,
    MOVING,
    PARTITION,
    VERSIONS,
    History,
    Step,
)
from tidegate.journal.fact import Mode, tag_of
from tidegate.journal.fact import decode as decode_fact
from tidegate.kinds.promotions.core.decide import decide
from tidegate.kinds.promotions.core.journal.facts import Offered
from tidegate.kinds.promotions.core.journal.known import PromotionState
from tidegate.kinds.promotions.core.journal.record import decided_fact, read_fact
from tidegate.kinds.promotions.core.journal.state import decode, encode, fold
from tidegate.kinds.promotions.core.journal.tasks import unwanted
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
    assert sorted(name for each in decision.changes for name in each.environments) == sorted(
        passing
    )
    for change in decision.changes:
        assert {world.wanted(name) for name in change.environments} == {change.version}


@given(HISTORIES)
def test_no_version_is_offered_twice(steps: list[Step]) -> None:
    """Whatever is known to be offered, open, merged or closed is not offered again unasked."""
    for world, change in History().run(steps).offers:
        for name in change.environments:
            offer = world.offers.get(name)
            assert offer is None or offer.version != change.version
            assert name not in world.pending


@given(HISTORIES)
def test_an_offer_goes_forward_and_keeps_the_order(steps: list[Step]) -> None:
    """Environments that go first have the version, or are in the same offer.

    None goes back, unless a person requested it and allowed that.
    """
    for world, change in History().run(steps).offers:
        new = VERSIONS.index(change.version)
        at = {each.environment: VERSIONS.index(each.value) for each in world.written}
        for name in change.environments:
            request = world.requests.get(name)
            assert at[name] < new or (request is not None and request.backward)
            environment = world.promotion.environment(name)
            assert environment is not None
            for earlier in environment.after:
                assert earlier in change.environments or at[earlier] >= new


@given(HISTORIES)
def test_environments_of_an_open_offer_move_together(steps: list[Step]) -> None:
    """An open merge request is replaced as a whole: no second one changes the same lines."""
    for world, change in History().run(steps).offers:
        for name in change.environments:
            offer = world.offers.get(name)
            if offer is None or offer.state is not OfferState.OPEN:
                continue
            for other in offer.environments:
                seen = world.of(other)
                has = seen is not None and seen.has(other)
                same = world.offers.get(other) == offer and not has
                assert other in change.environments or not same


@given(HISTORIES)
def test_no_environment_is_in_two_open_merge_requests(steps: list[Step]) -> None:
    """What has an open offer is offered on its branch, and on no other."""
    for world, change in History().run(steps).offers:
        for name in change.environments:
            offer = world.offers.get(name)
            is_open = offer is not None and offer.state is OfferState.OPEN
            assert change.branch == (offer.branch if offer is not None and is_open else "")


@given(HISTORIES)
def test_a_merge_request_keeps_what_it_has_for_others(steps: list[Step]) -> None:
    """An update of it is for each environment that it is still for, unless that has its version."""
    for world, change in History().run(steps).offers:
        for name, offer in world.offers.items():
            if offer.state is OfferState.OPEN and offer.branch == change.branch:
                seen = world.of(name)
                assert name in change.environments or (seen is not None and seen.has(name))


@given(HISTORIES)
def test_what_is_decided_is_wanted(steps: list[Step]) -> None:
    """Else it would be dropped, and decided again in every round."""
    history = History().run(steps)
    world = history.world
    decision = decide(world, history.now)
    fact = decided_fact(PARTITION, 0, history.state, world, decision, history.now, Mode.ACT)
    history.add(fact)
    assert [unwanted(history.state, each) for each in fact.tasks] == ["" for _ in fact.tasks]


@given(HISTORIES)
def test_nothing_is_offered_while_paused_or_aborted(steps: list[Step]) -> None:
    """`pause` and `abort` bind promotions too; what is requested after an abort may go out."""
    for world, change in History().run(steps).offers:
        assert not world.paused
        assert not world.aborted or change.version != world.version
        assert set(change.environments) <= set(MOVING)


@given(HISTORIES)
def test_a_requested_version_is_the_only_one_that_is_offered(steps: list[Step]) -> None:
    """Until a request ends, its environments get that version, under its name, or none."""
    for world, change in History().run(steps).offers:
        for name in change.environments:
            request = world.requests.get(name)
            assert change.request == ("" if request is None else request.ident)
            if request is None:
                assert change.version == world.version
                continue
            read = world.requested.get(request.ident)
            assert change.version == (world.version if read is None else read.version)
            assert not request.reached


@given(HISTORIES)
def test_a_request_ends(steps: list[Step]) -> None:
    """Read and merged, a version that goes forward is no longer requested; one withdrawn never is.

    One that went back stays, so that the newest does not undo it, until it is withdrawn.
    """
    history = History().run(steps)
    history.run([("look", "")])
    at = {name: VERSIONS.index(each.ref) for name, each in history.state.requests.items()}
    back = {name for name, each in history.state.requests.items() if each.back}
    known = {each.environment: VERSIONS.index(each.value) for each in history.world.written}
    history.run([("read", (*(at.get(each, known[each]) for each in MOVING), history.version))])
    assert history.state.requests.keys() == back
    for name in MOVING:
        history.run([("withdraw", name)])
    assert not history.state.requests


@given(HISTORIES)
def test_what_is_offered_waits(steps: list[Step]) -> None:
    """Once an offer is recorded, its environments are not decided again."""
    history = History().run(steps)
    for change in decide(history.world, history.now).changes:
        history.add(
            Offered(
                environments=change.environments, version=change.version, branch="b", commit="c"
            )
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
