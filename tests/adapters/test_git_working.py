"""A working tree is read as the commit it would become."""

from pathlib import Path

from tests.git_repos import commit, git, write
from tidegate.git.client.repository import open_repository
from tidegate.git.client.working_files import WorkingFiles

FIRST = {"same.yml": "tag: a\n", "moved.yml": "tag: a\n", "gone.yml": "tag: a\n", "x/ü.yml": "b\n"}


def test_what_is_changed_is_read_as_if_it_were_committed(tmp_path: Path) -> None:
    """Edits, a file that is gone, one that is new, and one that is staged and edited again."""
    git(tmp_path, "init", "-q")
    base = commit(tmp_path, FIRST)
    write(tmp_path, {"moved.yml": "tag: b\n", "x/ü.yml": "tag: c\n", "new.yml": "tag: d\n"})
    (tmp_path / "gone.yml").unlink()
    git(tmp_path, "add", "-A")
    write(tmp_path, {"new.yml": "tag: e\n", "moved.yml": "no more\n"})
    before = git(tmp_path, "status", "--porcelain")
    repository = open_repository(tmp_path)
    working = WorkingFiles(tmp_path, tmp_path, repository)
    files = working.files(base)
    read = dict(working.read(base, files))
    holding = [working.holding(base, "tag:", under=under) for under in ("", "x")]
    assert git(tmp_path, "status", "--porcelain") == before
    after = commit(tmp_path, {})
    assert files.keys() == repository.files(after).keys()
    assert read == dict(repository.read(after, files))
    assert holding == [repository.holding(after, "tag:", under=under) for under in ("", "x")]
    assert holding == [("new.yml", "same.yml", "x/ü.yml"), ("x/ü.yml",)]


def test_what_git_does_not_know_and_links_are_no_part_of_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    base = commit(tmp_path, FIRST)
    write(tmp_path, {"unknown.yml": "tag: a\n"})
    (tmp_path / "moved.yml").unlink()
    (tmp_path / "moved.yml").symlink_to("same.yml")
    working = WorkingFiles(tmp_path, tmp_path, open_repository(tmp_path))
    assert sorted(working.files(base)) == ["gone.yml", "same.yml", "x/ü.yml"]
