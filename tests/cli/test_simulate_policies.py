"""`simulate policies`: from a file, and from a hub that is served over HTTP and only read."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import tidegate
from tests.hub_stage import HubStage
from tests.scenarios.policy_stories import FILES
from tests.served_hub import served_hub
from tidegate.kinds.policies.core.revision import revision_of
from tidegate.kubernetes.port import POLICY
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import Duration

STORIES = {path.stem: path for path in FILES}
EXAMPLE = Path("examples/policies.yaml").resolve()


def test_a_story_tells_who_gets_what_why_the_others_wait_and_how_it_ends() -> None:
    """The example of the pages."""
    shown = tidegate("simulate", "policies", str(EXAMPLE), "--why", "prod-07")
    assert shown.returncode == 0, shown.stderr
    for each in (
        "▶ canary  canary-1, canary-2",
        "stage waits: 1 failure, 0 allowed in canary (canary-2)",
        "admission webhook denied the request: no memory limit",
        "prod waits: prod is not approved",
        "✓ completed: 26 on 3",
        "Succeeded after 4h3m · 26 of 26 done",
        "on 1, wants 2",
    ):
        assert each in shown.stdout


def test_a_check_fails_where_a_story_goes_another_way(tmp_path: Path) -> None:
    """Exit 3: it is not as expected; or, where nothing is expected, it does not succeed."""
    path = STORIES["silent-agent"]
    assert tidegate("simulate", "policies", str(path), "--check").returncode == 0
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    document["expect"]["clusters"]["dev-2"] = ["1", "2"]
    other = tmp_path / "other.yaml"
    other.write_text(json.dumps(document), encoding="utf-8")
    assert tidegate("simulate", "policies", str(other), "--check").returncode == 3
    del document["expect"]
    other.write_text(json.dumps(document), encoding="utf-8")
    assert tidegate("simulate", "policies", str(other), "--check").returncode == 3


def test_the_document_has_the_steps_and_a_picture_is_written(tmp_path: Path) -> None:
    """One part a policy; a picture each."""
    words = ("simulate", "policies", str(STORIES["two-policies"]), "-o", "json", "--svg", "p.svg")
    shown = tidegate(*words, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["kind"] == "SimulatedPolicies"
    assert {each["policy"]: each["summary"] for each in found["policies"]} == {
        "web": "Failed",
        "db": "Succeeded",
    }
    assert found["asExpected"] is True
    assert found["policies"][0]["steps"][0]["step"]["start"] == ["dev-1", "dev-2"]
    pictures = [(tmp_path / f"p-{each}.svg").read_text("utf-8") for each in ("web", "db")]
    assert all(each.startswith("<svg") for each in pictures)


def test_answers_are_drawn_by_the_seed(tmp_path: Path) -> None:
    """The same seed tells the same story, to the second."""
    document = yaml.safe_load(STORIES["max-failures"].read_text(encoding="utf-8"))
    document["agents"]["answersAfter"] = {"from": "10s", "to": "20m"}
    path = tmp_path / "drawn.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    told = [
        tidegate("simulate", "policies", str(path), "--seed", seed, "-o", "json").stdout
        for seed in ("1", "1", "2")
    ]
    assert told[0] == told[1]
    assert json.loads(told[0])["policies"] != json.loads(told[2])["policies"]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"groups": None}, "groups: missing"),
        ({"policies": [{"name": "web", "rollout": {}}]}, "policies[0].wants: missing"),
        (
            {"policies": [{"name": "web", "wants": "1", "rollout": {"rolloutStrategi": {}}}]},
            "policies[0].rollout.rolloutStrategi: unknown field",
        ),
        ({"agents": {"clusters": {"dev-9": {}}}}, "agents.clusters.dev-9: no such cluster"),
        ({"events": [{"at": "1m"}]}, "events[0]: 0 things happen"),
        ({"events": [{"pause": True}]}, "events[0]: no moment, or two"),
        ({"events": [{"at": "1m", "approve": ["qa"]}]}, 'no "qa" here'),
        ({"events": [{"when": {"group": "dev", "is": "Fine"}, "pause": True}]}, 'no "Fine" here'),
        ({"events": [{"at": "1m", "leave": "dev-9"}]}, 'no cluster "dev-9"'),
        ({"revisions": {"1": {}}}, "revisions.1:"),
        ({"sneeze": 1}, "sneeze: unknown field"),
    ],
    ids=str,
)
def test_what_is_written_wrong_is_named_with_its_place(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """Before anything is simulated."""
    document = yaml.safe_load(STORIES["new-policy"].read_text(encoding="utf-8"))
    path = tmp_path / "story.yaml"
    path.write_text(json.dumps({**document, **change}), encoding="utf-8")
    shown = tidegate("simulate", "policies", str(path))
    assert shown.returncode == 2
    assert said in shown.stderr


def stage() -> HubStage:
    """A hub with a plain policy that all clusters have; one of prod is out of reach."""
    found = HubStage(clock=SystemClock())
    found.write("1", "policies")
    for agent in found.hub.agents.values():
        agent.delay = Duration(0)
    found.hub.put_cluster("prod-2", {"env": "prod"}, available=False)
    found.hub.settle()
    found.hub.settle()
    return found


def test_an_edit_is_rehearsed_on_a_hub_and_nothing_is_written_to_it(tmp_path: Path) -> None:
    """Clusters, groups and rollouts are the hub's; a cluster out of reach gives no answer."""
    hub = stage()
    edited = tmp_path / "edited.yaml"
    source = hub.hub.api.document(hub.hub.api.records[POLICY, "web-source", "web"])
    template = source["spec"]["policy-templates"][0]["objectDefinition"]
    template["spec"]["object-templates"][0]["objectDefinition"]["data"]["value"] = "2"
    edited.write_text(json.dumps({"kind": "Policy", "spec": source["spec"]}), encoding="utf-8")
    with served_hub(hub, tmp_path) as kubeconfig:
        version = hub.hub.api.version
        words = ("simulate", "policies", "--hub", str(kubeconfig), "policies.web")
        shown = tidegate(*words, "--policy", str(edited), "-o", "json", cwd=tmp_path)
        again = tidegate(*words, cwd=tmp_path)
        assert hub.hub.api.version == version
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)["policies"][0]
    assert found["revisions"]["next"] == revision_of(source["spec"]).name
    assert found["story"] == [
        "▶ dev: dev-1, dev-2 get next",
        "✓ done: dev-1, dev-2",
        "▶ stage: stage-1, stage-2 get next",
        "✓ done: stage-1, stage-2",
        "▶ prod: prod-1, prod-2 get next",
        "✓ done: prod-1",
        "✗ no answer: prod-2",
        "■ Failed",
    ]
    assert found["clusters"]["prod-1"] == ["now", "next"]
    assert found["clusters"]["prod-2"] == []
    # Without an edit, one is made up.
    assert "▶ prod  prod-1, prod-2" in again.stdout


def test_agents_of_a_hub_behave_as_a_file_says(tmp_path: Path) -> None:
    """What the hub does not have is refused, with the nearest name."""
    hub = stage()
    behaviour = tmp_path / "agents.yaml"
    with served_hub(hub, tmp_path) as kubeconfig:
        words = ("simulate", "policies", "--hub", str(kubeconfig), "--behaviour", str(behaviour))
        behaviour.write_text('{"agents": {"clusters": {"dev-1": {"fails": {"next": "no"}}}}}')
        shown = tidegate(*words, "--check", cwd=tmp_path)
        behaviour.write_text('{"agents": {"clusters": {"dve-1": {"silent": true}}}}')
        wrong = tidegate(*words, cwd=tmp_path)
        missing = tidegate(*words[:-2], "policies.wbe", cwd=tmp_path)
    assert shown.returncode == 3
    assert "1 failure, 0 allowed in dev (dev-1)" in shown.stdout
    assert wrong.returncode == 2
    assert "dve-1" in wrong.stderr
    assert "dev-1" in wrong.stderr
    assert missing.returncode == 2
    assert "policies.web" in missing.stderr
