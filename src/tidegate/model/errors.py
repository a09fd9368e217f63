"""Errors are split by who must act.

    TidegateError
    ├── UserError      what was written is wrong: where, the value, what to write instead
    │   ├── NotFoundError   what is named does not exist
    │   └── RefusedError    a service does not know the caller, or the caller lacks the role
    ├── OutsideError   another system failed, or did not answer: tried again later
    └── StaleError     the world changed meanwhile: hold, and read again

A target that is held is a verdict, not an error; anything that is not a TidegateError is a bug.
"""

from tidegate.model.problem import Problem


class TidegateError(Exception):
    """What Tidegate raises on purpose; its text is one line a person can act on."""


class UserError(TidegateError):
    """A document cannot be used; every problem found in it is listed."""

    def __init__(self, problems: tuple[Problem, ...], where: str = "") -> None:
        self.problems = problems
        self.where = where
        super().__init__(self.text())

    def text(self) -> str:
        """All problems on one line, in the order of the document."""
        prefix = f"{self.where}: " if self.where else ""
        return prefix + "; ".join(problem.text() for problem in self.problems)


class RefusedError(UserError):
    """A service does not know the caller, or the caller lacks the role."""


class OutsideError(TidegateError):
    """Another system failed, or did not answer; to be tried again."""


class StaleError(TidegateError):
    """What was decided on is no longer so; look again before doing anything."""


class NotFoundError(UserError):
    """What is named does not exist; the problem names the nearest that does."""

    def __init__(self, what: str, name: str, hint: str = "", where: str = "") -> None:
        place = f" {where}" if where else ""
        super().__init__((Problem("", f'no {what} "{name}"{place}', hint),))
