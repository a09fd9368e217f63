"""Commands of owners at a service: labels are requested there, and read as it has them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.listener import listening
from tests.api.test_label_requests import OTHER, OWN, Served
from tests.command import tidegate
from tidegate.access.roles import Role


class Asked:
    """Commands that ask a service, as an operator of one organisation."""

    def __init__(self, served: Served, address: str) -> None:
        self.served = served
        self.server = ("--server", address, "--server-token", "file:token")
        self.caller(organisations=("o",))

    def caller(self, role: Role = Role.OPERATOR, **limits: object) -> None:
        """Who asks."""
        Path("token").write_text(self.served.client(role, **limits).token, encoding="utf-8")

    def run(self, *words: str) -> Any:
        """What a command does."""
        return tidegate("upgrades", *words, *self.server)

    def does(self, *words: str) -> str:
        """The same, which works; what it prints as data."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """A service that listens."""
    monkeypatch.chdir(tmp_path)
    served = Served(tmp_path)
    with listening(served.service) as address:
        yield Asked(served, address)


def test_a_policy_is_requested_and_written(asked: Asked) -> None:
    """The same diff as with a token, then the request; and what is declared, before and after."""
    words = ("policy", "set", "a", "--soak-days", "5", "--mutexes", "m", "--reason", "slower")
    dry = asked.run(*words, "--dry-run")
    assert dry.stdout.splitlines() == [
        "cluster/a  mutexes    - → m",
        "cluster/a  soak-days  2 → 5",
    ]
    assert "dry run: nothing was written" in dry.stderr
    done = asked.run(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == dry.stdout
    assert "requested: r" in done.stderr
    assert f"`tidegate show {OWN}` follows it" in done.stderr
    again = asked.run(*words)
    assert "nothing to change" in again.stderr
    assert "is requested already: mutexes - → m, soak-days 2 → 5" in again.stderr
    asked.served.round()
    assert asked.served.labels("a-sub")["soak-days"] == "5"
    assert "soak_days: 5" in asked.does("policy", "get", "a", "-o", "yaml")
    assert "5" in asked.does("policy", "get")


def test_a_reason_is_needed(asked: Asked) -> None:
    """As for every write of a service; a dry run needs none."""
    done = asked.run("policy", "set", "a", "--soak-days", "5")
    assert (done.returncode, "reason: is empty" in done.stderr) == (2, True)
    assert asked.run("policy", "set", "a", "--soak-days", "5", "--dry-run").returncode == 0


def test_a_file_that_get_printed_is_requested(asked: Asked) -> None:
    """Unchanged it changes nothing; with an edit, that."""
    for noun, before, after in (
        ("policy", "soak_days: 2", "soak_days: 4"),
        ("sectors", "- stage", "- stage\n  - canary"),
        ("version-blocks", r"^4\.17\.1$", r"^4\.17\.2$"),
        ("inheritance", "- q", "- r"),
    ):
        text = asked.does(noun, "get", "-o", "yaml")
        assert before in text, (noun, text)
        Path("file.yaml").write_text(text, encoding="utf-8")
        same = asked.run(noun, "set", "-f", "file.yaml", "--reason", "x")
        assert (same.returncode, "nothing to change" in same.stderr) == (0, True), same.stderr
        Path("file.yaml").write_text(text.replace(before, after), encoding="utf-8")
        done = asked.run(noun, "set", "-f", "file.yaml", "--reason", "x")
        assert (done.returncode, "requested: r" in done.stderr) == (0, True), (noun, done.stderr)
    asked.served.round()
    assert asked.served.labels("a-sub")["soak-days"] == "4"
    assert asked.served.labels("o", "organizations") == {
        "sector-deps.prod": "stage,canary",
        "sector-deps.stage": "",
        "version-data.inherit": "r",
        "blocked-versions": r"^4\.17\.2$",
    }


def test_every_writing_command_requests(asked: Asked) -> None:
    """With its own flags."""
    because = ("--reason", "x")
    asked.does("sectors", "set", "prod", "--add-dependency", "dev", "--max-parallel", "1", *because)
    asked.does("version-blocks", "add", "^4[.]18", *because)
    asked.does("version-blocks", "remove", r"^4\.17\.1$", *because)
    asked.does("inheritance", "add", "--publish", "p", *because)
    asked.does("inheritance", "remove", "--inherit", "q", *because)
    asked.does("gates", "approve", "ocp", "sts", *because)
    asked.does("policy", "remove", "b", *because)
    asked.served.round()
    assert asked.served.labels("o", "organizations") == {
        "sector-deps.prod": "stage,dev",
        "sector-deps.stage": "",
        "sector-max-parallel-upgrades.prod": "1",
        "blocked-versions": "^4[.]18",
        "version-data.publish": "p",
        "version-gate-approvals": "api.openshift.com/gate-ocp,api.openshift.com/gate-sts",
    }
    assert asked.served.labels("b-sub") == {}
    asked.does("version-blocks", "set", "--nothing", *because)
    asked.does("gates", "approve", "--unsaid", *because)
    asked.served.round()
    assert "blocked-versions" not in asked.served.labels("o", "organizations")


def test_an_organisation_is_named_where_several_are_seen(asked: Asked) -> None:
    """By its id, with or without its environment."""
    asked.caller()
    several = asked.run("policy", "get")
    assert (several.returncode, "--org: several are seen" in several.stderr) == (2, True)
    for org in ("p", "prod/p", OTHER):
        assert "c " in asked.does("policy", "get", "--org", org)
    wrong = asked.run("policy", "get", "--org", "x")
    assert (wrong.returncode, 'no organisation "x"' in wrong.stderr) == (2, True)


def test_a_source_beside_a_service_is_a_mistake(asked: Asked) -> None:
    """A token is for OpenShift Cluster Manager; and what a viewer may not do is said."""
    both = asked.run("policy", "get", "--token", "env:OCM_TOKEN")
    assert (both.returncode, "--token and --server cannot be combined" in both.stderr) == (2, True)
    asked.caller(Role.VIEWER)
    done = asked.run("policy", "set", "a", "--soak-days", "5", "--org", "o", "--reason", "x")
    assert (done.returncode, "needs the role operator" in done.stderr) == (4, True)


def test_what_waits_says_why_and_can_be_withdrawn(asked: Asked) -> None:
    """No worker is running; then it is not wanted any more."""
    done = asked.run("policy", "set", "a", "--soak-days", "5", "--reason", "x")
    assert done.stderr.count("no worker is running") == 1
    ident = done.stderr.partition("requested: ")[2].partition(";")[0]
    shown = tidegate("show", OWN, *asked.server)
    assert (ident in shown.stdout, "soak-days 2 → 5" in shown.stdout) == (True, True)
    assert "soak-days 2 → 5" in tidegate("why", "a", *asked.server).stdout
    gone = tidegate("withdraw", OWN, ident, "--reason", "no", *asked.server)
    assert (gone.returncode, f"withdrew {ident}" in gone.stdout) == (0, True), gone.stderr
    assert not json.loads(tidegate("show", OWN, "-o", "json", *asked.server).stdout)["requests"]
