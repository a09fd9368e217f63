"""Questions about upgrades over HTTP: what commands answer from the journal, owner by owner."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.listener import listening, steady_text
from tests.api.stage import Service
from tests.command import tidegate
from tests.managed import example, managed
from tidegate.access.roles import Role

PAY, MAPS = "o-payments", "o-maps"


@pytest.fixture
def surveyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A journal in which two organisations were surveyed once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OCM_SECRET", "simulated")
    credentials = [{"client_id": "tidegate", "client_secret": "simulated"}]
    with managed(example(credentials=credentials)) as manager:
        names = [{"id": each, "environment": "prod"} for each in (PAY, MAPS)]
        document = {"environments": [manager.environment()], "organizations": names}
        Path("upgrades.yaml").write_text(json.dumps(document), encoding="utf-8")
        done = tidegate("run", "--upgrades", "upgrades.yaml", "--once", "--database", "journal.db")
        assert done.returncode == 0, done.stderr
    return Service(tmp_path / "journal.db")


def steady(document: dict[str, Any]) -> dict[str, Any]:
    """A document without the moment it was asked at."""
    return {key: value for key, value in document.items() if key not in ("now", "at", "notes")}


def test_the_journal_answers_as_the_commands_do(surveyed: Service) -> None:
    """Clusters, report, findings, and what other labels would change."""
    client = surveyed.client()
    label = "pay-prod-1/soak-days=9"
    for path, command in (
        ("/clusters", ["get", "clusters"]),
        (f"/clusters?org={PAY}", ["get", "clusters", "--org", PAY]),
        ("/clusters?labelSelector=sector=prod", ["get", "clusters", "-l", "sector=prod"]),
        ("/report", ["upgrades", "report"]),
        ("/lint", ["upgrades", "lint"]),
        ("/plan", ["plan", "upgrades"]),
        (f"/upgrades/upgrades/prod/{PAY}", ["why", f"upgrades/prod/{PAY}"]),
        ("/upgrades/cluster/pay-prod-1", ["why", "cluster/pay-prod-1"]),
        (f"/what-if?set={label}", ["upgrades", "what-if", "--set", label]),
    ):
        said = tidegate(*command, "-o", "json", "--database", "journal.db")
        assert said.stdout, (command, said.stderr)
        answer = client.get(path)
        assert answer.status == 200, answer.text
        assert steady(answer.json) == steady(json.loads(said.stdout)), path


def test_why_asks_the_service_whatever_journal_is_here(
    surveyed: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that lies in the folder is of other fleets; the words are the same as on the journal."""
    token = tmp_path / "token"
    token.write_text(surveyed.client().token)
    part = tmp_path / "part"
    part.write_text(surveyed.client(Role.VIEWER, selector="sector=prod").token)
    names = (f"upgrades/prod/{PAY}", "cluster/pay-prod-1")
    local = [tidegate("why", each, "--database", "journal.db").stdout for each in names]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    Path("tidegate.db").write_bytes(b"no journal")
    with listening(surveyed) as address:
        where = ("--server", address, "--server-token")
        for name, said in zip(names, local, strict=True):
            done = tidegate("why", name, *where, f"file:{token}")
            assert (done.returncode, steady_text(done.stdout)) == (0, steady_text(said)), name
            # A caller that sees a part of it is answered as for any target.
            assert "pay-prod-1" in tidegate("why", name, *where, f"file:{part}").stdout
        lost = tidegate("why", "cluster/pay-prod-9", *where, f"file:{token}")
        assert (lost.returncode, "did you mean" in lost.stderr) == (2, True)


def test_an_owner_sees_the_clusters_of_its_organisation(surveyed: Service) -> None:
    """And nothing of another: not by list, not by name."""
    for limits in (
        {"rollouts": (f"upgrades/prod/{PAY}",)},
        {"organisations": (PAY,)},
        {"organisations": ("o-pay*",), "environments": ("prod",)},
        {"selector": f"org={PAY}"},
    ):
        owner = surveyed.client(Role.VIEWER, **limits)
        found = owner.get("/clusters").json["items"]
        assert found
        assert {each["org"] for each in found} == {PAY}
        assert owner.get(f"/clusters?org={MAPS}").status == 422
        for path in ("/report", "/lint", "/plan", "/soaked", "/upgrades"):
            answer = owner.get(path)
            assert (answer.status, MAPS in answer.text) == (200, False), path
        for path in ("/status", "/rollouts", "/targets", "/verify", "/replay"):
            answer = owner.get(path)
            assert (answer.status, MAPS in answer.text) == (200, False), path
        assert owner.get(f"/why/upgrades/prod/{MAPS}").status == 404
        assert owner.get(f"/when/upgrades/prod/{PAY}").status == 200
    # A part of an organisation has no report of its own, and no dates.
    partial = surveyed.client(Role.VIEWER, selector="sector=prod")
    assert partial.get("/targets").json["items"]
    assert partial.get("/clusters").json["items"] == []
    assert partial.get(f"/when/upgrades/prod/{PAY}").status == 422
    stranger = surveyed.client(Role.VIEWER, kinds=("policies",))
    assert stranger.get("/clusters").json["items"] == []


def test_what_cannot_be_read_is_named(surveyed: Service) -> None:
    """An organisation, a cluster, a label."""
    client = surveyed.client()
    assert client.get("/clusters?org=o-paymnts").status == 422
    assert client.get("/clusters?name=pay-prod-11").status == 404
    assert client.get("/what-if?set=nonsense").status == 422
    assert client.get("/what-if?set=a&set=b").status == 422


COMMANDS = (
    ["get", "clusters"],
    ["get", "clusters", "-l", "sector=prod", "-o", "wide"],
    ["get", "clusters", "--org", PAY, "--mode", "compat"],
    ["get", "clusters", "pay-prod-11"],
    ["upgrades", "report"],
    ["upgrades", "report", "--history"],
    ["upgrades", "lint"],
    ["upgrades", "status"],
    ["upgrades", "what-if", "--set", "pay-prod-1/soak-days=9", "--apply-time", "2h"],
    ["upgrades", "what-if", "--set", "nonsense"],
    ["plan", "upgrades", "--mode", "both"],
)


def test_commands_about_clusters_ask_a_service(
    surveyed: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same output, errors and exit codes as on the journal of that service."""
    monkeypatch.chdir(tmp_path)
    Path("token").write_text(surveyed.client().token)
    with listening(surveyed) as address:
        server = ["--server", address, "--server-token", "file:token"]
        for words in COMMANDS:
            local = tidegate(*words, "--database", "journal.db")
            remote = tidegate(*words, *server)
            assert steady_text(remote.stdout) == steady_text(local.stdout), words
            assert steady_text(remote.stderr) == steady_text(local.stderr), words
            assert remote.returncode == local.returncode, words
        both = tidegate("get", "clusters", "--world", "world.json", *server)
        assert both.returncode == 2
        assert "--world and --server cannot be combined" in both.stderr
