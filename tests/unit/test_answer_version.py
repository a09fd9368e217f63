"""What an answer at an approval gate is for: the revision that goes out, or the version waiting."""

import pytest

from tidegate.app.asks import OperatorRequest, answer_version
from tidegate.explain.view import PartitionView
from tidegate.journal.facts import Verb
from tidegate.model.errors import UserError
from tidegate.model.time import Instant

ROLLOUT = PartitionView(partition="r", summary="Progressing", now=Instant(0), version="v2")


def organisation(*versions: str) -> PartitionView:
    """An organisation whose clusters go to these versions next, all of them behind one gate."""
    waiting = {"board": versions} if versions else {}
    return PartitionView(
        partition="upgrades/prod/o", summary="Waiting", now=Instant(0), gate_versions=waiting
    )


def asked(version: str = "", verb: Verb = Verb.APPROVE) -> OperatorRequest:
    """An answer at the gate."""
    return OperatorRequest(verb=verb, gates=("board",), version=version)


@pytest.mark.parametrize(
    "request_, view, expected",
    [
        (asked(), ROLLOUT, "v2"),
        (asked("v2"), ROLLOUT, "v2"),
        (asked(verb=Verb.PAUSE), ROLLOUT, None),
        (asked(), organisation("4.16.5"), "4.16.5"),
        (asked("4.16.6"), organisation("4.16.5", "4.16.6"), "4.16.6"),
        (asked("4.16.5", Verb.REVOKE), organisation(), "4.16.5"),
    ],
)
def test_an_answer_is_for_what_waits(
    request_: OperatorRequest, view: PartitionView, expected: str | None
) -> None:
    """Where there is one version, it need not be named."""
    assert answer_version(request_, view) == expected


@pytest.mark.parametrize(
    "request_, view, says",
    [
        (asked("v9"), ROLLOUT, '"v9" does not go out'),
        (asked(), organisation("4.16.5", "4.16.6"), "4.16.5, 4.16.6 wait at board"),
        (asked(), organisation(), "no version waits at board"),
    ],
)
def test_an_answer_for_nothing_or_for_several_is_refused(
    request_: OperatorRequest, view: PartitionView, says: str
) -> None:
    """An approval without a version would open nothing, and say that it was given."""
    with pytest.raises(UserError, match=says):
        answer_version(request_, view)
