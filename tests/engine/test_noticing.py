"""What of a reading is news: what is old, void or silent is not."""

import msgspec
import pytest

from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared, TargetsObserved
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.news import LAG_MAX, news_of
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Instant

DECLARED = RolloutDeclared(
    strategy=Strategy(StrategyType.ALL), groups=(Membership("dev", 0, ("a",)),)
)


def known(report: Target) -> RolloutState:
    """A state in which one cluster has reported something."""
    return RolloutState(declared=DECLARED, reports={report.name: report})


def observed(state: RolloutState, *reports: Target, complete: bool = True) -> list[TargetsObserved]:
    """What a reading adds to what is known."""
    found = list(news_of(state, Observation(DECLARED, reports, complete), Instant(0)))
    return [fact for fact in found if isinstance(fact, TargetsObserved)]


@pytest.mark.parametrize("status", [Status.Progressing, Status.Succeeded, Status.Failed])
def test_a_member_that_is_not_mentioned_is_as_it_was(status: Status) -> None:
    """A reading may be from before it reported: to forget it would be to begin it twice."""
    assert not observed(known(Target("a", status, Instant(5), "v2")))


def test_who_is_in_no_group_and_not_mentioned_is_gone() -> None:
    """It was removed, and nothing of it is left to be removed."""
    (fact,) = observed(known(Target("b", Status.Succeeded, Instant(5), "v2")))
    assert fact.gone == ("b",)


def test_a_reading_that_lags_behind_is_no_news() -> None:
    """We gave it v2 a moment ago; that it has v1, or nothing, was true before that."""
    state = known(Target("a", Status.Progressing, Instant(5), "v2"))
    assert not observed(state, Target("a", Status.Succeeded, Instant(5), "v1"))
    assert not observed(state, Target("a", Status.ToApply))


def test_that_a_settled_member_has_nothing_is_news_once() -> None:
    """It lost what it had, and says so; saying it again is no news."""
    empty = Target("a", Status.ToApply)
    assert observed(known(Target("a", Status.Succeeded, Instant(5), "v2")), empty)
    assert not observed(known(empty), empty)


def test_a_report_from_before_a_retry_is_no_news() -> None:
    """It would be folded into nothing, and written down again in every round."""
    state = RolloutState(declared=DECLARED, void={"a": Instant(5)})
    assert not observed(state, Target("a", Status.Failed, Instant(5), "v2"))
    assert observed(state, Target("a", Status.Progressing, Instant(6), "v2"))


def undated(state: RolloutState, *reports: Target, now: int = 50) -> list[Target]:
    """What is noticed of a fleet that cannot tell since when anything is so."""
    seen = Observation(DECLARED, reports, dated=False)
    found = [
        fact for fact in news_of(state, seen, Instant(now)) if isinstance(fact, TargetsObserved)
    ]
    return [report for fact in found for report in fact.reports]


def test_what_a_fleet_cannot_date_is_dated_when_it_is_first_seen() -> None:
    (one,) = undated(RolloutState(), Target("a", Status.Succeeded, revision="v2"))
    assert one.since == 50
    state = RolloutState(reports={"a": one})
    assert undated(state, Target("a", Status.Succeeded, revision="v2"), now=99) == []
    (again,) = undated(state, Target("a", Status.Failed, revision="v2"), now=99)
    assert again.since == 99


def test_other_words_about_the_same_are_news_and_no_new_beginning() -> None:
    known = Target("a", Status.Progressing, Instant(5), "v2", detail="0 of 3 clean runs")
    said = Target("a", Status.Progressing, revision="v2", detail="1 of 3 clean runs")
    (one,) = undated(RolloutState(reports={"a": known}), said)
    assert (one.since, one.detail) == (5, "1 of 3 clean runs")


def test_what_a_retry_made_void_stays_so_until_something_is_done() -> None:
    state = RolloutState(void={"a": Instant(5)})
    failed = Target("a", Status.Failed, revision="v2")
    assert undated(state, failed) == []
    state.reports["a"] = Target("a", Status.Progressing, Instant(20), "v2")
    assert [one.status for one in undated(state, failed)] == [Status.Failed]


def test_the_way_back_does_not_vanish_because_every_target_moved_on() -> None:
    """What was good before stays what it was for as long as the same revision goes out."""
    before = msgspec.structs.replace(DECLARED, revision="v2", last_good="v1")
    now = msgspec.structs.replace(before, last_good=None)
    state = RolloutState(declared=before)
    assert list(news_of(state, Observation(now, ()), Instant(0))) == []
    other = msgspec.structs.replace(now, revision="v3")
    assert list(news_of(state, Observation(other, ()), Instant(0))) == [other]


def test_what_was_so_before_anyone_looked_is_believed_to_be_as_old_as_it_says() -> None:
    """A fleet that runs for days does not soak because a person begins to watch it."""
    old = Target("a", Status.Succeeded, Instant(7), "v2")
    (one,) = undated(RolloutState(), old)
    assert one.since == 7
    begun = Target("a", Status.Progressing, Instant(20), "v2")
    (later,) = undated(RolloutState(reports={"a": begun}), old)
    assert later.since == 50


def test_what_was_reported_and_is_not_there_after_a_while_is_lost() -> None:
    """A person took it away in the middle; right after the act, the reading may only lag behind."""
    at = 100 * SECOND
    state = RolloutState(reports={"a": Target("a", Status.Progressing, Instant(at), "v2")})
    lost = Target("a")
    assert undated(state, lost, now=at + SECOND) == []
    assert undated(state, lost, now=at + LAG_MAX + SECOND) != []
    assert observed(known(Target("a", Status.Progressing, Instant(at), "v2")), lost) == []
