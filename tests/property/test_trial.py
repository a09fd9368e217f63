"""Laws of a trial: only runs that were seen count, in a row, and a failing image never passes."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.integrations.core.waves.trial import ShardRun, Trial, advanced, begun
from tidegate.kinds.integrations.wire.run_numbers import read_run

NEEDED = 3
_steps = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30)


def lived(trial: Trial, steps: list[tuple[int, bool]], pod: str = "p") -> list[Trial]:
    """A trial over readings: so many runs later, the last of which ended well or not."""
    completed, found = trial.completed if trial.pod == pod else 0, [trial]
    for more, well in steps:
        completed += more
        found.append(advanced(found[-1], pod, ShardRun(completed, 0 if well else 1), needed=NEEDED))
    return found


@given(_steps)
def test_it_passes_only_after_enough_good_readings_in_a_row(steps: list[tuple[int, bool]]) -> None:
    trials = lived(begun(Trial()), steps)
    streak, passed = 0, False
    for (more, well), trial in zip(steps, trials[1:], strict=True):
        if more:
            streak = streak + 1 if well else 0
        passed = passed or streak >= NEEDED
        assert trial.passed is passed


@given(_steps)
def test_an_image_whose_every_run_fails_never_passes(steps: list[tuple[int, bool]]) -> None:
    trials = lived(begun(Trial()), [(more, False) for more, _ in steps])
    assert not any(trial.passed for trial in trials)
    assert trials[-1].bad == sum(more > 0 for more, _ in steps)


@given(_steps, st.integers(0, 50))
def test_what_a_pod_did_before_a_trial_began_does_not_count(
    steps: list[tuple[int, bool]], before: int
) -> None:
    """A retry tries the same pod again: its earlier failures are forgiven, its successes too."""
    known = advanced(Trial(), "p", ShardRun(before, 1), needed=NEEDED)
    trials = lived(begun(known), steps)
    fresh = lived(begun(Trial(pod="p", completed=known.completed)), steps)
    assert [(one.good, one.bad, one.passed) for one in trials] == [
        (one.good, one.bad, one.passed) for one in fresh
    ]


@given(st.integers(0, 10))
def test_a_pod_met_in_the_middle_of_its_life_is_believed_if_its_last_run_ended_well(
    completed: int,
) -> None:
    met = advanced(Trial(), "p", ShardRun(completed, 0), needed=NEEDED)
    assert met.passed is (completed >= NEEDED)
    assert not advanced(Trial(), "p", ShardRun(completed, 1), needed=NEEDED).passed


def test_the_same_reading_twice_counts_once() -> None:
    once = advanced(begun(Trial()), "p", ShardRun(1, 0), needed=NEEDED)
    assert advanced(once, "p", ShardRun(1, 0), needed=NEEDED) == once


def test_numbers_of_a_loop_are_read_whatever_their_labels() -> None:
    labels = '{integration="terraform-resources",shards="",shard_id="app-sre"}'
    text = (
        "# HELP qontract_reconcile_last_run_status Last run status\n"
        f"qontract_reconcile_last_run_seconds{labels} 12.5\n"
        f"qontract_reconcile_last_run_status{labels} 0.0\n"
        f"qontract_reconcile_execution_counter_total{labels} 4.0\n"
        f"qontract_reconcile_execution_counter_created{labels} 1.7e+09\n"
    )
    assert read_run(text) == ShardRun(4, 0)
    assert read_run(text.replace("status{", "status_of_another{")) is None
    assert read_run(text.replace(" 0.0", " 5.0")) == ShardRun(4, 1)
    assert read_run(text.replace(" 4.0", " NaN")) is None
    assert read_run("") is None
