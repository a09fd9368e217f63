"""The table of verbs and phases in the docs is true, cell by cell."""

from pathlib import Path

import pytest

from tidegate.app.phase import meaningless
from tidegate.explain.view import GroupRow, PartitionView, TargetRow
from tidegate.journal.facts import Asked, Verb
from tidegate.model.time import Instant

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verbs.md"
REQUESTS = {
    "pause": Asked(verb=Verb.PAUSE),
    "resume": Asked(verb=Verb.RESUME),
    "abort": Asked(verb=Verb.ABORT),
    "retry": Asked(verb=Verb.RETRY),
    "retry --failed": Asked(verb=Verb.RETRY_FAILED),
    "approve": Asked(verb=Verb.APPROVE, groups=("dev",), version="v2"),
    "approve --standing": Asked(verb=Verb.APPROVE, groups=("dev",)),
    "reject": Asked(verb=Verb.REJECT, groups=("dev",), version="v2"),
    "revoke": Asked(verb=Verb.REVOKE, groups=("dev",), version="v2"),
}
# The states of two targets in each phase, as a rollout has them.
STATES = {
    "Waiting": ("Waiting", "Waiting"),
    "Progressing": ("Updating", "Waiting"),
    "Paused": ("Done", "Waiting"),
    "Succeeded": ("Done", "Done"),
    "Failed": ("Failed", "Waiting"),
    "Aborted": ("Done", "Waiting"),
}


def view(phase: str, *states: str) -> PartitionView:
    """A rollout of targets in these states, a group each."""
    names = ("dev", "prod")
    return PartitionView(
        partition="simulated/demo",
        summary=phase,
        now=Instant(0),
        revision="v2",
        targets=tuple(
            TargetRow(name, state, group=name) for name, state in zip(names, states, strict=True)
        ),
        groups=tuple(GroupRow(name, i, "", key=name) for i, name in enumerate(names)),
        paused=phase == "Paused",
    )


def cells() -> list[tuple[str, str, str]]:
    """Every cell of the page: the verb, the phase, and what is said."""
    text = PAGE.read_text(encoding="utf-8").partition("## Verbs and phases")[2]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.partition("## What holds")[0].splitlines()
        if line.startswith("| ")
    ]
    head, *body = rows
    return [
        (row[0].strip("`"), phase, said)
        for row in body
        for phase, said in zip(head[1:], row[1:], strict=True)
    ]


@pytest.mark.parametrize("verb, phase, said", cells())
def test_the_page_says_which_request_means_something(verb: str, phase: str, said: str) -> None:
    found = meaningless(REQUESTS[verb], view(phase, *STATES[phase]))
    assert (found is None) is (said == "yes"), found
    if found is not None:
        assert said in found.message
        assert "simulated/demo" in found.text()
        assert "tidegate " in found.remedy or "--standing" in found.remedy


def test_the_page_has_every_verb_in_every_phase() -> None:
    assert {(verb, phase) for verb, phase, _ in cells()} == {
        (verb, phase) for verb in REQUESTS for phase in STATES
    }
    assert {each.verb for each in REQUESTS.values()} == set(Verb)


def test_a_pause_does_not_hide_that_nothing_is_left_to_end() -> None:
    found = meaningless(REQUESTS["abort"], view("Paused", "Done", "Done"))
    assert found is not None
    assert "has succeeded" in found.message


def test_a_retry_of_what_failed_is_about_the_groups_that_it_names() -> None:
    one = view("Progressing", "Failed", "Waiting")
    assert meaningless(Asked(verb=Verb.RETRY_FAILED, groups=("dev",)), one) is None
    assert meaningless(Asked(verb=Verb.RETRY_FAILED, groups=("prod",)), one) is not None


def test_a_retry_that_changes_what_is_decided_means_something() -> None:
    """A target that waits for another try starts at once."""
    waiting = view("Waiting", "Waiting", "Waiting")
    assert meaningless(REQUESTS["retry --failed"], waiting, changes=True) is None


def test_nothing_that_failed_is_tried_again_where_all_has_succeeded() -> None:
    """A pinned target is on another revision: the rollout would begin again for it."""
    done = view("Succeeded", "Done", "Joined later")
    assert meaningless(REQUESTS["retry --failed"], done, changes=True) is not None
    assert meaningless(REQUESTS["retry"], done, changes=True) is None
