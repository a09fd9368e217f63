"""Real bare repositories with branches to offer."""

from pathlib import Path

from tests.git_repos import git, tip

__all__ = ["bare_repository", "commit", "git", "tip"]


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
