"""Every section of the benchmark runs, at its smallest size: `make bench` is seldom run whole."""

import gc
from pathlib import Path

import msgspec
import pytest

from bench.hub_agents import policy_status, work_status
from bench.sections import SECTIONS, SMOKE
from tests.forked import Forked
from tests.policies import body, spec, template
from tests.real import needed
from tidegate.kinds.policies.core.compliance import report_of
from tidegate.kinds.policies.core.revision import revision_of, stamped
from tidegate.kinds.policies.wire.hub_doc import replica_of
from tidegate.model.target import Status

# They need an API server, and a hub: `make bench` says what they measure there.
_REAL = {"kube", "policies"}
# They need a Chromium.
_BROWSER = {"page"}
# Real processes, without their imports.
_SMOKE = msgspec.structs.replace(SMOKE, start=Forked)


@pytest.fixture(autouse=True)
def _frozen() -> None:
    """Garbage is collected before every measurement: what the tests keep is none."""
    gc.collect()
    gc.freeze()


@pytest.mark.parametrize("section", sorted(set(SECTIONS) - _REAL - _BROWSER))
def test_a_section_runs(section: str) -> None:
    told: list[str] = []
    report = SECTIONS[section](_SMOKE, told.append)
    assert report.rows
    assert all(report.tables)


@pytest.mark.real
@pytest.mark.parametrize("section", sorted(_BROWSER))
def test_a_section_in_a_browser_runs(section: str) -> None:
    needed("chromium", "CHROMIUM", "chromium")
    test_a_section_runs(section)


@pytest.mark.parametrize("section", sorted(_REAL | _BROWSER))
def test_a_section_whose_servers_are_missing_says_so(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And measures nothing, at once."""
    for each in ("KUBEBUILDER_ASSETS", "OCM_HUB_ASSETS", "CHROMIUM"):
        monkeypatch.setenv(each, str(tmp_path / "none"))
    told: list[str] = []
    report = SECTIONS[section](_SMOKE, told.append)
    assert not report.rows
    assert "not measured" in report.tables[0]
    assert "not measured" in told[0]


def test_agents_say_of_a_policy_what_its_template_says() -> None:
    """The stamp of the revision, and of one that the hub has not resolved nothing."""
    revision = revision_of(spec(template("web", body("1"))))
    given = stamped(revision.bodies[0], revision.name)
    status, said = policy_status({"spec": spec(template("web", given))})
    assert said == revision.name
    assert status is not None
    replica = replica_of({"metadata": {"namespace": "c1"}, "status": status})
    assert report_of("c1", revision, replica).status is Status.Succeeded
    again, _ = policy_status({"spec": spec(template("web", given)), "status": status})
    assert again is not None
    assert len(again["details"][0]["history"]) == 2
    assert policy_status({"spec": spec(template("web", "{{hub x hub}}"))}) == (None, "")


def test_agents_say_of_a_work_what_the_work_manager_asks_for() -> None:
    """Applied and no longer progressing, of the generation that was given."""
    manifest = {"data": {"value": "2"}}
    document = {"metadata": {"generation": 3}, "spec": {"workload": {"manifests": [manifest]}}}
    status, said = work_status(document)
    stated = {each["type"]: each["status"] for each in status["conditions"]}
    assert stated == {"Applied": "True", "Available": "True", "Progressing": "False"}
    assert {each["observedGeneration"] for each in status["conditions"]} == {3}
    assert said == "2"
