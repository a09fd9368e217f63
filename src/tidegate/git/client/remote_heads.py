"""The newest commits of branches elsewhere, asked for once a minute at most.

A repository that does not answer keeps the commit that was read last: a branch does not lose it.
"""

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tidegate.git.client.address import checked
from tidegate.git.client.process import Git, decoded
from tidegate.git.remote_url import without_login
from tidegate.model.errors import OutsideError, UserError

ASK_S = 20
FRESH_S = 60.0
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


class _Answer(NamedTuple):
    """What was read of a branch, and when; it was not, if there is an error."""

    at: float
    commit: str = ""
    error: OutsideError | UserError | None = None


class RemoteHeads:
    """Reads branches of repositories that are not here."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], _Answer] = {}

    def __call__(self, url: str, branch: str) -> str:
        """The newest commit of a branch; OutsideError or UserError if it cannot be read."""
        with self._lock:
            known = self._known.get((url, branch))
            if known is None or self._clock() - known.at >= FRESH_S:
                known = self._known[url, branch] = self._renewed(url, branch, known)
        if known.error is not None:
            raise known.error
        return known.commit

    def _renewed(self, url: str, branch: str, known: "_Answer | None") -> "_Answer":
        try:
            return _Answer(self._clock(), self._ask(url, branch))
        except (OutsideError, UserError) as error:
            if known is not None and known.commit and isinstance(error, OutsideError):
                return _Answer(self._clock(), known.commit)
            return _Answer(self._clock(), error=error)

    def _ask(self, url: str, branch: str) -> str:
        if not _BRANCH.fullmatch(branch):
            raise OutsideError(f'"{branch}" is not a branch')
        address, ref = checked(url), f"refs/heads/{branch}"
        git = Git(self._folder)
        git.hidden.add(address)
        output = decoded(git.ask("ls-remote", "--", address, ref, timeout_s=ASK_S))
        found = (line.split("\t") for line in output.splitlines())
        commit = next((parts[0] for parts in found if parts[-1] == ref), "")
        if not commit:
            raise OutsideError(f"{without_login(address)} has no branch {branch}")
        return commit
