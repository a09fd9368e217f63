"""What the journal knows of rollouts, for any caller."""

from tidegate.cli.live import journals
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Asked, Mode, Verb
from tidegate.kinds.rollouts.core.journal.facts import Decided, RolloutDeclared, TargetsObserved
from tidegate.kinds.rollouts.core.strategy import Rollout, Strategy, StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.plan import Event
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant
from tidegate.store.client.memory import MemoryStore

DECLARED = RolloutDeclared(
    strategy=Strategy(StrategyType.PROGRESSIVE),
    groups=(Membership("all", 0, ("a", "b")),),
    revision="v2",
    last_good="v1",
)


def told(*facts: Fact) -> str:
    """What is said to have ended the only rollout."""
    store = MemoryStore()
    notes = [
        JournalNote(Instant(at), "user:ada", fact) for at, fact in enumerate((DECLARED, *facts))
    ]
    store.append("x/y", notes)
    known = journals(store)
    (one,) = known.all()
    return known.stopped_by(one)


def aborted(*events: Event) -> Decided:
    rollout = Rollout(revision="v2", last_good="v1", aborted=True)
    return Decided(
        now=Instant(3), mode=Mode.ACT, summary=Summary.ABORTED, events=events, rollout=rollout
    )


def test_what_stopped_a_rollout_is_known_after_every_target_is_back() -> None:
    """By then no gate has a failure to show."""
    failed = TargetsObserved(
        reports=(Target("a", Status.Failed, Instant(1), "v2", detail="3 runs failed"),)
    )
    back = TargetsObserved(reports=(Target("a", Status.Succeeded, Instant(4), "v1"),))
    said = told(failed, aborted(Event.ABORTED), back)
    assert said.endswith(" a: 3 runs failed")


def test_who_aborted_a_rollout_is_named_with_the_reason() -> None:
    said = told(Asked(verb=Verb.ABORT, reason="wrong image"))
    assert said == "user:ada aborted it: wrong image"


def test_a_rollout_that_goes_on_was_stopped_by_nothing() -> None:
    assert told() == ""
