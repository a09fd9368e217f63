"""Refs as git keeps them in files, read without a process; where anything is unusual, git is asked.

A ref has a file of its own or a line of `packed-refs`, and its own file counts. Files are read
first: git writes the line before it removes the file, so no ref is missed while refs are packed.
Unusual are other ways to keep refs (reftable), linked working trees, refs that lead to other refs,
names that not every git accepts, and a folder that is no repository (any more).
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

_COMMIT = re.compile(rb"(?!0+\n)([0-9a-f]{40}|[0-9a-f]{64})\n")
# Of these, git refuses only what is looked for below.
_NAME = re.compile(r"[A-Za-z0-9_+/.-]+")
_NO_NAME = re.compile(r"\.\.|\.(/|$)|/\.|//")
# A ref that is about to be written.
_LOCK = ".lock"
_ELSEWHERE = ("reftable", "commondir")
_PARTS = ("HEAD", "objects", "refs")


_LEADS = re.compile(r"ref: (refs/\S+)\n")


class _UnusualError(Exception):
    """Only git can tell."""


def ref_files(home: Path, *places: str) -> dict[str, str] | None:
    """The commits of refs at and below some places, by their full names; None: ask git.

    `home` is the folder that git has its own files in: `.git`, or a bare repository.
    """
    try:
        if any((home / each).exists() for each in _ELSEWHERE):
            return None
        loose = {name: commit for place in places for name, commit in _loose(home, place)}
        packed = dict(_packed(home, places))
        if not all((home / each).exists() for each in _PARTS):
            return None
    except (OSError, _UnusualError):
        return None
    return dict(sorted({**packed, **loose}.items()))


def home_of(folder: Path) -> Path:
    """Where git has its own files of the repository whose root, or bare folder, this is."""
    inner = folder / ".git"
    return inner if inner.is_dir() else folder


def led_to(home: Path, name: str) -> tuple[str, str] | None:
    """The ref that another one leads to, and its commit; None: ask git."""
    try:
        found = _LEADS.fullmatch((home / name).read_text())
    except (OSError, UnicodeDecodeError):
        return None
    commit = (ref_files(home, found[1]) or {}).get(found[1]) if found else None
    return (found[1], commit) if found and commit else None


def _loose(home: Path, place: str) -> Iterator[tuple[str, str]]:
    """Refs with files of their own; what is removed meanwhile is packed, or is no ref any more."""
    path = f"{home}/{place}"
    try:
        if not Path(path).is_dir():
            yield place, _commit(Path(path).read_bytes())
            return
        with os.scandir(path) as found:
            names = [each.name for each in found]
    except FileNotFoundError:
        return
    for name in names:
        if not name.endswith(_LOCK) and not name.startswith("."):
            yield from _loose(home, _checked(f"{place}/{name}"))


def _packed(home: Path, places: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    try:
        lines = (home / "packed-refs").read_bytes().splitlines()
    except FileNotFoundError:
        return
    below = tuple(f"{each}/" for each in places)
    for line in lines:
        # A comment, or what the tag above leads to.
        if line.startswith((b"#", b"^")):
            continue
        commit, _, raw = line.partition(b" ")
        name = os.fsdecode(raw)
        if name in places or name.startswith(below):
            yield _checked(name), _commit(commit + b"\n")


def _commit(content: bytes) -> str:
    if found := _COMMIT.fullmatch(content):
        return found[1].decode()
    raise _UnusualError


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) and not _NO_NAME.search(name):
        return name
    raise _UnusualError
