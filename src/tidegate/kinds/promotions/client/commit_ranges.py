"""The commits between two versions, from mirrors of the repositories that are deployed."""

import time
from collections.abc import Callable

from tidegate.git.port import Repository
from tidegate.kinds.promotions.core.channels.sources import CommitRange
from tidegate.model.errors import OutsideError, UserError

# So many commits are recorded of a range; the others are counted.
COMMITS_MAX = 50
# A repository that did not answer is asked again after so long.
AGAIN_S = 300.0
# Ranges that are kept: what lies between two commits never changes.
_KEPT_MAX = 4096


class CommitRanges:
    """Counts and names commits; a repository that does not answer says nothing."""

    def __init__(
        self,
        open_repository: Callable[[str], Repository],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open, self._clock = open_repository, clock
        self._failed: dict[str, float] = {}
        self._known: dict[tuple[str, str, str], CommitRange] = {}

    def between(self, url: str, old: str, new: str) -> CommitRange | None:
        """The commits that the new version has and the old one has not; None: not known."""
        key = (url, old, new)
        if key not in self._known:
            if self._clock() - self._failed.get(url, -AGAIN_S) < AGAIN_S:
                return None
            try:
                found = self._open(url).between(old, new)
            except (OutsideError, UserError):
                self._failed[url] = self._clock()
                return None
            if len(self._known) >= _KEPT_MAX:
                self._known.clear()
            oldest = min((each.at for each in found), default=None)
            self._known[key] = CommitRange(
                number=len(found), commits=tuple(found[:COMMITS_MAX]), oldest_at=oldest
            )
        return self._known[key]
