"""A process that ends says whether its input or the program is at fault."""

import pytest

from tidegate.cli.worker.service_process import ending_words
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

MISSING = UserError((Problem("bundle", "no such directory", "name the bundle's directory"),))


@pytest.mark.parametrize(
    "error, what, why",
    [
        (MISSING, "setting", "what this process was given cannot be used"),
        (KeyError("a"), "crash", "a bug ends this process"),
    ],
)
def test_a_wrong_setting_is_not_called_a_bug(error: Exception, what: str, why: str) -> None:
    """A directory that is not there is for its operator to name, not for us to fix."""
    assert ending_words(error)[:2] == (what, why)
    assert "bug" not in ending_words(MISSING)[2]
