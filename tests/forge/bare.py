"""Real bare repositories with branches to offer."""

import os
import subprocess
from pathlib import Path

_WHO = {"NAME": "Jane Doe", "EMAIL": "jdoe@example.com"}


def git(folder: Path, *arguments: str, given: str = "") -> str:
    """What git says, in nobody's configuration."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {f"GIT_{role}_{name}": _WHO[name] for role in ("AUTHOR", "COMMITTER") for name in _WHO}
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "init.defaultBranch=main", *arguments],
        env={**env, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        input=given.encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def bare_repository(folder: Path) -> Path:
    """A repository whose branch `main` has one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare")
    commit(folder, "main", {"a.yml": "a: 1\n", "b.yml": "b: 1\n"})
    return folder


def commit(folder: Path, branch: str, files: dict[str, str], onto: str = "") -> str:
    """A commit with these files beside those of another branch; its name."""
    lines = [f"commit refs/heads/{branch}", "committer Jane Doe <jdoe@example.com> now"]
    message = f"Change {', '.join(files)}"
    lines += [f"data {len(message)}", message]
    if onto:
        lines.append(f"from refs/heads/{onto}^0")
    for path, text in files.items():
        lines += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
    git(
        folder,
        "fast-import",
        "--quiet",
        "--force",
        "--date-format=now",
        given="\n".join(lines) + "\n",
    )
    return tip(folder, branch)


def tip(folder: Path, branch: str) -> str:
    """The commit a branch is at."""
    return git(folder, "rev-parse", f"refs/heads/{branch}")
