"""What was found in a bundle: the place, the value there, and what to write instead."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from tidegate.model.problem import Problem, Problems

Step = str | int
Path = tuple[Step, ...]
Severity = Literal["error", "warning"]

# What a finding is about, in a word that people can search for; and what it says in general.
RULES = {
    "yaml": "A text that is no YAML, or means different things to different readers",
    "schema": "A field that is missing, unknown or of the wrong type",
    "value": "An amount, a schedule or a name that cannot be used",
    "reference": "A file that is named and is not there, or is something else",
    "duplicate": "Two things of one name",
    "unread": "A file that nothing is read from",
}


class DocumentFault(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong at a path of one document."""

    path: Path
    message: str
    rule: str
    remedy: str = ""
    value: str = ""
    severity: Severity = "error"
    # A field that is there and should not be, or has the wrong name: point at its name.
    key: str | None = None


class BundleFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault, and the place of it in a file."""

    file: str
    line: int
    column: int
    severity: Severity
    rule: str
    path: str
    message: str
    remedy: str = ""
    value: str = ""

    def under(self, prefix: str) -> "BundleFinding":
        """The same, with its file as people open it."""
        return msgspec.structs.replace(self, file=prefix + self.file)


def path_text(path: Sequence[Step]) -> str:
    """`managed[0].spec.imageRef`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def in_order(findings: Iterable[BundleFinding]) -> tuple[BundleFinding, ...]:
    """Each once, by where they stand."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda each: (each.file, each.line, each.column, each.message)))


_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def faults_of(problems: Problems, path: Path, rule: str) -> Iterator[DocumentFault]:
    """The problems of a part of a document, as faults at its path."""
    for problem in problems.errors:
        yield _fault(problem, path, rule, "error")
    for problem in problems.warnings:
        yield _fault(problem, path, rule, "warning")


def _fault(problem: Problem, path: Path, rule: str, severity: Severity) -> DocumentFault:
    steps = (int(at) if at else name for name, at in _STEP.findall(problem.path))
    return DocumentFault(
        path=(*path, *steps),
        message=problem.message,
        rule=rule,
        remedy=problem.remedy,
        severity=severity,
    )
