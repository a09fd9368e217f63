"""Reasons in words: a gate, an outcome, a sentence and what would open it, for every one."""

import pytest

from tidegate.explain.sentence import facts, opens, sentence, until_text
from tidegate.kind_table import reasons
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Gate, Outcome, Reason
from tidegate.model.time import SECOND, Instant
from tidegate.model.verdict import FactValue, Verdict, all_pass, dated, verdict

# By the kind of fact.
SAMPLES: dict[str, FactValue] = {
    "count": 2,
    "name": "dev",
    "names": ("a", "b"),
    "duration": 90 * 60 * SECOND,
    "instant": 0,
}


def sample(reason: Reason) -> Verdict:
    """The verdict of a reason with facts made up."""
    return verdict(reason, *(SAMPLES[kind.value] for _, kind in reason.entry.facts))


def test_every_reason_is_documented_and_every_gate_used() -> None:
    """The table has a line for each, and no gate is left without a reason."""
    names = [each.value for each in reasons()]
    assert len(set(names)) == len(names)
    assert {each.entry.gate for each in reasons()} == set(Gate)


@pytest.mark.parametrize("reason", reasons())
def test_every_reason_can_be_said_in_words(reason: Reason) -> None:
    """Its facts fill its sentence and its remedy, and have names of their own."""
    one = sample(reason)
    assert sentence(one)
    assert "{" not in sentence(one) + opens(one)
    assert list(facts(one)) == [name for name, _ in reason.entry.facts]


@pytest.mark.parametrize("reason", reasons())
def test_a_wait_says_what_opens_the_gate(reason: Reason) -> None:
    """A wait names its end; a gate that is open needs none."""
    entry = reason.entry
    if entry.outcome is Outcome.WAIT:
        assert entry.opens
    if entry.outcome is Outcome.PASS:
        assert not entry.opens


@pytest.mark.parametrize(
    "one, text",
    [
        (verdict(RolloutReason.WithinBudget, 0, 1, "dev"), "0 failures, 1 allowed in dev"),
        (verdict(RolloutReason.WithinBudget, 1, 1, "dev"), "1 failure, 1 allowed in dev"),
        (
            verdict(RolloutReason.OverBudget, 2, 1, "the rollout", ("a", "b")),
            "2 failures, 1 allowed in the rollout (a, b)",
        ),
        (verdict(RolloutReason.Soaking, 90 * 60 * SECOND), "succeeded, soaking for 1h30m"),
        (verdict(RolloutReason.EarlierGroupsDone, 1), "1 earlier group done"),
        (
            verdict(RolloutReason.NoSlotFree, 3, 1, 2, 0),
            "3 slots: 1 being updated, 2 soaking, 0 starting now",
        ),
        (
            verdict(RolloutReason.UnknownStatus, "{odd}"),
            'reports "{odd}", which is not a known status; counted as being updated',
        ),
    ],
)
def test_numbers_bring_their_nouns(one: Verdict, text: str) -> None:
    """One failure, two failures; and what people wrote is shown as they wrote it."""
    assert sentence(one) == text


def test_facts_have_names() -> None:
    """Durations as Go writes them, names as lists."""
    assert facts(verdict(RolloutReason.Soaking, 90 * 60 * SECOND)) == {"soak": "1h30m"}
    over = facts(verdict(RolloutReason.OverBudget, 2, 1, "dev", ("a", "b")))
    assert over == {"failed": 2, "allowed": 1, "scope": "dev", "targets": ("a", "b")}


def test_the_remedy_names_what_it_is_for() -> None:
    """What opens an approval gate is an approval of that very group."""
    assert opens(verdict(RolloutReason.ApprovalMissing, "prod")) == "`approve --group prod`"


def test_a_moment_is_reported_with_how_far_off_it_is() -> None:
    """And as about a moment where others have to play along."""
    one = verdict(RolloutReason.Soaking, 60 * SECOND)
    now = Instant(0)
    assert until_text(one, now) == ""
    at = Instant(90 * SECOND)
    assert until_text(dated(one, at), now) == "until 1970-01-01T00:01:30Z (in 1m30s)"
    about = verdict(ProgressReason.InFlight, until=at, estimate=True)
    assert until_text(about, now) == "until about 1970-01-01T00:01:30Z (in 1m30s)"


def test_a_verdict_takes_exactly_the_facts_of_its_reason() -> None:
    """Too few would break its sentence later, where it could not be fixed."""
    with pytest.raises(TypeError, match="Soaking takes 1 facts, not 0"):
        verdict(RolloutReason.Soaking)


def test_one_shut_gate_shuts_the_option() -> None:
    """Wait and stop both do."""
    go, wait = verdict(ProgressReason.Running), verdict(ProgressReason.InFlight)
    assert all_pass((go, go))
    assert not all_pass((go, wait))
    assert not all_pass((go, verdict(ProgressReason.Paused)))
