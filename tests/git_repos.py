"""Real repositories for tests: made by git, in folders of their own, by people with names."""

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

ADA = ("Ada", "ada@example.com")
BOB = ("Bob", "bob@example.com")
# Instead of those of the user who runs the tests.
GIT_SETTINGS = str(Path(__file__).parent / "fixtures" / "gitconfig")
_SETTINGS = ("-c", "init.defaultBranch=main")
# No repository has the sample hooks of git: they would be most of its files.
_BARE = "--template="


@pytest.fixture
def no_git_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the user who runs the tests do not count."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_SETTINGS)


def git(
    folder: Path, *arguments: str, who: tuple[str, str] = ADA, at: str = "", given: str = ""
) -> str:
    """What git says; only the repository's own settings count."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": who[0], f"GIT_{role}_EMAIL": who[1]}
        env |= {f"GIT_{role}_DATE": at} if at else {}
    done = subprocess.run(
        ["git", "-C", str(folder), *_SETTINGS, *arguments],
        env={**env, "GIT_CONFIG_GLOBAL": GIT_SETTINGS, "GIT_CONFIG_NOSYSTEM": "1"},
        input=given.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr.decode()}"
    return done.stdout.decode(errors="surrogateescape").strip()


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Files in a working tree."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)


def commit(
    folder: Path,
    files: Mapping[str, str | bytes],
    message: str = "change",
    who: tuple[str, str] = ADA,
    at: str = "",
) -> str:
    """Files written, committed; the commit."""
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message, who=who, at=at)
    return _head(folder)


def tip(folder: Path, branch: str) -> str:
    """The commit a branch of a bare repository is at, as git keeps it; empty: there is none."""
    name = f"refs/heads/{branch}"
    loose, packed = folder / name, folder / "packed-refs"
    if loose.is_file():
        return loose.read_text().strip()
    lines = packed.read_text().splitlines() if packed.is_file() else []
    return next((line.split(" ")[0] for line in lines if line.endswith(f" {name}")), "")


def _head(folder: Path) -> str:
    """Read as git has just written it; `git` is asked where that is done in another way."""
    own = folder / ".git"
    if own.is_dir():
        head = (own / "HEAD").read_text().strip()
        name = own / head.removeprefix("ref: ")
        if head.startswith("ref: ") and name.is_file():
            return name.read_text().strip()
    return git(folder, "rev-parse", "HEAD")


def remote(
    folder: Path, files: Mapping[str, str | bytes], kind: str = "sha1", at: str = ""
) -> Path:
    """A bare repository whose branch `main` has these files, as a forge keeps it."""
    seed = folder / "seed"
    git(folder, "init", "-q", _BARE, f"--object-format={kind}", str(seed))
    commit(seed, files, "first", at=at)
    bare = folder / "remote.git"
    git(folder, "clone", "-q", _BARE, "--bare", str(seed), str(bare))
    git(bare, "remote", "remove", "origin")
    git(bare, "config", "uploadpack.allowFilter", "true")
    return bare


def clone(bare: Path, folder: Path, *options: str, who: tuple[str, str] = ADA) -> Path:
    """A person's clone, with their name in its settings."""
    named = ("-c", f"user.name={who[0]}", "-c", f"user.email={who[1]}")
    git(bare, "clone", "-q", _BARE, *named, *options, bare.as_uri(), str(folder))
    return folder


def copied(folder: Path, make: Callable[[Path], None]) -> None:
    """The repositories that a function makes, made once a process; each is told where it is now."""
    made = _made(make)
    shutil.copytree(made, folder, dirs_exist_ok=True, symlinks=True)
    for config in (*folder.glob("*/config"), *folder.glob("*/.git/config")):
        config.write_text(config.read_text().replace(str(made), str(folder)))


@cache
def _made(make: Callable[[Path], None]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tidegate-repositories-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make(folder)
    return folder


def push_change(
    bare: Path,
    folder: Path,
    files: Mapping[str, str | bytes],
    branch: str = "main",
    who: tuple[str, str] = BOB,
) -> str:
    """Another person clones, commits onto a branch and pushes; the commit."""
    git(bare, "clone", "-q", _BARE, "--branch", branch, str(bare), str(folder))
    made = commit(folder, files, "meanwhile", who)
    git(folder, "push", "-q", "origin", f"HEAD:{branch}")
    return made
