"""Rollouts of policies, and the authors' Policies, in files: checked, and carried out."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.cli.test_policies import QUICK, stage
from tests.command import tidegate
from tests.hub_stage import PARTITION
from tests.policies import body, spec, template
from tests.served_hub import served_hub
from tidegate.kubernetes.port import POLICY, ROLLOUT

HEAD = {"apiVersion": "tidegate.dev/v1alpha1", "kind": "Rollout"}


def write(folder: Path, policy: dict[str, Any], **rollout: Any) -> Path:
    """A Rollout and its author's Policy, each in a file."""
    fields = {
        "policy": "web",
        "source": {"namespace": "web-source"},
        "rolloutStrategy": QUICK,
        **rollout,
    }
    names = {"namespace": "policies", "name": "web"}
    folder.mkdir(exist_ok=True)
    text = yaml.safe_dump({**HEAD, "metadata": names, "spec": fields}, sort_keys=False)
    (folder / "rollout.yaml").write_text(text, "utf-8")
    document = {
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "Policy",
        "metadata": {"namespace": "web-source", "name": "web"},
        "spec": policy,
    }
    (folder / "policy.yaml").write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")
    return folder


def test_files_that_can_be_staged_have_no_problem(tmp_path: Path) -> None:
    """In a directory, or by their names."""
    folder = write(tmp_path / "git", spec())
    found = tidegate("validate", str(folder))
    assert found.returncode == 0, found.stdout
    assert "no problem in 2 files" in found.stderr
    named = tidegate("validate", str(folder / "rollout.yaml"), str(folder / "policy.yaml"))
    assert "no problem in 2 files" in named.stderr


def test_every_problem_has_its_file_and_line(tmp_path: Path) -> None:
    """Fields, the strategy's rules, what cannot be staged, two of one name."""
    broken = template("web", {**body(), "x": "{{hub .ManagedClusterName hub}}"})
    folder = write(tmp_path / "git", spec(broken, template("two", kind="OperatorPolicy")))
    (folder / "again.yaml").write_text((folder / "rollout.yaml").read_text("utf-8"), "utf-8")
    found = tidegate("validate", str(folder), "-o", "json")
    assert found.returncode == 1
    findings = json.loads(found.stdout)["findings"]
    shown = {(Path(each["file"]).name, each["rule"], each["message"]) for each in findings}
    words = "2 rollouts are declared for policies.web"
    assert {each[:2] for each in shown if each[2] == words} == {
        ("rollout.yaml", "duplicate"),
        ("again.yaml", "duplicate"),
    }
    lines = (folder / "policy.yaml").read_text("utf-8").splitlines()
    (hub,) = [each for each in findings if "not resolved" in each["message"]]
    assert "{{hub" in lines[hub["line"] - 1]
    (kind,) = [each for each in findings if "cannot say which revision" in each["message"]]
    assert "OperatorPolicy" in lines[kind["line"] - 1]
    wrong = {"type": "Progressive", "progressive": {"maxFailures": "3"}}
    write(folder, spec(), rolloutStrategy=wrong, aproved=True)
    (folder / "again.yaml").unlink()
    text = tidegate("validate", str(folder / "rollout.yaml")).stdout
    assert "rollout.yaml:" in text
    assert "spec.rolloutStrategy.progressive.maxFailures" in text
    assert "aproved" in text


def test_a_policy_that_no_rollout_names_is_not_judged(tmp_path: Path) -> None:
    """It may be for anything."""
    folder = write(tmp_path / "git", spec(template(kind="OperatorPolicy")))
    (folder / "rollout.yaml").unlink()
    assert tidegate("validate", str(folder)).returncode == 0


def test_a_hub_without_our_objects_takes_rollouts_from_files(tmp_path: Path) -> None:
    """Nothing of ours is on it before; approvals are in the file, or given by commands."""
    hub = stage()
    for kind, namespace in ((ROLLOUT, "policies"), (POLICY, "web-source")):
        hub.hub.drop(kind, namespace, "web")
    manual = {"type": "ManualPerGroup", "manualPerGroup": {"progressDeadline": "20m"}}
    approved = [{"groupName": "dev", "rolloutApproved": True}]
    wanted = spec(template(spec=body("7")))
    folder = write(tmp_path / "git", wanted, rolloutStrategy=manual, decisionGroups=approved)
    database = str(tmp_path / "journal.db")
    with served_hub(hub, tmp_path) as kubeconfig:
        common = ("--hub", str(kubeconfig), "--policies", str(folder))
        none = tidegate("policies", "plan", "--hub", str(kubeconfig))
        assert "no rollout is declared" in none.stderr
        plan = tidegate("policies", "plan", *common)
        assert "policies.web  absent, wants" in plan.stdout, plan.stderr
        acts = ("run", "--once", "--act", "policies/*", *common, "--database", database)
        done = tidegate(*acts)
        assert done.returncode == 0, done.stderr
        assert hub.values() == {"dev-1": "7"}
        words = ("approve", PARTITION, "--group", "stage", "--database", database, "--yes")
        given = tidegate(*words)
        assert given.returncode == 0, given.stderr
        assert tidegate(*acts).returncode == 0
        assert hub.values() == {"dev-1": "7", "stage-1": "7"}
        write(folder, spec(template(kind="CertificatePolicy")))
        refused = tidegate("policies", "plan", *common)
        assert refused.returncode == 1
        assert "CertificatePolicy" in refused.stderr
