"""The hidden mark by which a comment of ours is found again."""

import re

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

_KEY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9/_.]|-(?!-))*")


def marked(key: str, text: str) -> str:
    """A comment with its mark in front, where no text can hide it."""
    return f"{mark(key)}\n{text}"


def is_marked(body: str, key: str) -> bool:
    """Whether a comment was made under a key."""
    return body.startswith(mark(key))


def mark(key: str) -> str:
    """The mark of a key."""
    if not _KEY.fullmatch(key):
        problem = Problem("comment", f"{shown(key)} is not a key", "letters, digits, / _ . and -")
        raise UserError((problem,))
    return f"<!-- tidegate:{key} -->"
