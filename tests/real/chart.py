"""The chart, rendered by a real helm, and its objects on a real API server."""

import json
import subprocess
import urllib.error
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.real import built
from tests.real.kube import ControlPlane
from tests.real.wheels import ROOT

CHART = ROOT / "deploy/chart"
# Values that people have; the empty name is the chart's own.
EXAMPLES = ("", *sorted(path.name for path in (CHART / "ci").glob("*.yaml")))
RELEASE = "gate"
Document = dict[str, Any]


@cache
def needed_helm() -> Path:
    """The program; where it is missing, the test fails or is skipped, and says why."""
    return built("helm", "helm", "HELM_ASSETS") / "helm"


def helm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """What helm says, well or not."""
    command = [str(needed_helm()), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def values_of(example: str) -> tuple[str | Path, ...]:
    """The arguments that choose the values of an example."""
    return ("--values", CHART / "ci" / example) if example else ()


def rendered(
    *words: str | Path, chart: Path = CHART, namespace: str = "tidegate"
) -> list[Document]:
    """The objects of the chart with some values."""
    done = helm("template", RELEASE, chart, "--namespace", namespace, *words)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def one(documents: list[Document], kind: str, name: str = "") -> Document:
    """The object of a kind, and of a name where there are several."""
    found = [e for e in documents if e["kind"] == kind and name in ("", e["metadata"]["name"])]
    assert len(found) == 1, (kind, name, [each["metadata"]["name"] for each in found])
    return found[0]


_PLURALS = {"NetworkPolicy": "networkpolicies"}
_CLUSTERS_OWN = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}


def path_of(document: Document, namespace: str) -> str:
    """Where objects of its kind are, on an API server."""
    version, kind = document["apiVersion"], document["kind"]
    plural = _PLURALS.get(kind, f"{kind.lower()}s")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if kind in _CLUSTERS_OWN:
        return f"{root}/{plural}"
    return f"{root}/namespaces/{document['metadata'].get('namespace', namespace)}/{plural}"


def refusal(plane: ControlPlane, path: str, document: Document) -> str:
    """What the server says against an object; empty: it takes it."""
    try:
        plane.ask("POST", path, document)
    except urllib.error.HTTPError as error:
        with error:
            told: Document = json.load(error)
        return str(told["message"])
    return ""


def grant(plane: ControlPlane, documents: list[Document], namespace: str) -> None:
    """Have the accounts and the rights of the chart, and nothing else of it."""
    kinds = ("ServiceAccount", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    for each in documents:
        if each["kind"] in kinds:
            told = refusal(plane, path_of(each, namespace), each)
            assert told == "", told


def token_of(plane: ControlPlane, namespace: str, account: str) -> str:
    """A token of a service account, as a pod of it has one."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made: Document = plane.ask("POST", path, body)
    token: str = made["status"]["token"]
    return token
