"""Policies on a stock hub with three real clusters, before a witness of the hub and the clusters.

m1 is in dev, m3 in stage, m4 in prod; each has its own control plane and real agents.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.command import tidegate
from tests.contract.clusters import REAL
from tests.patience import PATIENCE_S
from tests.policies import body
from tests.real.hub import CLUSTERS, PLACEMENTS, POLICIES, Hub, until
from tests.real.policy_witness import Law, Witness
from tests.real.test_policies import EVALUATED_S, Author, asked, hand_over, in_order, rollout_object
from tests.sim import sized

pytestmark = REAL

GROUPS = ("dev", "stage", "prod")
HOME = {"dev": "m1", "stage": "m3", "prod": "m4"}
# All three groups, each after the longest pause of an agent.
THROUGH_S = 3 * EVALUATED_S
# Longer than an agent takes that is well, even on two busy cores.
DEADLINE_S = 20
# How often something is killed in one story.
KILLS = sized(4, 6, 24)


@pytest.fixture(scope="module")
def fleet(defined: Hub) -> Hub:
    """The hub with three real clusters in a set of their own."""
    here = {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"real": "yes"}}}
    defined.declare_set("real", clusterSelector=here)
    for group in ("stage", "prod"):
        defined.manage(HOME[group], cluster_set="none", environment=group, real="yes")
    label(defined, "m1", real="yes")
    return defined


def label(hub: Hub, cluster: str, **labels: str) -> None:
    """Add labels to a managed cluster."""
    path = f"{CLUSTERS}/managedclusters/{cluster}"
    found: dict[str, Any] = hub.plane.ask("GET", path)
    found["metadata"]["labels"].update(labels)
    hub.plane.ask("PUT", path, found)


def taint(hub: Hub, cluster: str, *keys: str) -> None:
    """Have a managed cluster tainted so, and by nothing else."""
    path = f"{CLUSTERS}/managedclusters/{cluster}"
    found: dict[str, Any] = hub.plane.ask("GET", path)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    found["spec"]["taints"] = [
        {"key": f"cluster.open-cluster-management.io/{key}", "effect": "NoSelect", "timeAdded": now}
        for key in keys
    ]
    hub.plane.ask("PUT", path, found)


class Fleet(Author):
    """A policy of its own for three real clusters, and a witness of it."""

    def __init__(self, hub: Hub, name: str, folder: Path) -> None:
        super().__init__(hub, name, GROUPS, "real")
        self.hub = hub
        self._folder = folder
        self.planes = {each: hub.clusters[each].plane for each in HOME.values()}
        self.journal = ("--database", str(folder / "j.db"))
        self._worker: subprocess.Popen[bytes] | None = None

    def part(self, name: str) -> "Fleet":
        """One policy of the set that is called as this one, in the same namespaces."""
        found = copy(self)
        found.name = f"{self.name}-{name}"
        found.object = f"/api/v1/namespaces/default/configmaps/{found.name}"
        return found

    def bind_set(self, *policies: str) -> None:
        """Have the binding bind a set of some policies."""
        where = f"{POLICIES}/namespaces/{self.namespace}/placementbindings/{self.name}"
        binding: dict[str, Any] = self.plane.ask("GET", where)
        group = "policy.open-cluster-management.io"
        binding["subjects"] = [{"apiGroup": group, "kind": "PolicySet", "name": self.name}]
        self.plane.ask("PUT", where, binding)
        document = {
            "apiVersion": f"{group}/v1beta1",
            "kind": "PolicySet",
            "metadata": {"name": self.name},
            "spec": {"policies": list(policies)},
        }
        sets = f"/apis/{group}/v1beta1/namespaces/{self.namespace}/policysets"
        self.plane.ask("POST", sets, document)

    def declare_set(self, **limits: Any) -> None:
        """Write the Rollout of the set."""
        fields = {
            "policySet": self.name,
            "source": {"namespace": self.source},
            "rolloutStrategy": {"type": "ProgressivePerGroup", "progressivePerGroup": limits},
        }
        self.plane.ask("POST", self.rollouts, rollout_object(self.name, fields))

    def witness(self) -> Witness:
        """Its witness, from now on."""
        law = Law(self.namespace, self.name, tuple((HOME[each],) for each in GROUPS))
        return Witness(self.hub.plane, self.planes, law)

    def values(self) -> dict[str, str]:
        """What each cluster has; empty: nothing."""
        found = {each: asked(plane, "GET", self.object)[1] for each, plane in self.planes.items()}
        return {each: str(one["data"]["value"]) if one else "" for each, one in found.items()}

    def have_all(self, value: str, seconds: float = THROUGH_S) -> None:
        """Wait until every cluster has a value."""
        wanted = dict.fromkeys(self.planes, value)
        until(lambda: self.values() == wanted, f"all have {value}", seconds)

    def settle(self, value: str) -> None:
        """Wait until every cluster has a value and the rollout says that it is over."""
        self.have_all(value)
        until(
            lambda: self.status().get("rolloutStatus") == "Succeeded", "it succeeded", EVALUATED_S
        )

    def group(self, *groups: str) -> None:
        """Have the placement name its groups in another order."""
        path = f"{PLACEMENTS}/namespaces/{self.namespace}/placements/fleet"
        found: dict[str, Any] = self.plane.ask("GET", path)
        self.plane.ask("PUT", path, {**found, "spec": {**found["spec"], **in_order(groups)}})

    def mark_root(self, key: str = "", value: str = "") -> None:
        """Another tool notes on the root that it is its own; without a key, no longer."""
        path = f"{POLICIES}/namespaces/{self.namespace}/policies/{self.name}"
        found: dict[str, Any] = self.plane.ask("GET", path)
        notes = found["metadata"]["annotations"]
        kept = {each: notes[each] for each in notes if each.startswith("tidegate.dev/")}
        found["metadata"]["annotations"] = {**kept, **({key: value} if key else {})}
        self.plane.ask("PUT", path, found)

    def refusal(self) -> str:
        """Why the policy cannot be staged; empty: it can."""
        hub = ("--hub", str(self.plane.kubeconfig()))
        shown = tidegate("policies", "plan", f"{self.namespace}.{self.name}", *hub, "-o", "json")
        return "\n".join(
            line for each in json.loads(shown.stdout)["refused"] for line in each["problems"]
        )

    def log(self) -> str:
        """What Tidegate said."""
        return (self._folder / "run.log").read_text()

    def decided(self) -> list[str]:
        """The clusters that the scheduler has in its decisions now, group by group."""
        path = f"{PLACEMENTS}/namespaces/{self.namespace}/placementdecisions"
        found: Any = self.plane.ask("GET", path)
        label = "cluster.open-cluster-management.io/placement"
        mine = [e for e in found["items"] if e["metadata"]["labels"].get(label) == "fleet"]
        return [
            one["clusterName"]
            for each in sorted(mine, key=lambda part: str(part["metadata"]["name"]))
            for one in (each.get("status") or {}).get("decisions") or ()
        ]

    def start(self) -> None:
        """Start Tidegate, as a process of its own."""
        with (self._folder / "run.log").open("ab") as out:
            self._worker = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tidegate", "run"),
                    *("--hub", str(self.plane.kubeconfig())),
                    *self.journal,
                    *("--act", f"policies/{self.namespace}.*"),
                    *("--lease", "3s", "--action-time", "1s", "--discover", "1s"),
                ],
                cwd=self._folder,
                stdout=out,
                stderr=out,
            )

    def kill_worker(self) -> None:
        """Kill Tidegate without a word to it, and start it again."""
        assert self._worker is not None
        self._worker.kill()
        self._worker.wait(PATIENCE_S)
        self.start()

    def kill_propagator(self) -> None:
        """Kill the hub's propagator, and start it again."""
        self.hub.propagator.kill()
        self.hub.propagator.start()

    def kill_server(self) -> None:
        """Kill the hub's API server, and start it again; what it keeps is in etcd."""
        assert self.plane.api is not None
        self.plane.api.kill()
        self.plane.restart()
        # Whatever ends because it lost its server is started again by its own node.
        for each in self.hub.programs:
            each.revive()

    def point(self, cluster: str, revision: str) -> None:
        """A person moves the pointer of a cluster."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/tidegate-pointers-{cluster}"
        found: dict[str, Any] = self.plane.ask("GET", path)
        found["data"][self.name] = revision
        self.plane.ask("PUT", path, found)

    def wanted(self, value: str, *more: str, broken: bool = False) -> dict[str, Any]:
        """Object templates of a revision, of one more object each, or of one that must fail."""
        names = (self.name, *(f"{self.name}-{each}" for each in more))
        templates = [body(value, each)["object-templates"][0] for each in names]
        if broken:
            # There is no such namespace.
            templates.append(deepcopy(templates[0]))
            templates[-1]["objectDefinition"]["metadata"]["namespace"] = "nowhere"
        return {"object-templates": templates}

    def return_on_failure(self) -> None:
        """Have clusters return from a revision that fails."""
        found: dict[str, Any] = self.plane.ask("GET", f"{self.rollouts}/{self.name}")
        found["spec"]["rolloutStrategy"]["onFailure"] = "rollback"
        self.plane.ask("PUT", f"{self.rollouts}/{self.name}", found)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Tidegate acts on the policy."""
        self.start()
        try:
            yield
        except AssertionError as error:
            error.add_note(self.log()[-3000:])
            raise
        finally:
            if self._worker is not None:
                self._worker.terminate()
                self._worker.wait(PATIENCE_S)


def test_no_object_is_ever_absent_from_its_adoption_to_its_return(
    fleet: Hub, tmp_path: Path
) -> None:
    """Taken over, moved through all groups, regrouped, tainted, handed back: always the same one.

    The edit and the start of the rollout are in the same instant, with agents that still call the
    revision before compliant.
    """
    policy = Fleet(fleet, "whole", tmp_path)
    policy.write("1", policy.namespace)
    policy.write("1")
    policy.have_all("1")
    with policy.witness() as witness:
        policy.declare(progressDeadline=f"{DEADLINE_S}s")
        hand_over(fleet, "adopt", policy, tmp_path)
        policy.write("2")
        with policy.run():
            until(lambda: policy.values()["m1"] == "2", "dev has it", EVALUATED_S)
            # The scheduler forms its groups anew in the middle.
            policy.group("prod", "stage", "dev")
            until(lambda: policy.decided() == ["m4", "m3", "m1"], "the scheduler has turned them")
            policy.settle("2")
            for _ in range(2):
                taint(fleet, "m4", "unreachable")
                until(lambda: "m4" not in policy.decided(), "the scheduler has taken it out")
                taint(fleet, "m4")
                until(lambda: "m4" in policy.decided(), "it is back")
        before = {each: len(witness.of_object(each)) for each in policy.planes}
        # The object was written once: no more than the revision needed.
        assert before == dict.fromkeys(policy.planes, 1)
        policy.pause()
        hand_over(fleet, "leave", policy, tmp_path)

        def plain() -> bool:
            found = [fleet.replicated(each, policy.namespace, policy.name) for each in before]
            return all("[rev " not in str(each["spec"]) for each in found)

        until(plain, "every replicated policy is plain")
        time.sleep(1)
        assert {each: len(witness.of_object(each)) for each in policy.planes} == before
        assert witness.verdicts() == []


def test_a_frozen_agent_is_never_counted_and_a_failing_revision_stays_in_the_canary(
    fleet: Hub, tmp_path: Path
) -> None:
    """It gives no answer until its deadline; once it goes on, its own word counts.

    The revision that fails no longer names an object of the one before: that is deleted in the
    canary, made anew by the rollback, and named in the journal.
    """
    policy = Fleet(fleet, "frozen", tmp_path)
    extra = f"{policy.object}-extra"
    policy.write("1", more=policy.wanted("1", "extra"))
    policy.declare(progressDeadline=f"{DEADLINE_S}s")
    with policy.run(), policy.witness() as witness:
        policy.settle("1")
        agents = fleet.clusters["m1"].agents
        for each in agents:
            each.freeze()
        try:
            policy.write("2", more=policy.wanted("2", "extra"))
            until(lambda: policy.status()["rolloutStatus"] == "Failed", "it gave no answer")
            found = fleet.replicated("m1", policy.namespace, policy.name)
            # The hub still says so, of the revision before.
            assert found["status"]["compliant"] == "Compliant"
            assert policy.status()["done"] == "0 of 3"
        finally:
            for each in agents:
                each.thaw()
        policy.settle("2")
        before = asked(policy.cluster, "GET", extra)[1]["metadata"]["uid"]
        good = policy.pointer("m1")
        policy.return_on_failure()
        policy.write("3", more=policy.wanted("3", broken=True))
        until(lambda: policy.pointer("m1") != good, "m1 is given what fails", EVALUATED_S)
        failing = policy.pointer("m1")
        until(lambda: policy.values()["m1"] == "3", "m1 has as much of it as it can", EVALUATED_S)
        until(lambda: not asked(policy.cluster, "GET", extra)[1], "the object is deleted")
        until(lambda: policy.values()["m1"] == "2", "m1 has returned", EVALUATED_S)
        until(lambda: bool(asked(policy.cluster, "GET", extra)[1]), "the object is made anew")
        assert asked(policy.cluster, "GET", extra)[1]["metadata"]["uid"] != before
        assert policy.values() == {"m1": "2", "m3": "2", "m4": "2"}
        assert {policy.pointer(each) for each in policy.planes} == {good}
        assert witness.verdicts() == []
        told = tidegate("journal", "show", "--kind", "acted", "-o", "json", *policy.journal).stdout
        assert f"deleted by {failing} and made anew: ConfigMap default/frozen-extra" in told
        # A witness that could not see this would be no proof: a person moves prod, too early.
        policy.point("m4", failing)
        assert witness.verdicts() == [
            "m4: was given what m1, of an earlier group, does not have",
            "m4: was given what m3, of an earlier group, does not have",
        ]


def test_the_policies_of_a_set_move_together_and_each_by_its_own_stamp(
    fleet: Hub, tmp_path: Path
) -> None:
    """Taken over, one of the two edited, then both, and handed back: always the same objects."""
    policy = Fleet(fleet, "pair", tmp_path)
    one, other = policy.part("one"), policy.part("other")
    policy.bind_set(one.name, other.name)
    for each in (one, other):
        each.write("1", policy.namespace)
        each.write("1")
    for each in (one, other):
        each.have_all("1")
    with one.witness() as of_one, other.witness() as of_other:
        policy.declare_set(progressDeadline=f"{DEADLINE_S}s")
        hand_over(fleet, "adopt", policy, tmp_path)
        other.write("2")
        with policy.run():
            until(lambda: other.values()["m1"] == "2", "dev has it", EVALUATED_S)
            other.have_all("2")
            one.write("3")
            other.write("3")
            for each in (one, other):
                each.have_all("3")
            until(lambda: policy.status().get("done") == "3 of 3", "all are proved", EVALUATED_S)
            assert policy.status()["rolloutStatus"] == "Succeeded"
        assert {each: len(of_one.of_object(each)) for each in policy.planes} == dict.fromkeys(
            policy.planes, 1
        )
        assert {each: len(of_other.of_object(each)) for each in policy.planes} == dict.fromkeys(
            policy.planes, 2
        )
        policy.pause()
        hand_over(fleet, "leave", policy, tmp_path)

        def plain() -> bool:
            found = [
                fleet.replicated(cluster, policy.namespace, each.name)
                for cluster in policy.planes
                for each in (one, other)
            ]
            return all("[rev " not in str(each["spec"]) for each in found)

        until(plain, "every replicated policy is plain")
        time.sleep(1)
        assert (one.values(), other.values()) == (dict.fromkeys(policy.planes, "3"),) * 2
        assert of_one.verdicts() == of_other.verdicts() == []


@pytest.mark.parametrize("seed", range(sized(1, 1, 4)))
def test_whatever_is_killed_every_cluster_gets_each_revision_once_and_in_its_turn(
    fleet: Hub, tmp_path: Path, seed: int
) -> None:
    """kill -9 of Tidegate, of the propagator and of the hub's API server, at moments by a seed."""
    draw = random.Random(seed)
    policy = Fleet(fleet, f"killed{seed}", tmp_path)
    policy.write("1")
    policy.declare()
    with policy.witness() as witness, policy.run():
        victims = (policy.kill_worker, policy.kill_propagator, policy.kill_server)
        planned = [*victims, *draw.choices(victims, k=KILLS - len(victims))]
        draw.shuffle(planned)
        half = len(planned) // 2
        for value, kills in (("1", planned[:half]), ("2", planned[half:])):
            policy.write(value)
            for kill in kills:
                time.sleep(draw.uniform(0.0, 4.0))
                kill()
            policy.settle(value)
        assert witness.verdicts() == []
        for each in policy.planes:
            given = [str(one.document["data"]["value"]) for one in witness.of_object(each)]
            assert given == ["1", "2"], each


UPGRADES = "/apis/ran.openshift.io/v1alpha1"
# As much of the definition of the Topology Aware Lifecycle Manager as matters here.
UPGRADE_CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clustergroupupgrades.ran.openshift.io}
spec:
  group: ran.openshift.io
  names: {kind: ClusterGroupUpgrade, plural: clustergroupupgrades, singular: clustergroupupgrade}
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema:
        openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


def test_what_a_person_moves_is_put_back_and_what_another_tool_owns_is_refused(
    fleet: Hub, tmp_path: Path
) -> None:
    """A pointer is put back at once; no pointer moves while another tool owns the policy."""
    policy = Fleet(fleet, "shared", tmp_path)
    policy.write("1")
    policy.declare()
    with policy.run():
        policy.settle("1")
        old = policy.pointer("m4")
        policy.write("2")
        policy.settle("2")
        new = policy.pointer("m4")
        policy.point("m4", old)
        until(lambda: policy.pointer("m4") == new, "it is put back", EVALUATED_S)
        told = f"drift of m4: its pointer was moved to {old}, by another"
        until(lambda: told in policy.log(), "it says so")
        policy.mark_root("argocd.argoproj.io/tracking-id", "fleet:policy/Policy:p/shared")
        policy.write("3")
        until(lambda: "belongs to application fleet of Argo CD" in policy.refusal(), "it says so")
        fleet.define(UPGRADE_CRD)
        where = f"{UPGRADES}/namespaces/{policy.namespace}/clustergroupupgrades"
        batch = {"managedPolicies": [policy.name], "clusters": ["m1"], "enable": True}
        head = {"apiVersion": "ran.openshift.io/v1alpha1", "kind": "ClusterGroupUpgrade"}
        made = {**head, "metadata": {"name": "batch"}, "spec": batch}
        until(lambda: asked(policy.plane, "POST", where, made)[0] == 200, "it is served")
        name = f"clustergroupupgrade/{policy.namespace}/batch: enforces policies"
        # A kind that was not there before is looked for every few seconds.
        until(lambda: name in policy.log(), "the worker has seen it")
        policy.mark_root()
        until(lambda: name in policy.refusal(), "it says so")
        assert {policy.pointer(each) for each in policy.planes} == {new}
        policy.plane.ask("DELETE", f"{where}/batch")
        policy.settle("3")
