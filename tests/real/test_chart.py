"""The chart: values are checked, a real API server takes its objects, upgrades keep the claim.

What it grants is in test_chart_rights.py, what it alerts about in test_chart_alerts.py.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import tidegate
from tests.contract.clusters import REAL
from tests.real.chart import (
    CHART,
    EXAMPLES,
    RELEASE,
    Document,
    helm,
    one,
    path_of,
    refusal,
    rendered,
    values_of,
)
from tests.real.kube import ADMIN, ROOT, ControlPlane, Kubernetes
from tidegate import __version__
from tidegate.kubernetes.client.access import read_access

pytestmark = REAL
IMMUTABLE = ROOT / "tests/golden/chart.immutable.yaml"
WORKLOADS = ("StatefulSet", "Deployment")


def definition(kind: str) -> Document:
    """The Prometheus operator's kind, as far as the server has to know it."""
    group, plural = "monitoring.coreos.com", f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


@pytest.fixture(scope="module")
def plane(kubernetes: Kubernetes) -> ControlPlane:
    """A cluster with the namespaces that the examples name, and with the operator's kinds."""
    found = kubernetes.plane("charted")
    for name in ("reconcile", "reconcile-stage", "policies"):
        found.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": "tidegate", "labels": restricted}
    found.ask("POST", "/api/v1/namespaces", {"metadata": metadata})
    for kind in ("ServiceMonitor", "PrometheusRule"):
        document = definition(kind)
        found.ask("POST", path_of(document, ""), document)
    return found


def pod_of(workload: Document) -> Document:
    """A pod of a workload."""
    template = workload["spec"]["template"]
    metadata = {"name": "one", "labels": template["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def test_the_chart_has_the_version_of_the_program() -> None:
    """What it installs is its own version."""
    found = yaml.safe_load((CHART / "Chart.yaml").read_bytes())
    assert {found["version"], found["appVersion"]} == {__version__}


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_is_linted(example: str) -> None:
    """Without a warning."""
    done = helm("lint", "--strict", CHART, *values_of(example))
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout


@pytest.mark.parametrize(
    "example, more, said, unsaid",
    [
        ("", (), ("gate-tidegate-0 ", "login http://localhost"), ("POD", "--ca-file")),
        ("", ("tls.secretName=x",), ("login https://localhost", "--ca-file"), ("http://",)),
        ("postgresql.yaml", (), ("POD", "tidegate token create NAME --role admin"), ("-0 ",)),
    ],
)
def test_the_notes_lead_to_a_login(
    example: str, more: tuple[str, ...], said: tuple[str, ...], unsaid: tuple[str, ...]
) -> None:
    """By the address that the service has, and where the first token may be gone, by a new one."""
    sets = (word for each in more for word in ("--set", each))
    command = ("install", RELEASE, CHART, "--dry-run=client", *values_of(example), *sets)
    notes = helm(*command).stdout.partition("NOTES:")[2]
    assert all(each in notes for each in said), notes
    assert not any(each in notes for each in unsaid), notes


@pytest.mark.parametrize(
    "values, why",
    [
        (["replicas=2"], "at '/replicas': value must be 1"),
        (["database.type=postgresql"], "at '/database/postgresql/secretName'"),
        (["kinds.integrations.enable=true"], "additional properties 'enable' not allowed"),
        (["database.type=mysql"], "at '/database/type'"),
        (["image.digest=latest"], "at '/image/digest'"),
        (["kinds.policies.act={policies/*}"], "at '/kinds/policies/enabled': value must be true"),
        (["settings.grace=60s"], "settings.grace: write graceSeconds instead"),
        (["access.policy=x", "access.policyConfigMap.name=y"], "at '/access': 'not' failed"),
    ],
)
def test_values_that_make_no_sense_are_refused(values: list[str], why: str) -> None:
    """Before anything is installed, with their path."""
    done = helm("template", CHART, *(word for each in values for word in ("--set", each)))
    assert done.returncode != 0
    assert why in done.stderr


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_real_server_takes_every_object(plane: ControlPlane, example: str) -> None:
    """Strictly: no field that it does not know, none twice; pods by the restricted standard."""
    documents = rendered(*values_of(example))
    strictly = "?dryRun=All&fieldValidation=Strict"
    told = {
        f"{path_of(each, 'tidegate')}/{each['metadata']['name']}": refusal(
            plane, path_of(each, "tidegate") + strictly, each
        )
        for each in documents
    }
    assert {name: why for name, why in told.items() if why} == {}
    assert len(told) == len(documents), "two objects of one name"
    for workload in (each for each in documents if each["kind"] in WORKLOADS):
        pod = pod_of(workload)
        assert refusal(plane, path_of(pod, "tidegate") + strictly, pod) == ""


def test_a_field_that_is_not_known_would_be_refused(plane: ControlPlane) -> None:
    """So that the test above can fail."""
    service = one(rendered(), "Service")
    service["spec"]["portz"] = []
    pod = pod_of(one(rendered(), "StatefulSet"))
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    strictly = "?dryRun=All&fieldValidation=Strict"
    assert "portz" in refusal(plane, path_of(service, "tidegate") + strictly, service)
    assert "PodSecurity" in refusal(plane, path_of(pod, "tidegate") + strictly, pod)


def test_secrets_are_only_named() -> None:
    """No value of the chart takes one, and the pods have the token of an account only if needed."""
    for example in EXAMPLES:
        documents = rendered(*values_of(example))
        assert not [each for each in documents if each["kind"] == "Secret"]
    quiet = one(rendered("--set", "kinds.upgrades.enabled=true"), "StatefulSet")
    assert quiet["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
    loud = one(rendered("--set", "kinds.policies.enabled=true"), "StatefulSet")
    assert loud["spec"]["template"]["spec"]["automountServiceAccountToken"] is True


def test_on_postgresql_each_kind_has_its_own_processes_and_account() -> None:
    """Each with the settings and the rights of its kind alone."""
    documents = rendered(*values_of("postgresql.yaml"))
    found = {each["metadata"]["name"]: each for each in documents if each["kind"] == "Deployment"}
    kinds = ("integrations", "policies", "upgrades")
    assert set(found) == {f"{RELEASE}-tidegate-{kind}" for kind in kinds}
    for kind in kinds:
        name = f"{RELEASE}-tidegate-{kind}"
        spec = found[name]["spec"]
        assert spec["replicas"] == 3
        assert spec["template"]["spec"]["serviceAccountName"] == name
        env = {each["name"]: each for each in spec["template"]["spec"]["containers"][0]["env"]}
        assert env["TIDEGATE_KINDS"]["value"] == kind
        assert env["TIDEGATE_DATABASE"]["valueFrom"]["secretKeyRef"]["name"] == "tidegate-database"
        settings = yaml.safe_load(one(documents, "ConfigMap", name)["data"]["tidegate.yaml"])
        assert ("fleet" in settings) == (kind == "integrations")
        assert ("hub" in settings) == (kind == "policies")
    assert {each["kind"] for each in documents if "roleRef" in each} == {"RoleBinding"}


def spread(*words: str) -> Any:
    """How the pods of a kind are spread on PostgreSQL."""
    found = rendered(*values_of("postgresql.yaml"), *words)
    return [
        each["spec"]["template"]["spec"].get("topologySpreadConstraints")
        for each in found
        if each["kind"] == "Deployment"
    ]


def test_several_replicas_are_spread_over_nodes_and_zones() -> None:
    """By the labels of their own pods, and never so that one is not run at all."""
    documents = rendered(*values_of("postgresql.yaml"), "--set", "replicas=2")
    deployments = [each for each in documents if each["kind"] == "Deployment"]
    assert deployments
    for each in deployments:
        found = each["spec"]["template"]["spec"]["topologySpreadConstraints"]
        keys = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
        assert [one["topologyKey"] for one in found] == keys
        assert {one["whenUnsatisfiable"] for one in found} == {"ScheduleAnyway"}
        assert all(one["labelSelector"] == each["spec"]["selector"] for one in found)


def test_how_replicas_are_spread_is_a_value() -> None:
    """One replica is not spread; `[]` spreads none, and constraints are taken as they are."""
    mine = {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
    written = "topologySpreadConstraints=" + json.dumps([mine])
    assert set(map(str, spread("--set", "replicas=1"))) == {"None"}
    assert set(
        map(str, spread("--set", "replicas=2", "--set-json", "topologySpreadConstraints=[]"))
    ) == {"None"}
    assert all(each == [mine] for each in spread("--set", "replicas=2", "--set-json", written))


def test_every_setting_of_the_chart_is_one_of_the_program(tmp_path: Path) -> None:
    """The file that a pod gets is read without a word against it."""
    for example in EXAMPLES:
        for each in rendered(*values_of(example)):
            if each["kind"] == "ConfigMap" and "tidegate.yaml" in each["data"]:
                file = tmp_path / "tidegate.yaml"
                file.write_text(each["data"]["tidegate.yaml"], encoding="utf-8")
                done = tidegate("config", "view", "--config", str(file), cwd=tmp_path)
                assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_hub_is_this_cluster_by_the_account_of_the_pod(tmp_path: Path) -> None:
    """The kubeconfig of the chart is one that we read; its token is read again as it changes."""
    documents = rendered("--set", "kinds.policies.enabled=true")
    data = one(documents, "ConfigMap", f"{RELEASE}-tidegate")["data"]
    (tmp_path / "ca.crt").write_text("a certificate", encoding="utf-8")
    (tmp_path / "token").write_text("a token", encoding="utf-8")
    file = tmp_path / "in-cluster.kubeconfig"
    mounted = "/var/run/secrets/kubernetes.io/serviceaccount"
    file.write_text(data[file.name].replace(mounted, str(tmp_path)), encoding="utf-8")
    access = read_access(files=str(file))
    assert access.server == "https://kubernetes.default.svc"
    assert (access.ca, access.token_file) == ("a certificate", str(tmp_path / "token"))
    settings = yaml.safe_load(data["tidegate.yaml"])
    assert settings["hub"] == f"/etc/tidegate/config/{file.name}"
    pod = one(documents, "StatefulSet")["spec"]["template"]["spec"]
    mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
    assert mounts["config"] == "/etc/tidegate/config"


# Upgrades


def immutable(documents: list[Document]) -> list[Document]:
    """What a server refuses to change, and what the journal is found by."""
    found: list[Document] = []
    for each in documents:
        spec: dict[str, Any] = each.get("spec", {})
        kept: Document = {"object": f"{each['kind']}/{each['metadata']['name']}"}
        if each["kind"] in WORKLOADS:
            volumes = {volume["name"]: volume for volume in spec["template"]["spec"]["volumes"]}
            kept |= {
                "selector": spec["selector"],
                "serviceName": spec.get("serviceName", ""),
                "journal": volumes["journal"],
            }
        elif each["kind"] == "PersistentVolumeClaim":
            kept |= {
                "accessModes": spec["accessModes"],
                "policy": each["metadata"]["annotations"]["helm.sh/resource-policy"],
            }
        elif "roleRef" in each:
            kept |= {"roleRef": each["roleRef"]}
        else:
            continue
        found.append(kept)
    return sorted(found, key=lambda each: str(each["object"]))


def test_what_cannot_be_changed_is_as_it_was_released(request: pytest.FixtureRequest) -> None:
    """A change here breaks `helm upgrade`, or leaves the journal behind.

    `--rewrite` adds what is new.
    """
    now = {each or "default": immutable(rendered(*values_of(each))) for each in EXAMPLES}
    if request.config.getoption("--rewrite", default=False):
        IMMUTABLE.write_text(yaml.safe_dump(now, sort_keys=False), encoding="utf-8")
    assert yaml.safe_load(IMMUTABLE.read_bytes()) == now


def test_helm_upgrades_from_the_version_before_and_back(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """The same claim and the same set, by their uid; the image and labels of a version move."""
    before = tmp_path / "tidegate"
    shutil.copytree(CHART, before)
    meta = yaml.safe_load((before / "Chart.yaml").read_bytes())
    meta |= {"version": "0.0.9", "appVersion": "0.0.9"}
    (before / "Chart.yaml").write_text(yaml.safe_dump(meta), encoding="utf-8")
    space = plane.namespace("release")
    of = ("--kubeconfig", plane.kubeconfig(ADMIN), "--namespace", space)

    def seen() -> tuple[str, str, str]:
        claim: Any = plane.ask("GET", f"/api/v1/namespaces/{space}/persistentvolumeclaims")
        sets: Any = plane.ask("GET", f"/apis/apps/v1/namespaces/{space}/statefulsets")
        ((of_claim,), (of_set,)) = claim["items"], sets["items"]
        (container,) = of_set["spec"]["template"]["spec"]["containers"]
        return of_claim["metadata"]["uid"], of_set["metadata"]["uid"], container["image"]

    installed = helm("install", RELEASE, before, *of)
    assert installed.returncode == 0, installed.stderr
    old = seen()
    assert old[2] == "tidegate:0.0.9"
    upgraded = helm("upgrade", RELEASE, CHART, *of, "--set", "database.sqlite.size=5Gi")
    assert upgraded.returncode == 0, upgraded.stderr
    assert seen() == (*old[:2], f"tidegate:{__version__}")
    back = helm("rollback", RELEASE, "1", *of)
    assert back.returncode == 0, back.stderr
    assert seen() == old
    gone = helm("uninstall", RELEASE, *of)
    assert gone.returncode == 0, gone.stderr
    left: Any = plane.ask("GET", f"/api/v1/namespaces/{space}/persistentvolumeclaims")
    assert [each["metadata"]["uid"] for each in left["items"]] == [old[0]], "the journal is kept"
