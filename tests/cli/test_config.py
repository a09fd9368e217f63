"""`tidegate config view`, and settings that reach the commands."""

import json
import os
import subprocess
from pathlib import Path

from tests import command
from tidegate.documents.reader import DURATION_REMEDY


def tidegate(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, with nothing of ours in the environment."""
    clean = {name: value for name, value in os.environ.items() if "TIDEGATE" not in name}
    clean |= {"XDG_CONFIG_HOME": str(folder / "user"), "PYTHONUTF8": "1"}
    clean.pop("COLUMNS", None)
    return command.tidegate(*args, cwd=folder, env={**clean, **env})


def test_every_place_is_shown_with_its_value(tmp_path: Path) -> None:
    """A flag, a variable, both files and a default in one table."""
    (tmp_path / "tidegate.yaml").write_text("lease: 20s\nresync: 40s\n", encoding="utf-8")
    (tmp_path / "user" / "tidegate").mkdir(parents=True)
    user = tmp_path / "user" / "tidegate" / "config.yaml"
    user.write_text("lease: 25s\ndiscover: 9s\n", encoding="utf-8")
    done = tidegate(
        tmp_path, "config", "view", "--show-origin", "--grace", "1s", TIDEGATE_RESYNC="50s"
    )
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert rows["lease"] == ["20s", "project", "tidegate.yaml:1:8"]
    assert rows["resync"] == ["50s", "env", "TIDEGATE_RESYNC"]
    assert rows["discover"] == ["9s", "user", f"{user}:2:11"]
    assert rows["grace"] == ["1s", "flag", "--grace"]
    assert rows["listen"] == ["127.0.0.1:8080", "default"]


def test_on_a_narrow_terminal_the_origin_is_still_seen(tmp_path: Path) -> None:
    """Sixty columns: long values are cut, origins are not."""
    done = tidegate(tmp_path, "config", "view", "--show-origin", "--grace", "1s", COLUMNS="60")
    assert max(map(len, done.stdout.splitlines())) <= 60
    assert all("default" in line or "--grace" in line for line in done.stdout.splitlines()[1:])


def test_a_password_is_shown_nowhere(tmp_path: Path) -> None:
    """In no format, with or without origins."""
    for output in ("table", "json", "yaml"):
        for more in ([], ["--show-origin"]):
            args = ["config", "view", "-o", output, *more]
            done = tidegate(tmp_path, *args, TIDEGATE_DATABASE="postgresql://me:hush@db/x")
            assert done.returncode == 0
            assert "postgresql://me:***@db/x" in done.stdout
            assert "hush" not in done.stdout + done.stderr


def test_what_is_viewed_can_be_written(tmp_path: Path) -> None:
    """`config view -o yaml` is a settings file, and means the same."""
    first = tidegate(tmp_path, "config", "view", "-o", "yaml", TIDEGATE_ACT="a/*,b/*")
    (tmp_path / "tidegate.yaml").write_text(first.stdout, encoding="utf-8")
    again = tidegate(tmp_path, "config", "view", "-o", "yaml")
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    assert json.loads(tidegate(tmp_path, "config", "view", "-o", "json").stdout)["act"] == [
        "a/*",
        "b/*",
    ]


def test_a_wrong_file_stops_a_command_with_its_lines(tmp_path: Path) -> None:
    """Every problem on a line of its own, exit 2."""
    (tmp_path / "tidegate.yaml").write_text("databse: x\nlease: -5s\n", encoding="utf-8")
    done = tidegate(tmp_path, "status")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f'Error: tidegate.yaml:2:8: lease: "-5s": negative; {DURATION_REMEDY}',
        'Error: tidegate.yaml:1:10: databse: unknown field; did you mean "database"?',
    ]


def test_the_journal_of_the_project_file_is_read(tmp_path: Path) -> None:
    """`status` finds the database where the file says, and `--config` names another file."""
    (tmp_path / "tidegate.yaml").write_text("database: nowhere.db\n", encoding="utf-8")
    (tmp_path / "other.yaml").write_text("database: elsewhere.db\n", encoding="utf-8")
    assert "nowhere.db" in tidegate(tmp_path, "status").stderr
    assert "elsewhere.db" in tidegate(tmp_path, "status", "--config", "other.yaml").stderr
