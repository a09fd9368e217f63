"""A real Open Cluster Management hub on this machine, with real managed clusters.

On the hub run the placement controller and the policy propagator; each managed cluster is a control
plane of its own, on which the framework add-on and the configuration policy controller run. There
is no registration: a ManagedCluster and its conditions are written here, as its agent would.
"""

import subprocess
import time
import urllib.error
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from tests.real import absent
from tests.real.kube import ROOT, START_TIMEOUT_S, ControlPlane, Kubernetes, Process
from tests.real.prometheus import free_port

CLUSTERS = "/apis/cluster.open-cluster-management.io/v1"
SETS = "/apis/cluster.open-cluster-management.io/v1beta2"
PLACEMENTS = "/apis/cluster.open-cluster-management.io/v1beta1"
POLICIES = "/apis/policy.open-cluster-management.io/v1"
ROLLOUTS = "/apis/tidegate.dev/v1alpha1"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SET_LABEL = "cluster.open-cluster-management.io/clusterset"


def found() -> Path | None:
    """The folder of the programs, if they are on this machine."""
    look = ["bash", str(ROOT / "dev/hub/build"), "look"]
    looked = subprocess.run(look, capture_output=True, text=True, check=False)
    return Path(looked.stdout.strip()) if looked.returncode == 0 else None


def needed_programs() -> Path:
    """The same; where they are missing, the test fails or is skipped."""
    programs = found()
    how = "`make e2e` builds one (dev/hub/build), or set OCM_HUB_ASSETS"
    if programs is None:
        absent("Open Cluster Management hub", how)
    return programs


def until(ready: Callable[[], bool], what: str, seconds: float = START_TIMEOUT_S) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, f"not in {seconds:g} s: {what}"
        time.sleep(0.1)


class Managed:
    """A managed cluster: its control plane, and the programs that bring policies to it."""

    def __init__(self, name: str, plane: ControlPlane, agents: list[Process]) -> None:
        self.name = name
        self.plane = plane
        self.agents = agents


class Hub:
    """The hub, and the clusters it manages."""

    def __init__(self, kubernetes: Kubernetes, programs: Path) -> None:
        self._kubernetes = kubernetes
        self._programs = programs
        self.plane = kubernetes.plane("hub")
        kubernetes.controllers(self.plane)
        self._define(self.plane, programs / "crds/hub")
        # The registration controller would make it.
        self.declare_set("default")
        credentials = str(self.plane.kubeconfig())
        self.placement = kubernetes.program(
            "placement",
            [
                str(programs / "placement"),
                f"--kubeconfig={credentials}",
                "--namespace=default",
                "--disable-leader-election",
                f"--listen=127.0.0.1:{free_port()}",
            ],
        )
        self.propagator = kubernetes.program(
            "propagator",
            [
                str(programs / "propagator"),
                "--leader-elect=false",
                "--enable-webhooks=false",
                *_listening(),
            ],
            WATCH_NAMESPACE="",
            KUBECONFIG=credentials,
        )
        self.clusters: dict[str, Managed] = {}

    @property
    def programs(self) -> list[Process]:
        """What runs on the hub, and on clusters beside their control planes."""
        agents = [agent for each in self.clusters.values() for agent in each.agents]
        controllers = self.plane.controllers
        own = [self.placement, self.propagator, *agents]
        return own if controllers is None else [controllers, *own]

    def manage(self, name: str, *, cluster_set: str = "default", **labels: str) -> Managed:
        """A real managed cluster."""
        self.declare(name, cluster_set=cluster_set, **labels)
        plane = self._kubernetes.plane(name)
        self._kubernetes.controllers(plane)
        self._define(plane, self._programs / "crds/managed")
        plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        credentials, hub = str(plane.kubeconfig()), str(self.plane.kubeconfig())
        addon = self._kubernetes.program(
            f"{name}-framework",
            [
                str(self._programs / "framework-addon"),
                f"--hub-cluster-configfile={hub}",
                f"--managed-cluster-configfile={credentials}",
                f"--cluster-namespace={name}",
                "--leader-elect=false",
                "--disable-gatekeeper-sync",
                *_listening(),
            ],
            OSDK_FORCE_RUN_MODE="local",
        )
        controller = self._kubernetes.program(
            f"{name}-controller",
            [
                str(self._programs / "config-policy-controller"),
                "controller",
                f"--cluster-name={name}",
                "--leader-elect=false",
                *_listening(),
            ],
            WATCH_NAMESPACE=name,
            KUBECONFIG=credentials,
        )
        found = self.clusters[name] = Managed(name, plane, [addon, controller])
        return found

    def declare(self, name: str, *, cluster_set: str = "default", **labels: str) -> None:
        """A managed cluster by name: it has joined and is available, as its agent would say."""
        body: dict[str, Any] = {
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": {_SET_LABEL: cluster_set, **labels}},
            "spec": {"hubAcceptsClient": True},
        }
        made: dict[str, Any] = self.plane.ask("POST", f"{CLUSTERS}/managedclusters", body)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        made["status"] = {
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": kind,
                    "message": kind,
                    "lastTransitionTime": now,
                }
                for kind in (
                    "HubAcceptedManagedCluster",
                    "ManagedClusterJoined",
                    "ManagedClusterConditionAvailable",
                )
            ]
        }
        self.plane.ask("PUT", f"{CLUSTERS}/managedclusters/{name}/status", made)
        self.plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def declare_set(self, name: str, **spec: Any) -> None:
        """A set of managed clusters; without a selector those that a label names it in."""
        document = {
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            **({"spec": spec} if spec else {}),
        }
        self.plane.ask("POST", f"{SETS}/managedclustersets", document)

    def replicated(self, cluster: str, namespace: str, policy: str) -> dict[str, Any]:
        """The replicated policy of a cluster; empty: there is none."""
        found = self.plane.ask("GET", f"{POLICIES}/namespaces/{cluster}/policies")
        named = f"{namespace}.{policy}"
        items: Any = found["items"]
        return next((each for each in items if each["metadata"]["name"] == named), {})

    def define(self, text: str) -> None:
        """Define another kind of object on the hub, once."""
        try:
            name = _post_definition(self.plane, text)
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
            error.close()
            return
        until(partial(_is_established, self.plane, name), f"{name} is established")

    @staticmethod
    def _define(plane: ControlPlane, folder: Path) -> None:
        texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml")))
        for name in [_post_definition(plane, each) for each in texts]:
            until(partial(_is_established, plane, name), f"{name} is established")


def _post_definition(plane: ControlPlane, text: str) -> str:
    document = yaml.safe_load(text)
    plane.ask("POST", _DEFINITIONS, document)
    name: str = document["metadata"]["name"]
    return name


def _is_established(plane: ControlPlane, name: str) -> bool:
    found: Any = plane.ask("GET", f"{_DEFINITIONS}/{name}")
    conditions = found.get("status", {}).get("conditions") or ()
    return any(e["type"] == "Established" and e["status"] == "True" for e in conditions)


def _listening() -> tuple[str, str]:
    return (
        f"--metrics-bind-address=127.0.0.1:{free_port()}",
        f"--health-probe-bind-address=127.0.0.1:{free_port()}",
    )
