"""Revisions on a stock hub with real agents: proved by their stamp, and harmless to what is there.

m1 is a real managed cluster in dev; m2, in prod, is declared and has no agent: it is silent.
"""

import json
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.command import tidegate
from tests.contract.clusters import REAL
from tests.patience import PATIENCE_S
from tests.policies import body, spec, template
from tests.real.hub import PLACEMENTS, POLICIES, ROLLOUTS, SETS, Hub, until
from tests.real.kube import ControlPlane

pytestmark = REAL

_POLICY, _CLUSTER = "policy.open-cluster-management.io", "cluster.open-cluster-management.io"
# More than an agent's longest pause between two evaluations.
EVALUATED_S = PATIENCE_S


def asked(
    plane: ControlPlane, method: str, path: str, document: object = None
) -> tuple[int, dict[str, Any]]:
    """The code of an answer, and what it holds; nothing where it is refused."""
    try:
        return 200, plane.ask(method, path, document)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {}


class Author:
    """A policy of its own on the hub, as a person writes it."""

    def __init__(
        self,
        hub: Hub,
        name: str,
        groups: tuple[str, ...] = ("dev", "prod"),
        cluster_set: str = "default",
    ) -> None:
        self.plane = hub.plane
        self.cluster = hub.clusters["m1"].plane
        self.name = name
        self.namespace = hub.plane.namespace("p")
        self.source = hub.plane.namespace("s")
        self.object = f"/api/v1/namespaces/default/configmaps/{name}"
        self._post(
            SETS,
            "managedclustersetbindings",
            "v1beta2",
            _CLUSTER,
            cluster_set,
            {"spec": {"clusterSet": cluster_set}},
        )
        grouped = {"spec": in_order(groups)}
        self._post(PLACEMENTS, "placements", "v1beta1", _CLUSTER, "fleet", grouped)
        self._post(
            POLICIES,
            "placementbindings",
            "v1",
            _POLICY,
            name,
            {
                "placementRef": {"apiGroup": _CLUSTER, "kind": "Placement", "name": "fleet"},
                "subjects": [{"apiGroup": _POLICY, "kind": "Policy", "name": name}],
            },
        )

    def _post(
        self, at: str, plural: str, version: str, group: str, name: str, fields: dict[str, Any]
    ) -> None:
        kinds = {
            "managedclustersetbindings": "ManagedClusterSetBinding",
            "placements": "Placement",
            "placementbindings": "PlacementBinding",
        }
        head = {"apiVersion": f"{group}/{version}", "kind": kinds[plural]}
        document = {**head, "metadata": {"name": name}, **fields}
        self.plane.ask("POST", f"{at}/namespaces/{self.namespace}/{plural}", document)

    def write(self, value: str, namespace: str = "", more: dict[str, Any] | None = None) -> None:
        """Write a revision, by default to the source."""
        where = f"{POLICIES}/namespaces/{namespace or self.source}/policies"
        content = body(value, self.name, pruneObjectBehavior="DeleteIfCreated", **(more or {}))
        document: dict[str, Any] = {
            "apiVersion": f"{_POLICY}/v1",
            "kind": "Policy",
            "metadata": {"name": self.name},
            "spec": spec(template(self.name, content)),
        }
        found = asked(self.plane, "GET", f"{where}/{self.name}")[1]
        if not found:
            self.plane.ask("POST", where, document)
            return
        self.plane.ask("PUT", f"{where}/{self.name}", {**found, "spec": document["spec"]})

    def declare(self, on_failure: str = "pause", **limits: Any) -> None:
        """Write the Rollout."""
        rollout = {
            "policy": self.name,
            "source": {"namespace": self.source},
            "rolloutStrategy": {
                "type": "ProgressivePerGroup",
                "progressivePerGroup": limits,
                "onFailure": on_failure,
            },
        }
        self.plane.ask("POST", self.rollouts, rollout_object(self.name, rollout))

    def pause(self) -> None:
        """Pause the Rollout."""
        found: dict[str, Any] = self.plane.ask("GET", f"{self.rollouts}/{self.name}")
        found["spec"]["paused"] = True
        self.plane.ask("PUT", f"{self.rollouts}/{self.name}", found)

    @property
    def rollouts(self) -> str:
        return f"{ROLLOUTS}/namespaces/{self.namespace}/rollouts"

    def status(self) -> dict[str, Any]:
        """What the Rollout says."""
        found: dict[str, Any] = self.plane.ask("GET", f"{self.rollouts}/{self.name}")
        status: dict[str, Any] = found.get("status") or {}
        return status

    def value(self) -> str:
        """What the real cluster has; empty: nothing."""
        found = asked(self.cluster, "GET", self.object)[1]
        return str(found["data"]["value"]) if found else ""

    def at(self) -> tuple[str, str]:
        """The identity and the version of the object on the real cluster."""
        found: dict[str, Any] = self.cluster.ask("GET", self.object)
        return found["metadata"]["uid"], found["metadata"]["resourceVersion"]

    def pointer(self, cluster: str) -> str:
        """The revision that a cluster is given; empty: none."""
        maps = f"/api/v1/namespaces/{self.namespace}/configmaps/tidegate-pointers-{cluster}"
        found = asked(self.plane, "GET", maps)[1]
        return str((found.get("data") or {}).get(self.name, ""))


def in_order(groups: tuple[str, ...]) -> dict[str, Any]:
    """The spec of a Placement with groups by environment."""
    declared = [
        {
            "groupName": each,
            "groupClusterSelector": {"labelSelector": {"matchLabels": {"environment": each}}},
        }
        for each in groups
    ]
    return {"decisionStrategy": {"groupStrategy": {"decisionGroups": declared}}}


def rollout_object(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """A Rollout as a person writes it."""
    head = {"apiVersion": "tidegate.dev/v1alpha1", "kind": "Rollout"}
    return {**head, "metadata": {"name": name}, "spec": fields}


@contextmanager
def worker(hub: Hub, author: Author, folder: Path) -> Iterator[None]:
    """A worker that acts on the author's policy."""
    words = ("run", "--hub", str(hub.plane.kubeconfig()), "--database", str(folder / "j.db"))
    act = ("--act", f"policies/{author.namespace}.*")
    log = folder / "run.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tidegate", *words, *act], cwd=folder, stdout=out, stderr=out
        )
        try:
            yield
        except AssertionError as error:
            error.add_note(log.read_text()[-2000:])
            raise
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def hand_over(hub: Hub, verb: str, author: Author, folder: Path) -> None:
    """`tidegate policies adopt|leave`."""
    name = f"{author.namespace}.{author.name}"
    common = ("--hub", str(hub.plane.kubeconfig()), "--database", str(folder / "j.db"))
    done = tidegate("policies", verb, name, "--yes", *common)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "limits",
    [
        {"progressDeadline": "0s"},
        {"minSuccessTime": "soon"},
        {"maxFailures": "3"},
        {"maxFailures": -1},
        {"maxConcurrency": "101%"},
        {"mandatoryDecisionGroups": [{}]},
    ],
    ids=json.dumps,
)
def test_the_server_refuses_what_the_reader_refuses(defined: Hub, limits: dict[str, Any]) -> None:
    """By its schema and its rules, before Tidegate sees it."""
    strategy = {"type": "Progressive", "progressive": limits}
    fields = {"policy": "x", "source": {"namespace": "y"}, "rolloutStrategy": strategy}
    where = f"{ROLLOUTS}/namespaces/default/rollouts"
    assert asked(defined.plane, "POST", where, rollout_object("bad", fields))[0] == 422


def test_a_revision_is_proved_in_dev_and_a_silent_agent_never_succeeds(
    defined: Hub, tmp_path: Path
) -> None:
    """A plain policy is taken over; the next revision goes to dev, then to prod, and waits there.

    The object on the real cluster is the same one all the time.
    """
    author = Author(defined, "staged")
    author.write("1", author.namespace)
    author.write("1")
    until(lambda: author.value() == "1", "the plain policy is applied")
    before = author.at()
    author.declare(progressDeadline="20s")
    hand_over(defined, "adopt", author, tmp_path)
    old = author.pointer("m1")
    assert old
    assert author.pointer("m2") == old
    author.write("2")
    with worker(defined, author, tmp_path):
        until(lambda: author.pointer("m1") != old, "m1 is given the revision")
        # Prod waits until the real agent has said so.
        assert author.pointer("m2") == old
        until(lambda: author.pointer("m2") != old, "dev is proved", EVALUATED_S)
        assert author.value() == "2"
        until(lambda: author.status()["rolloutStatus"] == "Failed", "m2 gave no answer")
    assert author.status()["done"] == "1 of 2"
    assert author.at()[0] == before[0]


def test_taking_over_and_handing_back_touch_nothing(defined: Hub, tmp_path: Path) -> None:
    """The same version of the object, before, between and after."""
    author = Author(defined, "kept")
    author.write("1", author.namespace)
    author.write("1")
    until(lambda: author.value() == "1", "the plain policy is applied")
    before = author.at()
    author.declare()

    def stamped() -> bool:
        status = defined.replicated("m1", author.namespace, author.name).get("status", {})
        history = status.get("details", [{}])[0].get("history", [{}])
        return "[rev " in history[0].get("message", "")

    hand_over(defined, "adopt", author, tmp_path)
    until(stamped, "the agent reports the revision", EVALUATED_S)
    assert author.at() == before
    author.pause()
    hand_over(defined, "leave", author, tmp_path)
    until(lambda: not stamped(), "the agent reports the plain policy", EVALUATED_S)
    assert author.at() == before
    assert defined.replicated("m2", author.namespace, author.name)


def test_a_failing_revision_stays_in_its_group(defined: Hub, tmp_path: Path) -> None:
    """Its agent says why, at the deadline it has failed, and prod keeps what it has."""
    author = Author(defined, "failing")
    author.write("1")
    author.declare(progressDeadline="20s")
    with worker(defined, author, tmp_path):
        until(lambda: author.value() == "1", "m1 has the first revision", EVALUATED_S)
        first = author.pointer("m1")
        # A kind that the cluster does not have.
        broken = {
            "complianceType": "musthave",
            "objectDefinition": {"apiVersion": "no/v1", "kind": "Such", "metadata": {"name": "x"}},
        }
        author.write("2", more={"object-templates": [broken]})
        until(lambda: author.pointer("m1") != first, "m1 is given the revision", EVALUATED_S)
        until(lambda: author.status()["rolloutStatus"] == "Failed", "it failed", EVALUATED_S)
    assert author.pointer("m2") in ("", first)
    shown = tidegate(
        "why",
        f"{author.namespace}.{author.name}",
        "m1",
        "-o",
        "json",
        "--database",
        str(tmp_path / "j.db"),
    )
    assert "couldn't find mapping" in shown.stdout or "no/v1" in shown.stdout, shown.stdout
