"""From what was seen of environments to checks of them: does the version run where it should?

An environment is checked once its files have the version. Where shards depend on its files they are
compared on their clusters; otherwise the files are all there is to see, and the check says so.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.promotions.core.world import CheckedIn, RunningCheck

# At most so many shards that differ are recorded with a check.
DIFFERING_MAX = 10


class EnvironmentRuns(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of an environment whose files have the version."""

    environment: str
    # The version, where another than the newest was requested.
    version: str = ""
    # How many shards depend on its files; 0: none, or no cluster is read; None: not known.
    shards: int | None = 0
    # Shards that run something else, and shards that could not be read, a few words each.
    differing: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def running_checks(
    known: Mapping[str, RunningCheck], version: str, seen: Iterable[EnvironmentRuns]
) -> tuple[RunningCheck, ...]:
    """The checks of a version, given the last check of each environment.

    A cluster that does not answer is no success, and does not take back an earlier result for the
    same version. Neither does a look at the files alone.
    """
    return tuple(
        _check(each.version or version, each)
        for each in seen
        if not _says_less(each) or not _is_of(known.get(each.environment), each.version or version)
    )


def _says_less(seen: EnvironmentRuns) -> bool:
    return not seen.shards or (bool(seen.unread) and not seen.differing)


def _is_of(check: RunningCheck | None, version: str) -> bool:
    return check is not None and check.version == version


def _check(version: str, seen: EnvironmentRuns) -> RunningCheck:
    wrong = (*seen.differing, *seen.unread)
    more = len(wrong) - DIFFERING_MAX
    named = (*wrong[:DIFFERING_MAX], f"{more} more") if more > 0 else wrong
    return RunningCheck(
        environment=seen.environment,
        version=version,
        matches=not wrong,
        differing=named,
        seen_in=CheckedIn.BUNDLE if seen.shards == 0 else CheckedIn.CLUSTERS,
    )
