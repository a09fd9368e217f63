"""The logs of a check: one file for each integration and image, written while they speak."""

import re
from pathlib import Path
from typing import TextIO

from tidegate.kinds.integrations.app.check.runs import BASE
from tidegate.kinds.integrations.core.review.affected import Case

_ODD = re.compile(r"[^\w.-]+", re.ASCII)


class Logs:
    """Files in one directory, each begun anew by this check."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, TextIO] = {}

    def write(self, case: Case, side: str, line: str) -> None:
        """One line of one side of a case, with the shard that says it."""
        name = log_name(case, side)
        if name not in self._open:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._open[name] = (self._folder / name).open("w", encoding="utf-8")
        shard = case.shard.removeprefix(f"{case.integration}/")
        who = "" if shard == case.integration else f"[{shard}] "
        self._open[name].write(f"{who}{line}\n")

    def path(self, case: Case) -> str:
        """Where what a case says with the change is."""
        return (self._folder / log_name(case, "")).as_posix()

    def close(self) -> None:
        """All that was said is on disk."""
        for file in self._open.values():
            file.close()


def log_name(case: Case, side: str) -> str:
    """`reconcile-terraform-resources_f929a38.txt`; the old data with the same image: `.base`."""
    given = case.base if side == BASE and case.base is not None else case.head
    beside = ".base" if side == BASE and not case.moves_image else ""
    return (
        f"reconcile-{_ODD.sub('-', case.integration)}_{_ODD.sub('-', given.revision)}{beside}.txt"
    )
