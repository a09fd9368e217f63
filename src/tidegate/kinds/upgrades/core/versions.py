"""Versions of clusters, in the order of semantic versioning, and nothing that only looks like one.

A pre-release comes before its release and after every lower one: 4.13.0-ec.2 < 4.13.0-rc.1 <
4.13.0-rc.10 < 4.13.0. What follows a `+` does not count. `4.12`, `v4.12.1` and `4.12.01` are no
versions. Keys are remembered, because a fleet has thousands of clusters and few versions.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

_NUMBER = r"(0|[1-9][0-9]*)"
_PRE = r"(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = r"\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_PRE}(?:\.{_PRE})*))?(?:{_BUILD})?")
# A fleet knows a few hundred versions; more than this in one process is a mistake.
_REMEMBERED_MAX = 4096

Key = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]
"""What versions are compared by: the numbers, 1 for a release, and the parts of a pre-release."""


class VersionError(ValueError):
    """A text is no version; the text says so."""


@lru_cache(_REMEMBERED_MAX)
def key_of(version: str) -> Key:
    """What a version is compared by; VersionError if it is none."""
    match = _VERSION.fullmatch(version)
    if match is None:
        raise VersionError(f"{version} is not valid SemVer string")
    major, minor, patch, pre = match.groups()
    parts = tuple(_part(each) for each in pre.split(".")) if pre else ()
    return int(major), int(minor), int(patch), 0 if pre else 1, parts


def is_version(text: str) -> bool:
    """Whether a text is a version."""
    try:
        key_of(text)
    except VersionError:
        return False
    return True


def _part(text: str) -> tuple[int, int, str]:
    """Numbers come before words, and in their own order."""
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


def sort_versions(versions: Iterable[str]) -> list[str]:
    """Lowest first; equal ones stay in their order."""
    return sorted(versions, key=key_of)


@lru_cache(_REMEMBERED_MAX)
def minor_of(version: str) -> str:
    """`4.13` of `4.13.0-rc.1`."""
    major, minor, *_ = key_of(version)
    return f"{major}.{minor}"
