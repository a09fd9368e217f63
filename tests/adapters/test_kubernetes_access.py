"""How a kubeconfig is read: as kubectl does, and never past what it asks of us."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tidegate.kubernetes.client.access import ClusterAccess, contexts, read_access
from tidegate.model.errors import UserError


def kubeconfig(
    path: Path,
    *,
    name: str = "prod",
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    current: str = "prod",
) -> str:
    """A kubeconfig with one context; its path."""
    document = {
        "current-context": current,
        "clusters": [
            {"name": name, "cluster": {"server": f"https://{name}:6443"} | (cluster or {})}
        ],
        "users": [{"name": "me", "user": {"token": name} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me", "namespace": "ns"}}],
    }
    path.write_text(json.dumps(document))
    return str(path)


def test_the_current_context_is_taken_or_the_one_that_was_named(tmp_path: Path) -> None:
    """Of several files the first that says something counts."""
    one = kubeconfig(tmp_path / "one")
    two = kubeconfig(tmp_path / "two", name="stage", current="stage")
    both = {"KUBECONFIG": f"{one}:{two}:{tmp_path / 'none'}"}
    assert contexts(environ=both) == ["prod", "stage"]
    prod = read_access(environ=both)
    assert (prod.name, prod.server, prod.namespace) == ("prod", "https://prod:6443", "ns")
    stage = read_access("stage", environ=both)
    assert stage.server == "https://stage:6443"
    assert stage.token == "prod", "both call their user me, and the first counts"
    assert read_access("stage", two, both).token == "stage"


def test_certificates_come_from_the_text_or_the_file_beside_it(tmp_path: Path) -> None:
    """Paths are relative to the kubeconfig they stand in."""
    (tmp_path / "ca.crt").write_text("CA")
    data = base64.b64encode(b"CERT").decode()
    user = {"client-certificate-data": data, "client-key": "my.key"}
    (tmp_path / "my.key").write_text("KEY")
    path = kubeconfig(tmp_path / "config", user=user, cluster={"certificate-authority": "ca.crt"})
    access = read_access(files=path)
    assert (access.ca, access.certificate, access.key) == ("CA", "CERT", "KEY")
    assert access.verify
    later = kubeconfig(tmp_path / "later", user={"tokenFile": "token"})
    assert read_access(files=later).token_file == str(tmp_path / "token")


@pytest.mark.parametrize(
    "login",
    [
        {"exec": {"command": "aws"}},
        {"auth-provider": {"name": "gcp"}},
        {"username": "ada", "password": "x"},
        {"token": "t", "as": "root"},
    ],
    ids=["exec", "auth-provider", "username", "as"],
)
def test_a_login_that_is_not_done_is_refused_by_name(tmp_path: Path, login: dict[str, Any]) -> None:
    """Never passed over: another account changes the wrong things."""
    path = kubeconfig(tmp_path / "config", user=login)
    what = next(key for key in login if key not in ("token", "password"))
    with pytest.raises(UserError, match=f'user "me" has {what}: .*; use a token'):
        read_access(files=path)


def test_a_mistake_is_reported_with_its_place_and_the_nearest_name(tmp_path: Path) -> None:
    """Where, what, and what to write instead."""
    path = kubeconfig(tmp_path / "config")
    with pytest.raises(UserError, match='no context is called "prdo"; did you mean "prod"'):
        read_access("prdo", path)
    with pytest.raises(UserError, match="no kubeconfig there; set KUBECONFIG"):
        read_access(environ={"HOME": str(tmp_path)})
    half = kubeconfig(tmp_path / "half", user={"client-key-data": "aGk="})
    with pytest.raises(UserError, match='user "me" has no client-certificate; give both'):
        read_access(files=half)
    bad = tmp_path / "bad"
    bad.write_text("a: [\n")
    with pytest.raises(UserError, match=r"bad:2: not YAML"):
        read_access(files=str(bad))
    lost = kubeconfig(tmp_path / "lost", cluster={"certificate-authority": "nowhere.crt"})
    with pytest.raises(UserError, match=r"nowhere\.crt cannot be read: No such file"):
        read_access(files=lost)
    garbled = kubeconfig(tmp_path / "garbled", user={"client-key-data": "%%%"})
    with pytest.raises(UserError, match="client-key-data is no base64"):
        read_access(files=garbled)
    bare = kubeconfig(tmp_path / "bare", cluster={"server": "prod:6443"})
    with pytest.raises(UserError, match='server "prod:6443" is no address; write https'):
        read_access(files=bare)


def test_in_cluster_needs_a_pod() -> None:
    """Asked for by name where there is none, it says so."""
    with pytest.raises(UserError, match="this is no pod"):
        read_access("in-cluster", environ={})


def test_an_access_shows_no_secret() -> None:
    """Not in a log, not in a traceback."""
    access = ClusterAccess("c", "https://c", token="s3cret", key="s3cret", certificate="x")
    assert "s3cret" not in repr(access)
    assert "s3cret" not in str(access)
