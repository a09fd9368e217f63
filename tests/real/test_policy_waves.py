"""Waves on a stock hub with real agents: enforced in order, proved, and really taken back.

m1 is a real managed cluster in dev; m2, in prod, is declared and has no agent: it is silent.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.command import tidegate
from tests.contract.clusters import REAL
from tests.patience import PATIENCE_S
from tests.policies import body, spec, template
from tests.real.hub import PLACEMENTS, POLICIES, ROLLOUTS, Hub, until
from tests.real.test_policies import EVALUATED_S, Author, asked, rollout_object, worker
from tidegate.kinds.policies.core.names import wave_name

pytestmark = REAL

_POLICY = "policy.open-cluster-management.io"
_SETS = f"/apis/{_POLICY}/v1beta1"


class WaveAuthor(Author):
    """A policy that informs, and a rollout that enforces it."""

    def __init__(self, hub: Hub, name: str) -> None:
        super().__init__(hub, name)
        self.hub = hub
        self.own = wave_name(name)

    def inform(self, value: str, name: str = "") -> None:
        """Write the policy, or another one beside it."""
        named = name or self.name
        content = body(value, named, pruneObjectBehavior="DeleteIfCreated")
        fields = spec(template(named, content), remediationAction="inform")
        self._put(named, fields)

    def _put(self, name: str, fields: dict[str, Any]) -> None:
        where = f"{POLICIES}/namespaces/{self.namespace}/policies"
        found = asked(self.plane, "GET", f"{where}/{name}")[1]
        if found:
            self.plane.ask("PUT", f"{where}/{name}", {**found, "spec": fields})
            return
        head = {"apiVersion": f"{_POLICY}/v1", "kind": "Policy", "metadata": {"name": name}}
        self.plane.ask("POST", where, {**head, "spec": fields})

    def enforce(self, on_failure: str = "pause", subject: str = "policy", **limits: str) -> None:
        """Write the Rollout."""
        strategy = {
            "type": "ProgressivePerGroup",
            "progressivePerGroup": limits,
            "onFailure": on_failure,
        }
        fields = {subject: self.name, "stage": "waves", "rolloutStrategy": strategy}
        self.plane.ask("POST", self.rollouts, rollout_object(self.name, fields))

    def action(self, cluster: str, policy: str = "") -> str:
        """What the hub's copy for a cluster says; empty: there is none."""
        found = self.hub.replicated(cluster, self.namespace, policy or self.name)
        return str((found.get("spec") or {}).get("remediationAction", ""))

    def ours(self) -> dict[str, str]:
        """Where our objects are."""
        placements = f"{PLACEMENTS}/namespaces/{self.namespace}"
        return {
            "binding": f"{POLICIES}/namespaces/{self.namespace}/placementbindings/{self.own}",
            "decision": f"{placements}/placementdecisions/{self.own}-decision-1",
            "placement": f"{placements}/placements/{self.own}",
        }

    def there(self) -> set[str]:
        """Which of our objects are on the hub."""
        return {name for name, at in self.ours().items() if asked(self.plane, "GET", at)[1]}

    def leave(self, folder: Path, *words: str) -> None:
        """`tidegate policies leave`, with the Rollout paused."""
        self.pause()
        name = f"{self.namespace}.{self.name}"
        common = ("--hub", str(self.plane.kubeconfig()), "--database", str(folder / "j.db"))
        done = tidegate("policies", "leave", name, "--yes", *common, *words)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "fields",
    [
        {"policy": "x", "stage": "waves", "source": {"namespace": "y"}},
        {"policy": "x", "policySet": "y", "stage": "waves"},
        {"stage": "waves"},
        {"policySet": "x"},
        {"policySet": "x", "source": {"namespace": "y", "name": "z"}},
        {"policySet": "x", "policy": "w", "source": {"namespace": "y"}},
        {"policy": "x"},
        {"policy": "x", "stage": "waves", "informSucceeds": "compliant"},
        {"policy": "x", "stage": "all"},
    ],
    ids=str,
)
def test_the_server_refuses_what_the_reader_refuses(defined: Hub, fields: dict[str, Any]) -> None:
    """By its schema and its rules, before Tidegate sees it."""
    document = rollout_object("bad", {**fields, "rolloutStrategy": {"type": "All"}})
    where = f"{ROLLOUTS}/namespaces/default/rollouts"
    assert asked(defined.plane, "POST", where, document)[0] == 422


def test_dev_is_enforced_before_prod_and_a_wave_is_taken_back(defined: Hub, tmp_path: Path) -> None:
    """What it wants appears in dev only; prod never answers, and then every cluster informs."""
    author = WaveAuthor(defined, "wave")
    author.inform("1")
    until(lambda: author.action("m1") == "inform" == author.action("m2"), "it informs")
    author.enforce("rollback", progressDeadline="20s")
    with worker(defined, author, tmp_path):
        until(lambda: author.action("m1") == "enforce", "m1 is enforced", EVALUATED_S)
        assert author.action("m2") == "inform"
        until(lambda: author.value() == "1", "m1 has the object", EVALUATED_S)
        before = author.at()
        until(lambda: author.action("m2") == "enforce", "m1 is proved", EVALUATED_S)
        until(lambda: author.status()["rolloutStatus"] == "Aborted", "no answer", EVALUATED_S)
        until(lambda: author.action("m2") == "inform" == author.action("m1"), "taken back")
        until(lambda: author.status()["done"] == "0 of 2", "all inform again")
    assert author.at() == before
    found: Any = author.plane.ask("GET", author.ours()["decision"])
    assert not found["status"].get("decisions")
    # Nothing brings it back: the root is touched, and looked at once more.
    author.inform("2")
    until(lambda: author.action("m1") == "inform", "it informs")
    assert author.value() == "1"


def test_handing_back_keeps_what_is_enforced(defined: Hub, tmp_path: Path) -> None:
    """The policy says enforce itself, and the object on the real cluster is not touched."""
    author = WaveAuthor(defined, "kept-wave")
    author.inform("1")
    author.enforce()
    with worker(defined, author, tmp_path):
        until(lambda: author.action("m2") == "enforce", "m1 is proved", EVALUATED_S)
    before = author.at()
    author.leave(tmp_path)
    assert author.there() == set()
    root: Any = author.plane.ask(
        "GET", f"{POLICIES}/namespaces/{author.namespace}/policies/{author.name}"
    )
    assert root["spec"]["remediationAction"] == "enforce"
    assert author.action("m1") == author.action("m2") == "enforce"
    assert author.at() == before


def test_clusters_that_a_deleted_placement_left_enforced_are_taken_back(
    defined: Hub, tmp_path: Path
) -> None:
    """The propagator alone leaves them enforced, even once the binding is gone."""
    author = WaveAuthor(defined, "stuck")
    author.inform("1")
    author.enforce()
    with worker(defined, author, tmp_path):
        until(lambda: author.action("m2") == "enforce", "m1 is proved", EVALUATED_S)
    for name in ("placement", "binding"):
        author.plane.ask("DELETE", author.ours()[name])
    time.sleep(3)
    assert author.action("m1") == author.action("m2") == "enforce"
    author.leave(tmp_path, "--take-back")
    assert author.there() == set()
    assert author.action("m1") == author.action("m2") == "inform"
    assert author.value() == "1"


def test_a_kill_between_binding_and_decisions_converges(defined: Hub, tmp_path: Path) -> None:
    """No cluster is enforced by the binding alone; another worker finishes."""
    author = WaveAuthor(defined, "killed")
    author.inform("1")
    until(lambda: author.action("m1") == "inform" == author.action("m2"), "it informs")
    author.enforce(minSuccessTime="1h")
    words = ("run", "--hub", str(defined.plane.kubeconfig()), "--database", str(tmp_path / "j.db"))
    act = ("--act", f"policies/{author.namespace}.*")
    with (tmp_path / "killed.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tidegate", *words, *act], cwd=tmp_path, stdout=log, stderr=log
        )
        until(lambda: "binding" in author.there(), "the binding is there", EVALUATED_S)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
    assert author.action("m2") == "inform"
    with worker(defined, author, tmp_path):
        until(lambda: author.value() == "1", "m1 is enforced", EVALUATED_S)
        until(lambda: author.status().get("rolloutStatus") == "Progressing", "it goes on")
        assert author.action("m2") == "inform"


def test_the_policies_of_a_set_are_enforced_together(defined: Hub, tmp_path: Path) -> None:
    """By one binding whose subject is the set."""
    author = WaveAuthor(defined, "set")
    where = f"{POLICIES}/namespaces/{author.namespace}/placementbindings/{author.name}"
    binding: Any = author.plane.ask("GET", where)
    binding["subjects"] = [{"apiGroup": _POLICY, "kind": "PolicySet", "name": author.name}]
    author.plane.ask("PUT", where, binding)
    head = {"apiVersion": f"{_POLICY}/v1beta1", "kind": "PolicySet"}
    members = ["set-a", "set-b"]
    document = {**head, "metadata": {"name": author.name}, "spec": {"policies": members}}
    author.plane.ask("POST", f"{_SETS}/namespaces/{author.namespace}/policysets", document)
    for name in members:
        author.inform("1", name)
    until(lambda: all(author.action("m2", each) == "inform" for each in members), "they inform")
    author.enforce(subject="policySet")
    with worker(defined, author, tmp_path):
        until(
            lambda: all(author.action("m1", each) == "enforce" for each in members),
            "m1 is enforced",
            EVALUATED_S,
        )
        until(
            lambda: all(author.action("m2", each) == "enforce" for each in members),
            "both are proved on m1",
            EVALUATED_S,
        )
    for name in members:
        found: Any = author.cluster.ask("GET", f"/api/v1/namespaces/default/configmaps/{name}")
        assert found["data"] == {"value": "1"}
    author.leave(tmp_path, "--take-back")
    actions = {author.action(cluster, each) for cluster in ("m1", "m2") for each in members}
    assert actions == {"inform"}
