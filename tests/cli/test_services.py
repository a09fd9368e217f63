"""Which commands speak to a service: all, but those that say why they cannot."""

import shlex
from pathlib import Path

import pytest

from tests.cli.test_questions import generate
from tests.command import tidegate
from tidegate.cli.answers.local_table import LOCAL

COMMANDS = generate().commands()
# Those that copy or change a journal as a whole.
WHOLE = (
    "journal export",
    "journal import README.md",
    "journal backup copy.db",
    "journal compact",
    "upgrades soak import README.md --reason x",
)


def test_every_command_asks_a_service_or_says_why_not() -> None:
    """Found by walking all commands: one that is new is in the table, or takes --server."""
    asks = {
        name
        for name, command in COMMANDS.items()
        if any("--server" in each.opts for each in command.params)
    }
    assert asks | set(LOCAL) == set(COMMANDS)
    assert not asks & set(LOCAL)


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_a_command_that_asks_no_service_refuses_one_with_the_reason(name: str) -> None:
    """Not as a typing error."""
    done = tidegate(*shlex.split(name), "--server", "http://127.0.0.1:9")
    assert done.returncode == 2, done.stdout
    assert "asks no service" in done.stderr
    assert LOCAL[name] in " ".join(done.stderr.split())


def test_a_former_spelling_refuses_it_alike() -> None:
    """`tidegate soak import` is `tidegate upgrades soak import`."""
    done = tidegate("soak", "import", "--server", "http://127.0.0.1:9")
    assert LOCAL["upgrades soak import"] in " ".join(done.stderr.split())


@pytest.mark.parametrize("line", WHOLE)
def test_a_person_who_is_logged_in_is_not_given_another_journal(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal there is meant: the command does not act on one that happens to be here."""
    (tmp_path / "README.md").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDEGATE_SERVER", "https://tidegate.example")
    monkeypatch.setenv("TIDEGATE_SERVER_TOKEN", "env:TOKEN")
    monkeypatch.setenv("TOKEN", "tidegate_x")
    done = tidegate(*shlex.split(line))
    assert done.returncode == 2, done.stdout
    assert "you are logged in to https://tidegate.example" in done.stderr
    assert "name the journal: --database" in done.stderr
    monkeypatch.delenv("TIDEGATE_SERVER")
    named = tidegate(*shlex.split(line), "--database", "here.db")
    assert "logged in" not in named.stderr
