"""Policies from the command line, on a hub that is served over HTTP."""

import json
from pathlib import Path

import yaml

from tests.command import tidegate
from tests.hub_stage import PARTITION, HubStage, strategy
from tests.policies import spec
from tests.served_hub import served_hub
from tests.wave_stage import StagedSetStage, WaveStage
from tidegate.kubernetes.port import POLICY
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import Duration

QUICK = strategy(
    progressivePerGroup={"minSuccessTime": "0s", "progressDeadline": "20m"},
)


def stage() -> HubStage:
    """A hub in real time, whose agents answer at once."""
    found = HubStage(each=1, clock=SystemClock(), rolloutStrategy=QUICK)
    for agent in found.hub.agents.values():
        agent.delay = Duration(0)
    found.hub.settle()
    return found


def test_a_worker_rolls_a_policy_out_over_http(tmp_path: Path) -> None:
    """Observing writes nothing; acting gives every cluster the revision, and it is recorded."""
    hub = stage()
    database = str(tmp_path / "journal.db")
    with served_hub(hub, tmp_path) as kubeconfig:
        common = ("--hub", str(kubeconfig), "--database", database)
        seen = tidegate("run", "--once", *common, cwd=tmp_path)
        assert seen.returncode == 0, seen.stderr
        assert hub.values() == {}
        done = tidegate("run", "--once", "--act", "policies/*", *common, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert set(hub.values().values()) == {"1"}
        assert len(hub.values()) == 3
    listed = tidegate("get", "rollouts", "--database", database, "-o", "json", cwd=tmp_path)
    assert PARTITION in listed.stdout
    why = tidegate("why", PARTITION, "prod-1", "--database", database, cwd=tmp_path)
    assert why.returncode == 0, why.stderr


def test_a_plan_shows_what_is_written_and_refuses_what_cannot_be_staged(tmp_path: Path) -> None:
    """Each policy with its groups; a refusal is exit 1, with its place."""
    hub = stage()
    hub.write("1", "policies")
    hub.hub.settle()
    with served_hub(hub, tmp_path) as kubeconfig:
        words = ("policies", "plan", "--hub", str(kubeconfig))
        shown = tidegate(*words, cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr
        assert "policies.web  plain, wants" in shown.stdout
        assert "dev: 0 of 1 have it" in shown.stdout
        assert "writes placement tidegate-web with 3 clusters" in shown.stdout
        document = json.loads(tidegate(*words, "-o", "json", cwd=tmp_path).stdout)
        assert document["kind"] == "PolicyStagePlanList"
        hub.write("2", disabled=True)
        refused = tidegate(*words, "policies.web", cwd=tmp_path)
        assert refused.returncode == 1
        assert "policies.web: spec.disabled: differs from the revision before" in refused.stderr
        # Nor does a worker wait for ever for what only a person can change.
        once = ("run", "--once", "--database", str(tmp_path / "j.db"), "--hub", str(kubeconfig))
        run = tidegate(*once, cwd=tmp_path)
        assert run.returncode == 1
        assert run.stderr.count("differs from the revision before") == 1


def test_a_policy_is_taken_over_and_handed_back(tmp_path: Path) -> None:
    """Both need an answer or --yes, and are in the journal."""
    hub = stage()
    hub.write("1", "policies")
    hub.hub.settle()
    database = str(tmp_path / "journal.db")
    with served_hub(hub, tmp_path) as kubeconfig:
        common = ("policies.web", "--hub", str(kubeconfig), "--database", database)
        asked = tidegate("policies", "adopt", *common, cwd=tmp_path)
        assert asked.returncode == 2
        assert "--yes" in asked.stderr
        done = tidegate("policies", "adopt", *common, "--yes", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "adopted at" in done.stdout
        assert "3 clusters keep what they have" in done.stdout
        early = tidegate("policies", "leave", *common, "--yes", cwd=tmp_path)
        assert early.returncode == 2
        assert "paused is not true" in early.stderr
        hub.declare(rolloutStrategy=QUICK, paused=True)
        back = tidegate("policies", "leave", *common, "--yes", "--reason", "x", cwd=tmp_path)
        assert back.returncode == 0, back.stderr
        assert "left at" in back.stdout
    root = hub.hub.api.document(hub.hub.api.records[POLICY, "policies", "web"])
    assert isinstance(root["spec"]["policy-templates"][0]["objectDefinition"]["spec"], dict)
    words = ("journal", "show", "-p", "by-hand/policies", "--database", database, "-o", "json")
    kept = tidegate(*words)
    assert "adopted" in kept.stdout
    assert "left" in kept.stdout


def test_a_set_is_planned_compared_and_rolled_out_as_one(tmp_path: Path) -> None:
    """Its policies are named, with what an edit of one of them changes."""
    hub = StagedSetStage(each=1, clock=SystemClock(), rolloutStrategy=QUICK)
    for agent in hub.hub.agents.values():
        agent.delay = Duration(0)
    hub.write("1", "policies")
    hub.hub.settle()
    with served_hub(hub, tmp_path) as kubeconfig:
        common = ("--hub", str(kubeconfig), "--database", str(tmp_path / "j.db"))
        plan = tidegate("policies", "plan", "--hub", str(kubeconfig), cwd=tmp_path).stdout
        assert "(from web-source)" in plan
        assert "staged by pointers: db, web" in plan
        assert "writes configmap all-rev-" in plan
        hub.write_member("db", "2")
        done = tidegate("run", "--once", "--act", "policies/*", *common, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert set(hub.all_values().values()) == {("1", "2")}
        hub.write_member("web", "3")
        diff = tidegate("policies", "diff", "policies.all", *common[:2], cwd=tmp_path).stdout
        assert "web: spec.policy-templates[0].objectDefinition.spec" in diff
        assert "db: " not in diff
        rehearsed = tidegate("simulate", "policies", *common[:2], "policies.all", cwd=tmp_path)
        assert rehearsed.returncode == 0, rehearsed.stderr
        assert "Succeeded after 15s · 3 of 3 done" in rehearsed.stdout
        edited = tmp_path / "edited.yaml"
        edited.write_text(yaml.safe_dump({"kind": "Policy", "spec": spec()}))
        one = ("--policy", str(edited))
        refused = tidegate("simulate", "policies", *common[:2], "policies.all", *one, cwd=tmp_path)
        assert refused.returncode == 2
        assert "--policy: policies.all is a set" in refused.stderr


def test_the_definition_is_printed() -> None:
    """As a document that a server can take."""
    document = yaml.safe_load(tidegate("policies", "crd").stdout)
    assert document["kind"] == "CustomResourceDefinition"
    assert document["metadata"]["name"] == "rollouts.tidegate.dev"


def test_without_a_hub_nothing_is_asked() -> None:
    """The message names the flag."""
    found = tidegate("policies", "plan")
    assert found.returncode == 2
    assert "--hub KUBECONFIG" in found.stderr


def test_two_revisions_are_compared_field_by_field(tmp_path: Path) -> None:
    """By default what clusters have with what the author wants; others by their names."""
    hub = stage()
    hub.write("1", "policies")
    hub.hub.settle()
    hub.write("2")
    with served_hub(hub, tmp_path) as kubeconfig:
        words = ("policies", "diff", "policies.web")
        common = ("--hub", str(kubeconfig))
        shown = tidegate(*words, *common)
        assert shown.returncode == 0, shown.stderr
        document = json.loads(tidegate(*words, "-o", "json", *common).stdout)
        (change,) = document["changes"]
        assert change["path"].endswith("objectDefinition.data.value")
        assert (change["before"], change["after"]) == ('"1"', '"2"')
        assert change["path"] in shown.stdout
        same = tidegate(*words, document["after"], document["after"], *common)
        assert "no difference" in same.stdout
        missing = tidegate(*words, "abc", *common)
        assert missing.returncode == 2
        assert 'no revision "abc"' in missing.stderr


def test_waves_are_planned_enforced_and_handed_back(tmp_path: Path) -> None:
    """The plan says which way a policy goes, and what an edit would mean."""
    hub = WaveStage(each=1, clock=SystemClock(), rolloutStrategy=QUICK)
    for agent in hub.hub.agents.values():
        agent.delay = Duration(0)
    hub.hub.settle()
    database = str(tmp_path / "journal.db")
    with served_hub(hub, tmp_path) as kubeconfig:
        common = ("--hub", str(kubeconfig), "--database", database)
        words = ("policies", "plan", "--hub", str(kubeconfig))
        shown = tidegate(*words, cwd=tmp_path)
        assert "policies.web  inform, wants enforce-" in shown.stdout
        assert "enforced in waves: web" in shown.stdout
        assert "writes placementbinding tidegate.waves-web" in shown.stdout
        assert "tolerate cluster.open-cluster-management.io/unreachable" in shown.stdout
        done = tidegate("run", "--once", "--act", "policies/*", *common, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(hub.values()) == 3
        (item,) = json.loads(tidegate(*words, "-o", "json", cwd=tmp_path).stdout)["items"]
        assert (item["stage"], item["policies"], item["writes"]) == ("waves", ["web"], [])
        assert [group["given"] for group in item["groups"]] == [1, 1, 1]
        assert "an edit of the content reaches 3 enforced clusters at once" in item["warnings"][0]
        diff = tidegate("policies", "diff", "policies.web", "--hub", str(kubeconfig))
        assert diff.returncode == 2
        assert "spec.stage: is waves" in diff.stderr
        hub.declare(rolloutStrategy=QUICK, paused=True)
        leave = ("policies", "leave", "policies.web", "--yes", *common)
        back = tidegate(*leave, "--take-back", cwd=tmp_path)
        assert back.returncode == 0, back.stderr
        assert "taken back at inform-" in back.stdout
        assert "3 clusters inform again" in back.stdout
        assert hub.enforced() == set()
        assert hub.ours() == set()


def test_an_approval_shows_the_change_and_the_clusters_that_it_lets_in(tmp_path: Path) -> None:
    """Bound to the revision; without a hub it says how to see the change."""
    hub = stage()
    hub.write("1", "policies")
    hub.hub.settle()
    manual = {"type": "ManualPerGroup", "manualPerGroup": {"progressDeadline": "20m"}}
    hub.declare(rolloutStrategy=manual)
    hub.write("2")
    database = str(tmp_path / "journal.db")
    with served_hub(hub, tmp_path) as kubeconfig:
        common = ("--database", database)
        words = ("run", "--once", "--act", "policies/*", "--hub", str(kubeconfig), *common)
        seen = tidegate(*words)
        assert seen.returncode == 0, seen.stderr
        blind = tidegate("approve", PARTITION, "--group", "dev", *common)
        assert "what it changes: tidegate policies diff policies.web --hub" in blind.stderr
        assert "lets in: dev-1\n" in blind.stderr
        shown = tidegate(
            "approve", PARTITION, "--group", "stage", "--hub", str(kubeconfig), *common
        )
        assert shown.returncode == 0, shown.stderr
        assert '    - "1"\n    + "2"\n' in shown.stderr
        assert "lets in: stage-1\n" in shown.stderr
        assert hub.hub.api.records
        assert tidegate(*words).returncode == 0
        assert {name for name, value in hub.values().items() if value == "2"} == {
            *("dev-1", "stage-1")
        }
    listed = tidegate("get", "policies", *common)
    assert "GROUPS" in listed.stdout
    assert "dev 1/1, stage 1/1, prod 0/1" in listed.stdout
    assert '"kind": "RolloutList"' in tidegate("get", "policies", "-o", "json", *common).stdout


def test_a_way_back_says_what_it_does_not_undo(tmp_path: Path) -> None:
    """Before it is recorded."""
    hub = stage()
    hub.write("1", "policies")
    hub.hub.settle()
    back = {"type": "ManualPerGroup", "manualPerGroup": {}, "onFailure": "rollback"}
    approved = [{"groupName": "dev", "rolloutApproved": True}]
    hub.declare(rolloutStrategy=back, decisionGroups=approved)
    hub.write("2")
    database = str(tmp_path / "journal.db")
    with served_hub(hub, tmp_path) as kubeconfig:
        words = ("run", "--once", "--act", "policies/*", "--hub", str(kubeconfig))
        assert tidegate(*words, "--database", database).returncode == 0
        found = tidegate("abort", PARTITION, "--yes", "--database", database)
        assert found.returncode == 0, found.stderr
        assert "rolls back 1 target in dev to" in found.stderr
        assert "stay, unless it prunes them" in found.stderr
        assert tidegate(*words, "--database", database).returncode == 0
        assert set(hub.values().values()) == {"1"}
