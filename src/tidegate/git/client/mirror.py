"""A bare mirror of a repository, kept among the caches: its commits and trees, contents as needed.

It can be deleted at any time. Credentials in the address are handed to git through the environment
and written nowhere. The remote's branches are kept apart from ours: no fetch touches what we made.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from tidegate.git.client.address import checked
from tidegate.git.client.process import NETWORK_S, Git
from tidegate.git.client.repository import GitRepository, default_branch
from tidegate.git.remote_url import without_login

REMOTE = "origin"
_SETTINGS = (
    ("fetch", "+refs/heads/*:refs/remotes/origin/*"),
    ("fetch", "+refs/tags/*:refs/tags/*"),
    ("promisor", "true"),
    ("partialclonefilter", "blob:none"),
)
# What a value in double quotes may not have as it is.
_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Mirror(GitRepository):
    """A mirror, fetched by one process at a time."""

    @cached_property
    def _shallow(self) -> bool:
        """As git itself finds it out: a mirror has its files in its own folder."""
        return (self._git.folder / "shallow").exists()

    def fetch(self) -> None:
        """Have the remote's branches and tags as they are now."""
        with _alone(self._git.folder):
            super().fetch()


def open_mirror(url: str, folder: Path) -> Mirror:
    """The mirror of an address below a folder; one that is not there yet is made and fetched."""
    address = checked(url)
    bare = without_login(address)
    name = bare.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2] or "mirror"
    place = folder / f"{name}-{sha256(bare.encode()).hexdigest()[:16]}.git"
    settings = {f"url.{address}.insteadOf": bare} if address != bare else {}
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(place):
        if not place.exists():
            _make(place, bare, settings, address)
    git = Git(place, settings)
    git.hidden.add(address)
    return Mirror(git, REMOTE, ours=True)


def _make(place: Path, address: str, settings: dict[str, str], hidden: str) -> None:
    """Create it completely or not at all: a crash leaves only a temporary folder."""
    made = Path(tempfile.mkdtemp(dir=place.parent, prefix=f"{place.name}."))
    try:
        git = Git(made, settings)
        git.hidden.add(hidden)
        # Which kind of names it uses must be known before there is a repository.
        branch, commit = default_branch(git, address)
        kind = "sha256" if len(commit) == 64 else "sha1"
        git.ask("init", "--quiet", "--bare", f"--object-format={kind}", ".")
        # A process of git sets one value; a file takes all of them at once.
        values = (("url", address), *_SETTINGS)
        lines = (f'\t{name} = "{value.translate(_QUOTED)}"\n' for name, value in values)
        with (made / "config").open("ab") as config:
            config.write(os.fsencode(f'[remote "{REMOTE}"]\n{"".join(lines)}'))
        git.ask("fetch", "--quiet", "--no-write-fetch-head", REMOTE, timeout_s=NETWORK_S)
        if branch:
            head = f"refs/remotes/{REMOTE}/HEAD"
            git.ask("symbolic-ref", head, f"refs/remotes/{REMOTE}/{branch}")
        made.rename(place)
    finally:
        if made.exists():
            shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """One process at a time."""
    descriptor = os.open(f"{place}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
