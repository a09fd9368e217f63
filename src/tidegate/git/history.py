"""The history of a repository as values: commits, and how two of them relate."""

import enum
import re

import msgspec

from tidegate.model.time import Instant

# Digits of a commit's short name, and the least of its full name.
SHORT, FULL = 7, 40
_COMMIT = re.compile(rf"[0-9a-f]{{{FULL},}}")


def short_version(version: str) -> str:
    """A full commit by its short name; a tag, a branch or a short name as it is."""
    return version[:SHORT] if _COMMIT.fullmatch(version) else version


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """One commit and its author."""

    sha: str
    author: str
    email: str
    # When it was written into the branch, which is what people mean by "merged".
    at: Instant
    subject: str
    # The text below the subject, for lines like `Co-authored-by:`.
    body: str = ""


class Ancestry(enum.Enum):
    """How one commit relates to another."""

    SAME = "same"
    AHEAD = "ahead"  # the new one descends from the old one
    BEHIND = "behind"  # the old one descends from the new one
    APART = "apart"  # neither
    UNKNOWN = "unknown"  # one of them is not in this repository
