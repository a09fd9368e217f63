"""Law: nothing receives a blocked revision, forward or back; patterns mean what file names mean."""

import re
from fnmatch import translate

from hypothesis import example, given
from hypothesis import strategies as st

from tests.property.brake_worlds import NOON, Case, cases, is_in, only, sure_labels
from tidegate.gates.block import is_like
from tidegate.gates.scope import in_force
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.model.plan import ChangeKind

blocked_cases = cases(only("blocks")).map(sure_labels)


@given(blocked_cases)
def test_nothing_receives_a_blocked_revision(case: Case) -> None:
    """Whatever is given to a target is blocked by nothing that covers it."""
    assert case.brakes is not None
    for action in decide(case.world(), NOON).actions:
        if action.change.kind is ChangeKind.REMOVE:
            continue
        shut = [
            each
            for each in case.brakes.blocks
            if in_force(each, NOON)
            and is_in(each.scope, case, action.target)
            and is_like(action.change.revision or "", each.revision)
        ]
        assert not shut


@given(blocked_cases)
def test_a_revision_without_a_name_waits(case: Case) -> None:
    """Where a block may bind and it is not known what the revision is called, nothing starts."""
    assert case.brakes is not None
    nameless = case.world(revision=None, rollout=type(case.rollout)())
    for action in decide(nameless, NOON).actions:
        if action.change.kind is ChangeKind.APPLY:
            covering = (b for b in case.brakes.blocks if is_in(b.scope, case, action.target))
            assert not any(in_force(each, NOON) for each in covering)


patterns = st.text(alphabet="ab*?.", max_size=8)


@example("ba", "*a")
@example("aab", "*ab")
@example("4.17.2", "4.17.?")
@given(st.text(alphabet="ab.", max_size=10), patterns)
def test_a_pattern_means_what_it_means_for_file_names(text: str, pattern: str) -> None:
    """The matcher agrees with the standard library's, which compiles a regular expression."""
    assert is_like(text, pattern) == bool(re.fullmatch(translate(pattern), text))


def test_a_pattern_takes_no_longer_than_text_times_pattern() -> None:
    """What makes a backtracking matcher take for ever is answered at once."""
    assert not is_like("a" * 2_000, "*a" * 200 + "b")
