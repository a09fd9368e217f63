"""The life of a promotion as its journal has it, a story each: what every environment waits for."""

import pytest

from tests.property.promotion_histories import MOVING, VERSIONS, History
from tidegate.gates.approval import ApprovalGate, Response
from tidegate.gates.brakes import Brakes
from tidegate.gates.claims import Claim
from tidegate.gates.hold import Hold
from tidegate.gates.mutex import Mutex
from tidegate.gates.scope import EVERYTHING, Scope
from tidegate.journal.facts import Verb
from tidegate.kinds.promotions.core.decide import PromotionDecision, decide
from tidegate.kinds.promotions.core.explain.view import promotion_view
from tidegate.kinds.promotions.core.journal.known import world_of
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.kinds.promotions.core.world import OfferState
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant

READ_OLD = ("read", (0, 0, 0, 1))
READ_NEW = ("read", (1, 1, 1, 1))
OFFER = ("decide", "offer")
MERGED = ("request", ("first", OfferState.MERGED))
CLOSED = ("request", ("first", OfferState.CLOSED))
REFUSED = ("refused", ("second", True))
NEWER = ("newer", None)
HOLD = Hold(name="h", scope=EVERYTHING, why="w", owner="o")
MUTEX = Mutex(name="m", scope=EVERYTHING)
PARTITION = "promotions/p"


def shut(decision: PromotionDecision, at: int) -> list[str]:
    """Why an environment does not move: the reasons of gates that are shut."""
    (option,) = [each for each in decision.options if each.target == at]
    return [each.reason.value for each in option.verdicts if each.outcome is not Outcome.PASS]


@pytest.mark.parametrize(
    "steps, first, second",
    [
        # Nothing was offered yet: everything moves, in one merge request.
        ([], [], []),
        # It is offered once.
        ([OFFER], ["OfferOpen"], ["OfferOpen", "EarlierEnvironmentBehind"]),
        # A merge shows in the next reading of the bundle.
        ([OFFER, MERGED], ["OfferMerged"], ["OfferMerged", "EarlierEnvironmentBehind"]),
        ([OFFER, MERGED, READ_NEW], ["Done"], ["Done"]),
        # What was merged and is not written is not offered again unasked; nor is what was closed.
        ([OFFER, MERGED, READ_OLD], ["OfferUndone"], ["OfferUndone", "EarlierEnvironmentBehind"]),
        ([OFFER, CLOSED], ["OfferClosed"], ["OfferClosed", "EarlierEnvironmentBehind"]),
        ([OFFER, CLOSED, ("asked", Verb.RETRY)], [], []),
        ([OFFER, MERGED, READ_OLD, ("asked", Verb.RETRY)], [], []),
        # A newer version replaces an open offer, and starts anew after a closed one.
        ([OFFER, NEWER], [], []),
        ([OFFER, CLOSED, NEWER], [], []),
        # Those that share an open offer move together or not at all.
        ([OFFER, NEWER, REFUSED], ["OfferShared"], ["OfferRefused", "EarlierEnvironmentBehind"]),
        ([OFFER, NEWER, REFUSED, ("asked", Verb.RETRY)], [], []),
        # Where it is checked what runs, an environment is done once that is the version.
        (
            [READ_NEW, ("check", ("first", False))],
            ["NotRunningYet"],
            ["Done", "EarlierEnvironmentNotRunning"],
        ),
        (
            [("check", ("first", True)), ("read", (2, 2, 2, 2))],
            ["RunUnchecked"],
            ["Done", "EarlierEnvironmentNotRunning"],
        ),
        ([READ_NEW, ("check", ("first", True))], ["Done"], ["Done"]),
        ([("check", ("first", False)), ("read", (1, 0, 0, 1))], ["NotRunningYet"],
         ["EarlierEnvironmentNotRunning"]),
        # A task without an outcome is not decided again; one that was dropped is.
        ([("decide", "nothing")], ["InFlight"], ["InFlight", "EarlierEnvironmentBehind"]),
        ([("decide", "fail")], ["InFlightSaying"], ["InFlightSaying", "EarlierEnvironmentBehind"]),
        ([("decide", "drop")], [], []),
        ([("decide", "refuse")], ["OfferRefused"], ["OfferRefused", "EarlierEnvironmentBehind"]),
        ([("decide", "refuse"), NEWER], [], []),
        # A refusal for now ends by itself.
        ([("refused", ("first", False))], ["OfferRefusedForNow"], ["EarlierEnvironmentBehind"]),
        # A person stops it, and lets it go on.
        ([("asked", Verb.PAUSE)], ["Paused"], ["Paused", "EarlierEnvironmentBehind"]),
        ([("asked", Verb.PAUSE), ("asked", Verb.RESUME)], [], []),
        ([("asked", Verb.ABORT)], ["Aborted"], ["Aborted", "EarlierEnvironmentBehind"]),
        ([("asked", Verb.ABORT), NEWER], [], []),
        ([("asked", Verb.ABORT), ("asked", Verb.RETRY)], [], []),
    ],
)  # fmt: skip
def test_an_environment_waits_for_what_its_journal_says(
    steps: list[tuple[str, object]], first: list[str], second: list[str]
) -> None:
    history = History().run(steps)
    decision = decide(history.world, history.now)
    assert (shut(decision, 1), shut(decision, 2)) == (first, second)
    assert "FollowsBranch" in shut(decision, 0)
    row = promotion_view("promotions/x", history.world, decision, history.now).targets[0]
    assert row.state == "Ignored"
    assert row.shut is not None
    assert row.shut.reason is PromotionReason.FollowsBranch, "what is ignored says why"


def test_a_refusal_for_now_names_the_moment() -> None:
    """Time alone opens the gate, so the decision says when to look again."""
    history = History().run([("refused", ("first", False))])
    found = decide(history.world, history.now).recheck_at
    assert found is not None
    assert decide(history.world, found).changes


def braked(history: History, brakes: Brakes) -> PromotionDecision:
    """What is decided under brakes."""
    world = world_of(history.state, brakes)
    assert world is not None
    return decide(world, history.now)


def test_a_hold_on_one_environment_keeps_those_behind_it() -> None:
    """Brakes name environments as they name any other target."""
    hold = Hold(name="h", scope=Scope(targets=frozenset(("second",))), why="w", owner="o")
    decision = braked(History(), Brakes(holds=(hold,)))
    assert [each.target for each in decision.actions] == ["first"]
    assert shut(decision, 2) == ["Held"]
    assert shut(decision, 3) == ["EarlierEnvironmentBehind"]
    assert not braked(History(), Brakes(holds=(HOLD,))).actions


def test_a_mutex_lets_one_environment_move_and_is_claimed_first() -> None:
    """Whatever the promotion shares with others, it asks for before it acts."""
    decision = braked(History(), Brakes(mutexes=(MUTEX,), partition=PARTITION))
    assert [each.target for each in decision.actions] == ["first"]
    assert [(each.name, each.target) for each in decision.claims] == [("mutex/m", "first")]
    taken = Claim(name="mutex/m", target="x", partition="rollouts/r")
    held = Brakes(mutexes=(MUTEX,), partition=PARTITION, claims=(taken,))
    assert not braked(History(), held).actions


def test_a_claim_is_kept_while_an_offer_is_open_and_given_back_after() -> None:
    """An environment is under way from its offer to its end."""
    mine = Claim(name="mutex/m", target="first", partition=PARTITION)
    brakes = Brakes(mutexes=(MUTEX,), partition=PARTITION, claims=(mine,))
    history = History().run([OFFER])
    assert braked(history, brakes).freed == ()
    assert braked(history.run([MERGED, READ_NEW]), brakes).freed == (mine,)


def test_an_approval_is_for_one_version() -> None:
    """An approval of the version before counts for nothing."""
    history = History()

    def gate(version: str) -> Brakes:
        response = Response(who="ada", at=Instant(0), revision=version)
        return Brakes(approvals=(ApprovalGate(name="go", scope=EVERYTHING, responses=(response,)),))

    assert braked(history, gate(history.world.version)).changes
    assert shut(braked(history, gate(VERSIONS[0])), 1) == ["QuorumMissing"]


def test_brakes_that_cover_no_environment_are_not_part_of_the_world() -> None:
    """Others' brakes must not fill the journal of a promotion."""
    other = Hold(name="h", scope=Scope(targets=frozenset(("prod-1",))), why="w", owner="o")
    world = world_of(History().state, Brakes(holds=(other,)))
    assert world is not None
    assert world.brakes.holds == ()
    assert set(MOVING) < set(world.to)
