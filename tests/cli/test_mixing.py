"""A change that moves schemas and what needs them at once is refused, and flagged."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.folders import Folder, git
from tidegate.cli.main import cli

ENV = "export SCHEMAS_IMAGE_TAG={schemas}\nexport RECONCILE_IMAGE_TAG={tag}\n"
A, B = "aaaaaaa", "bbbbbbb"
TASK = "image:\n- qontract_reconcile_image_tag: {tag}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A repository with a bundle below `data/`, and versions beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    found = Folder(tmp_path / "repository" / "data", {"prod-1": "production"})
    found.integration("dns")
    found.root = found.root.parent
    found.write(".env", ENV.format(schemas=A, tag=A))
    found.write("resources/tekton/task.yaml", TASK.format(tag=A))
    git(found.root, "init", "-q")
    git(found.root, "add", "-A")
    git(found.root, "commit", "-qm", "first")
    git(found.root, "checkout", "-qb", "change")
    return found


def _run(folder: Folder, verb: str, *arguments: str, below: str = "") -> Result:
    command = [verb, str(folder.root / below), "--base", "main", *arguments]
    return CliRunner().invoke(cli, command)


def _warnings(folder: Folder, *arguments: str, below: str = "") -> list[str]:
    done = _run(folder, "preview", "-o", "json", *arguments, below=below)
    assert done.exit_code == 0, done.output
    return [each["text"] for each in json.loads(done.stdout)["warnings"]]


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("below", ["", "data"])
def test_both_at_once_are_named_with_the_command_to_run_first(
    folder: Folder, committed: bool, below: str
) -> None:
    """Wherever the command is run, and whether it is committed or not."""
    folder.write(".env", "# words\n" + ENV.format(schemas=B, tag=A))
    folder.write("resources/tekton/task.yaml", TASK.format(tag=B))
    if committed:
        git(folder.root, "commit", "-qam", "both")
    head = ("--head", "change") if committed else ()
    (text,) = _warnings(folder, *head, below=below)
    assert text.startswith(
        "mixes schemas (.env:2 aaaaaaa → bbbbbbb) with qontract-reconcile "
        "(resources/tekton/task.yaml:2 aaaaaaa → bbbbbbb); run `tidegate promote schemas` first"
    )
    done = _run(folder, "check", "--plan", *head, below=below)
    assert done.exit_code == 1
    assert f"Error: {text}" in done.stderr
    data = json.loads(_run(folder, "check", "-o", "json", *head, below=below).stdout)
    assert (data["mixed"], data["exitCode"]) == ([text], 1)


@pytest.mark.parametrize("schemas, tag", [(B, A), (A, B), (A, A)])
def test_one_of_them_alone_is_fine(folder: Folder, schemas: str, tag: str) -> None:
    folder.write(".env", "# words\n" + ENV.format(schemas=schemas, tag=tag))
    assert _warnings(folder) == []
    assert _run(folder, "check", "--plan").exit_code == 0


@pytest.mark.parametrize(
    "line", ["RECONCILE_IMAGE_TAG={tag}", " export  RECONCILE_IMAGE_TAG='{tag}' # why"]
)
def test_a_version_moves_however_its_line_is_written(folder: Folder, line: str) -> None:
    """With `export` or without: what one command reads as a version is one to all."""
    for schemas, tag in ((A, A), (B, B)):
        env = f"SCHEMAS_IMAGE_TAG={schemas}\n{line.format(tag=tag)}\n"
        folder.write(".env", env)
        if tag == A:
            git(folder.root, "commit", "-qam", "spell it so")
            git(folder.root, "branch", "-qf", "main")
    done = _run(folder, "check", "--plan")
    assert done.exit_code == 1
    assert "mixes schemas (.env:1 aaaaaaa → bbbbbbb) with qontract-reconcile (.env:2" in done.stderr


@pytest.mark.parametrize("env", ["SCHEMAS_IMAGE_TAG=$(x)\nRECONCILE_IMAGE_TAG=bbbbbbb\n", "A=1\n"])
def test_versions_that_the_change_made_unreadable_are_refused(folder: Folder, env: str) -> None:
    """Whether both move is not known, so nothing is run and the file is named."""
    folder.write(".env", env)
    done = _run(folder, "check", "--plan")
    assert done.exit_code == 1, done.output
    assert "Error: " in done.stderr
    assert ".env" in done.stderr


def test_a_file_that_was_unreadable_before_is_not_the_fault_of_a_change(folder: Folder) -> None:
    """It is as it was: no version moves in it. A change that fixes it passes."""
    folder.write(".env", "SCHEMAS_IMAGE_TAG=$(x)\nexport RECONCILE_IMAGE_TAG=aaaaaaa\n")
    git(folder.root, "commit", "-qam", "break it")
    git(folder.root, "branch", "-qf", "main")
    folder.write("resources/tekton/task.yaml", TASK.format(tag=B))
    assert _run(folder, "check", "--plan").exit_code == 0


def test_a_promotion_that_cannot_be_read_refuses_the_change(folder: Folder) -> None:
    folder.write("promotion.yml", "$schema: /tidegate/promotion-1.yml\nnam: x\n")
    git(folder.root, "add", "-A")
    (text,) = _warnings(folder)
    assert text.startswith("which versions move cannot be read: promotion.yml")
    done = _run(folder, "check", "--plan")
    assert done.exit_code == 1
    assert f"Error: {text}" in done.stderr
