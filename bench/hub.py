"""A hub to measure on: real API server, placement, propagator and work manager, simulated agents.

Tidegate is a user of its own, and the server's audit log has each of its requests with its time: so
calls are counted, and its latency is measured, without a word of its own.
"""

import asyncio
import base64
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.policies import body, spec, template
from tests.real.hub import CLUSTERS, PLACEMENTS, POLICIES, SETS, Hub
from tests.real.kube import ControlPlane, Kubernetes
from tests.real.prometheus import free_port
from tidegate.kubernetes.client.server import ApiServer, ServerLimits
from tidegate.model.errors import OutsideError

USER = "tidegate"
CONDITIONS = (
    "HubAcceptedManagedCluster",
    "ManagedClusterJoined",
    "ManagedClusterConditionAvailable",
)
# One for each kind of object that is looked at; ConfigMaps are watched twice.
WATCHES = 9
PATIENCE_S = 400.0
ROLLOUTS = "/apis/tidegate.dev/v1alpha1"
WORKS = "/apis/work.open-cluster-management.io/v1alpha1"
_AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [USER]}, {"level": "None"}],
}
_POLICY, _CLUSTER = "policy.open-cluster-management.io", "cluster.open-cluster-management.io"
_ASKING = ServerLimits(concurrency_max=24, rate_max=10_000)


class Call(msgspec.Struct, frozen=True, gc=False):
    """One request of Tidegate, as the server has it; Unix time."""

    verb: str
    resource: str
    name: str
    begun_s: float
    ended_s: float


class HubBench:
    """The hub and what people write to it."""

    def __init__(self, servers: Kubernetes, programs: Path, folder: Path) -> None:
        policy, self._audit = folder / "audit.yaml", folder / "audit.log"
        policy.write_text(yaml.safe_dump(_AUDIT))
        self.plane = servers.plane(
            "hub",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self._audit}",
            # More than a section writes: a second file would be missed.
            "--audit-log-maxsize=4096",
            # Two cores: with the default, the lists of one client make the others wait.
            "--max-requests-inflight=800",
        )
        self.hub = Hub(servers, programs)
        self.works = servers.program(
            "work-manager",
            [
                str(programs / "work-manager"),
                f"--kubeconfig={self.plane.kubeconfig()}",
                "--namespace=default",
                "--disable-leader-election",
                "--feature-gates=ManifestWorkReplicaSet=true",
                f"--listen=127.0.0.1:{free_port()}",
            ],
        )
        self.kubeconfig = _kubeconfig(self.plane)
        self._server = ApiServer(self.plane.access(), _ASKING)
        self._clusters: set[str] = set()

    async def ask(self, method: str, path: str, document: object = None) -> dict[str, Any]:
        """A request of a person's."""
        data = None if document is None else msgspec.json.encode(document)
        merge = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = await self._server.ask(method, path, path, body=data, content_type=merge)
        found: dict[str, Any] = msgspec.json.decode(answer.body)
        return found

    async def own(self, path: str, owners: list[dict[str, Any]]) -> None:
        """Have the server's record of owners say this."""
        patch = [{"op": "replace", "path": "/metadata/managedFields", "value": owners}]
        data, kind = msgspec.json.encode(patch), "application/json-patch+json"
        await self._server.ask("PATCH", path, path, body=data, content_type=kind)

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    async def define(self) -> None:
        """Have our definition served."""
        crd = await asyncio.to_thread(_tidegate, "policies", "crd")
        where = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await self.ask("POST", where, yaml.safe_load(crd))
        for _ in range(600):
            try:
                await self.ask("GET", f"{ROLLOUTS}/rollouts")
                return
            except OutsideError:
                await asyncio.sleep(0.1)
        raise AssertionError("our definition is not served")

    async def declare(self, clusters: Mapping[str, Mapping[str, str]]) -> None:
        """Clusters with labels: they have joined and are available."""
        await asyncio.gather(*(self._declare(*each) for each in clusters.items()))

    async def _declare(self, name: str, labels: Mapping[str, str]) -> None:
        where = f"{CLUSTERS}/managedclusters"
        if name in self._clusters:
            await self.ask("PATCH", f"{where}/{name}", {"metadata": {"labels": dict(labels)}})
            return
        self._clusters.add(name)
        metadata = {"name": name, "labels": {f"{_CLUSTER}/clusterset": "default", **labels}}
        document = {
            "apiVersion": f"{_CLUSTER}/v1",
            "kind": "ManagedCluster",
            "metadata": metadata,
            "spec": {"hubAcceptsClient": True},
        }
        await self.ask("POST", where, document)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        stated = {"status": "True", "message": "", "lastTransitionTime": now}
        conditions = [{"type": each, "reason": each, **stated} for each in CONDITIONS]
        status = {"status": {"conditions": conditions}}
        await self.ask("PATCH", f"{where}/{name}/status", status)
        await self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    async def place(self, namespace: str, label: str, groups: Iterable[str]) -> None:
        """A namespace with a placement of all clusters that have a label, grouped by its value."""
        await self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        binding = {
            "apiVersion": f"{_CLUSTER}/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "default"},
            "spec": {"clusterSet": "default"},
        }
        sets = f"{SETS}/namespaces/{namespace}/managedclustersetbindings"
        await self.ask("POST", sets, binding)
        exists = {"matchExpressions": [{"key": label, "operator": "Exists"}]}
        wanted = [
            {
                "groupName": each,
                "groupClusterSelector": {"labelSelector": {"matchLabels": {label: each}}},
            }
            for each in groups
        ]
        placement = {
            "apiVersion": f"{_CLUSTER}/v1beta1",
            "kind": "Placement",
            "metadata": {"name": "fleet"},
            "spec": {
                "predicates": [{"requiredClusterSelector": {"labelSelector": exists}}],
                "decisionStrategy": {"groupStrategy": {"decisionGroups": wanted}},
            },
        }
        await self.ask("POST", f"{PLACEMENTS}/namespaces/{namespace}/placements", placement)

    async def bind(
        self,
        namespace: str,
        policy: str,
        placement: str = "fleet",
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Bind a policy to a placement."""
        document = {
            "apiVersion": f"{_POLICY}/v1",
            "kind": "PlacementBinding",
            "metadata": {"name": policy, "annotations": dict(notes or {})},
            "placementRef": {"apiGroup": _CLUSTER, "kind": "Placement", "name": placement},
            "subjects": [{"apiGroup": _POLICY, "kind": "Policy", "name": policy}],
        }
        await self.ask("POST", f"{POLICIES}/namespaces/{namespace}/placementbindings", document)

    async def roll_out(self, namespace: str, policy: str, source: str) -> None:
        """Declare a rollout of a policy, group after group."""
        fields = {
            "policy": policy,
            "source": {"namespace": source},
            "rolloutStrategy": {"type": "ProgressivePerGroup", "progressivePerGroup": {}},
        }
        head = {"apiVersion": "tidegate.dev/v1alpha1", "kind": "Rollout"}
        document = {**head, "metadata": {"name": policy}, "spec": fields}
        await self.ask("POST", f"{ROLLOUTS}/namespaces/{namespace}/rollouts", document)

    async def write_policy(self, namespace: str, policy: str, value: str, verb: str) -> None:
        """Write (POST) a policy, or another revision of it (PATCH)."""
        where = f"{POLICIES}/namespaces/{namespace}/policies"
        head = {"apiVersion": f"{_POLICY}/v1", "kind": "Policy", "metadata": {"name": policy}}
        document = {**head, "spec": policy_spec(policy, value)}
        await self.ask(verb, where if verb == "POST" else f"{where}/{policy}", document)

    async def write_works(self, namespace: str, value: str, verb: str) -> None:
        """Write (POST) a ManifestWorkReplicaSet, or another revision of it (PATCH)."""
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "web", "namespace": "default"},
            "data": {"value": value},
        }
        strategy = {"type": "ProgressivePerGroup", "progressivePerGroup": {}}
        document = {
            "apiVersion": "work.open-cluster-management.io/v1alpha1",
            "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": "web"},
            "spec": {
                "manifestWorkTemplate": {"workload": {"manifests": [manifest]}},
                "placementRefs": [{"name": "fleet", "rolloutStrategy": strategy}],
            },
        }
        where = f"{WORKS}/namespaces/{namespace}/manifestworkreplicasets"
        await self.ask(verb, where if verb == "POST" else f"{where}/web", document)

    def audited(self) -> int:
        """Where the audit log ends now."""
        return self._audit.stat().st_size if self._audit.exists() else 0

    def calls(self, after: int = 0) -> list[Call]:
        """The requests of Tidegate after a place of the log, without watches."""
        return [_call(each) for each in self._lines(after) if each["verb"] != "watch"]

    async def watched(self, after: int) -> None:
        """Until a worker that began after a place of the log follows everything it looks at."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                heads = [each for each in self._lines(after) if each["verb"] == "watch"]
                if len(heads) >= WATCHES:
                    return
                await asyncio.sleep(0.1)

    def _lines(self, after: int) -> list[dict[str, Any]]:
        if not self._audit.exists():
            return []
        with self._audit.open("rb") as log:
            log.seek(after)
            return [json.loads(line) for line in log if line.endswith(b"\n")]


def policy_spec(name: str, value: str) -> dict[str, Any]:
    """A policy of one ConfigMap."""
    return spec(template(name, body(value, name)))


def _call(line: dict[str, Any]) -> Call:
    where = line.get("objectRef") or {}
    status = f"/{where['subresource']}" if where.get("subresource") else ""
    begun, ended = (
        datetime.fromisoformat(line[each]).timestamp()
        for each in ("requestReceivedTimestamp", "stageTimestamp")
    )
    kind = f"{where.get('resource', '')}{status}"
    return Call(line["verb"], kind, where.get("name", ""), begun, ended)


def _kubeconfig(plane: ControlPlane) -> Path:
    """The access of a user of its own."""
    issued = plane.authority.issue(USER, group="system:masters")
    document: dict[str, Any] = yaml.safe_load(plane.kubeconfig().read_text())
    files = {"client-certificate": issued.certificate, "client-key": issued.key}
    document["users"][0]["user"] = {
        f"{key}-data": base64.b64encode(path.read_bytes()).decode() for key, path in files.items()
    }
    path = plane.folder / "tidegate.kubeconfig"
    path.write_text(json.dumps(document))
    return path


class Worker:
    """`tidegate run --hub --act`, as a process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process = process
        self.log = log

    def cpu_s(self) -> float:
        """What it has used of the CPU."""
        return cpu_of(self._process.pid)

    def megabytes(self, what: str = "VmRSS") -> float:
        """What it holds (VmRSS), or held at most (VmHWM)."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(what):
                return int(line.split()[1]) / 1024
        return 0.0


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def worker(bench: HubBench, folder: Path) -> Iterator[Worker]:
    """A worker that acts on all policies."""
    folder.mkdir(exist_ok=True)
    words = ("run", "--hub", str(bench.kubeconfig), "--database", str(folder / "j.db"))
    log = folder / "run.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tidegate", *words, "--act", "policies/*"],
            stdout=out,
            stderr=out,
            cwd=folder,
        )
    try:
        yield Worker(process, log)
    except (AssertionError, TimeoutError) as error:
        error.add_note(log.read_text()[-3000:])
        raise
    finally:
        process.terminate()
        process.wait(60)


def adopt(bench: HubBench, folder: Path, name: str) -> float:
    """`tidegate policies adopt`; its CPU seconds."""
    folder.mkdir(exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    common = ("--hub", str(bench.kubeconfig), "--database", str(folder / "j.db"))
    _tidegate("policies", "adopt", name, "--yes", *common)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def _tidegate(*words: str) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "tidegate", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
