"""The API of `tidegate serve` as a process: the first token, TLS, probes apart, streams on TERM."""

import http.client
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_serve import serving
from tests.command import tidegate
from tests.patience import PATIENCE_S
from tests.real.certificates import Authority
from tests.sim import IN_CI


def test_the_first_start_writes_a_token_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For its owner alone; the second start makes none, and commands ask the service by it."""
    file = tmp_path / "tidegate.db.admin-token"
    with serving(tmp_path) as served:
        served.until("decision")
        assert file.stat().st_mode & 0o777 == 0o600
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "mine"))
        done = tidegate("login", f"http://{served.address}", "--token-file", str(file))
        assert "token:admin (admin)" in done.stdout, done.stderr
        assert "simulated/demo" in tidegate("get", "rollouts").stdout
        held = tidegate("hold", "add", "x", "--everything", "--reason", "a test", "--yes")
        assert held.returncode == 0, held.stderr
        assert "binds 1 worker" in held.stdout or "worker" in held.stdout
        held_at = served.until("decision", gate="hold")
        assert held_at["reason"] == "Held"
        code, _ = served.get("/api/v1/status")
        assert code == 401
        assert served.until("refused", status=401)["level"] == "warning"
        assert served.stop() == 0
    first = file.read_text(encoding="utf-8")
    with serving(tmp_path) as served:
        served.until("serving")
        assert served.stop() == 0
    assert file.read_text(encoding="utf-8") == first
    assert not [line for line in served.lines if line.get("what") == "token"]
    listed = tidegate("token", "list", "--database", str(tmp_path / "tidegate.db"))
    assert listed.stdout.count("admin") >= 1
    assert first.strip() not in listed.stdout


def test_a_token_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    """It may be the token of another journal."""
    (tmp_path / "tidegate.db.admin-token").write_text("of another", encoding="utf-8")
    done = tidegate("serve", "--listen", "127.0.0.1:0", cwd=tmp_path)
    assert done.returncode == 1
    assert "remove the file" in done.stderr


def test_probes_have_a_listener_of_their_own(tmp_path: Path) -> None:
    """There is no API there."""
    with serving(tmp_path, "--probes", "127.0.0.1:0") as served:
        served.address = served.until("serving")["probes"]
        assert served.get("/livez")[0] == 200
        assert served.get("/metrics")[0] == 200
        assert served.get("/api/v1/status")[0] == 404
        assert served.get("/openapi.json")[0] == 404


def test_streams_end_on_term(tmp_path: Path) -> None:
    """They are ended, and not cut off when the process ends."""
    with serving(tmp_path) as served:
        served.until("decision")
        token = (tmp_path / "tidegate.db.admin-token").read_text(encoding="utf-8").strip()
        streams = []
        for _ in range(3):
            one = http.client.HTTPConnection(served.address, timeout=PATIENCE_S)
            one.request("GET", "/api/v1/changes", headers={"Authorization": f"Bearer {token}"})
            answer = one.getresponse()
            assert answer.status == 200
            assert answer.readline() == b"event: reset\n"
            streams.append((one, answer))
        assert served.stop() == 0
        for one, answer in streams:
            answer.read()  # it ends whole, and is not cut off
            one.close()


@pytest.mark.skipif(shutil.which("openssl") is None and not IN_CI, reason="no openssl here")
def test_it_serves_with_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without one only where none is set; probes stay plain on a listener of their own.

    A login names the authority, and every command after it trusts it, too.
    """
    authority = Authority(tmp_path)
    made = authority.issue("api", serves=True)
    flags = ("--tls-certificate", str(made.certificate), "--tls-key", str(made.key))
    with serving(tmp_path, *flags, "--probes", "127.0.0.1:0") as served:
        trusted = authority.trusting()
        host, _, port = served.address.rpartition(":")
        one = http.client.HTTPSConnection(host, int(port), context=trusted, timeout=PATIENCE_S)
        one.request("GET", "/openapi.json")
        assert json.loads(one.getresponse().read())["openapi"] == "3.1.0"
        one.close()
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "mine"))
        login = (
            "login",
            f"https://{served.address}",
            "--token-file",
            str(tmp_path / "tidegate.db.admin-token"),
        )
        refused = tidegate(*login)
        assert (refused.returncode, "--ca-file ca.pem" in refused.stderr) == (1, True), (
            refused.stderr
        )
        done = tidegate(*login, "--ca-file", str(authority.certificate))
        assert done.returncode == 0, done.stderr
        assert "simulated/demo" in tidegate("get", "rollouts").stdout
        served.address = served.until("serving")["probes"]
        assert served.get("/livez")[0] == 200


@pytest.mark.parametrize(
    "flags, said",
    [
        (["--tls-key", "key.pem"], "go together"),
        (["--tls-certificate", "none.pem", "--tls-key", "key.pem"], "no certificate"),
        (["--access-policy", "policy.yaml"], 'did you mean "viewer"?'),
    ],
)
def test_a_mistake_ends_it_before_it_serves(flags: list[str], said: str, tmp_path: Path) -> None:
    """What, where, and what to write instead."""
    (tmp_path / "policy.yaml").write_text("grants:\n- {role: viewr, subjects: ['user:a']}\n")
    done = tidegate("serve", "--listen", "127.0.0.1:0", *flags, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert not (tmp_path / "tidegate.db").exists()
