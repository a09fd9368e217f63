"""Commits as `git log` prints them, with authors by their current names (mailmap)."""

from collections.abc import Iterator

from tidegate.git.client.process import Git
from tidegate.git.port import Commit
from tidegate.model.time import SECOND, Instant

_FIELDS = ("%H", "%aN", "%aE", "%ct", "%s", "%b")
# A person's settings for reading logs must not change what we read.
_PLAIN = (
    "-z", "--no-show-signature", "--no-patch", "--no-notes", "--no-decorate", "--no-color",
    "--encoding=UTF-8",
)  # fmt: skip


def between(git: Git, old: str, new: str) -> tuple[Commit, ...]:
    """The commits in the new one that are not in the old one, the newest first, no merges."""
    return _commits(git, new, "--no-merges", "--end-of-options", f"{old}..{new}")


def one(git: Git, commit: str, names: str) -> Commit:
    """A commit, with its author's name as another commit has it."""
    return _commits(git, names, "--no-walk", "--end-of-options", commit)[0]


def _commits(git: Git, names: str, *which: str) -> tuple[Commit, ...]:
    """People's names are those of the commit's `.mailmap`: a bare repository has no such file."""
    form = f"--format=tformat:{'%x00'.join(_FIELDS)}"
    output = git.ask("-c", f"mailmap.blob={names}:.mailmap", "log", *_PLAIN, form, *which)
    return tuple(_read(output))


def _read(output: bytes) -> Iterator[Commit]:
    fields = output.decode(errors="replace").split("\0")
    for at in range(0, len(fields) - len(_FIELDS) + 1, len(_FIELDS)):
        sha, author, email, seconds, subject, body = fields[at : at + len(_FIELDS)]
        yield Commit(
            sha=sha,
            author=author,
            email=email,
            at=Instant(int(seconds) * SECOND),
            subject=subject,
            body=body.rstrip("\n"),
        )
