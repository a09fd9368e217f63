"""The page that says what is ours and what is the user's, the alerts and the dashboard are true."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegate.kind_table import reasons
from tidegate.kinds.upgrades.core.faults import FaultParty, fault_of
from tidegate.kinds.upgrades.core.reasons import UPGRADE_REASONS
from tidegate.kinds.upgrades.telemetry.table import EVERY
from tidegate.model.reason import Outcome

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "upgrades-support.md").read_text(encoding="utf-8")
RULES = yaml.safe_load((ROOT / "deploy/prometheus/upgrades.rules.yaml").read_bytes())
CASES = yaml.safe_load((ROOT / "deploy/prometheus/upgrades.test.yaml").read_bytes())
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "upgrades.json").read_bytes())
ALERTS = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
SECTIONS = {
    "## No fault: it waits": None,
    "## User: the owner is notified": FaultParty.USER,
    "## Outside: retried, then paged": FaultParty.OUTSIDE,
    "## Tidegate: paged": FaultParty.OURS,
}
METRIC = re.compile(r"\b(?:aus|tidegate|qontract)_[a-z_]+")


def classed() -> dict[str, list[FaultParty | None]]:
    """Every name in the second column of the page's tables, with the class it stands in."""
    found: dict[str, list[FaultParty | None]] = {}
    for head, fault in SECTIONS.items():
        body = PAGE.split(f"\n{head}\n")[1].split("\n## ")[0]
        for line in body.splitlines():
            cells = line.split("|")
            for name in re.findall(r"`(\w+)`", cells[2]) if len(cells) > 3 else ():
                found.setdefault(name, []).append(fault)
    return found


def exprs() -> Iterator[tuple[str, str]]:
    """Every expression of the dashboard, with its panel."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def test_every_reason_not_to_upgrade_has_a_fault_or_none() -> None:
    """Each stands in one row of the page, in the class the numbers have for it."""
    mine = [each for table in UPGRADE_REASONS for each in table]
    shut = [each for each in mine if each.entry.outcome is not Outcome.PASS]
    shut += [each for each in reasons() if each not in mine and fault_of(each) is not None]
    found = classed()
    wrong = {
        each.value: found.get(each.value)
        for each in shut
        if found.get(each.value) != [fault_of(each)]
    }
    assert not wrong, (
        "a row in docs/guides/upgrades-support.md, as kinds/upgrades/core/faults.py has it"
    )


def test_every_alert_is_in_one_class_and_has_its_runbook() -> None:
    """By its label `fault`; the runbook it names is a section of the page."""
    heads = {line.removeprefix("### ").lower() for line in PAGE.splitlines() if line[:4] == "### "}
    found = classed()
    for name, rule in ALERTS.items():
        assert found[name] == [FaultParty(rule["labels"]["fault"])], name
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert path == "docs/guides/upgrades-support.md"
        assert anchor == name.lower()
        assert anchor in heads, name
        assert rule["annotations"]["summary"]


def test_the_page_speaks_of_nothing_else() -> None:
    """Every name in its tables is a reason or an alert."""
    known = {each.value for each in reasons()} | set(ALERTS)
    assert set(classed()) <= known


def test_there_are_at_most_eight_alerts() -> None:
    """More would not be read."""
    assert 4 <= len(ALERTS) <= 8


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_tested_to_fire_and_not_to(name: str) -> None:
    """And has the severity of its environment, unless it is the user's: then it is `info`."""
    cases = [
        case
        for test in CASES["tests"]
        for case in test["alert_rule_test"]
        if case["alertname"] == name
    ]
    fired = [alert["exp_labels"] for case in cases for alert in case.get("exp_alerts", ())]
    assert fired
    assert any(not case.get("exp_alerts") for case in cases)
    labels = ALERTS[name]["labels"]
    if labels["fault"] == "user":
        assert labels["severity"] == "info"
    else:
        assert "severity" not in labels, "it would hide that of the environment"
        assert (
            "group_left (severity)" in ALERTS[name]["expr"] or "severity)" in ALERTS[name]["expr"]
        )


def test_stage_is_shown_not_to_page() -> None:
    """Each of ours is tested with an environment whose alerts page no one."""
    fired = [
        (case["alertname"], alert["exp_labels"]["severity"])
        for test in CASES["tests"]
        for case in test["alert_rule_test"]
        for alert in case.get("exp_alerts", ())
        if alert["exp_labels"].get("ocm_env") == "stage"
    ]
    assert len(fired) >= 3
    assert {severity for _, severity in fired} == {"info"}


@pytest.mark.parametrize("text", [*(rule["expr"] for rule in ALERTS.values()), PAGE])
def test_alerts_and_the_page_speak_of_metrics_that_are_there(text: str) -> None:
    """A name that is nowhere would never fire."""
    ours = {"tidegate_leader", "tidegate_queue_depth"}
    assert set(METRIC.findall(text)) <= {each.name for each in EVERY} | ours


def test_the_dashboard_speaks_of_metrics_and_labels_that_are_there() -> None:
    """Every metric it asks for, and every label it asks it by."""
    labels = {each.name: set(each.labels) for each in EVERY}
    for title, expr in exprs():
        for name, picked in re.findall(r"([a-z_]{12,})(?:\{([^}]*)\})?", expr):
            if METRIC.fullmatch(name):
                asked = set(re.findall(r"(\w+)=~?\"", picked)) | set(
                    re.findall(r"(\w+)!=\"", picked)
                )
                assert asked <= labels[name], f"{title}: {name}"


def test_the_dashboard_is_filtered_by_organisation() -> None:
    """Every panel but those about the service itself."""
    names = [each["name"] for each in DASHBOARD["templating"]["list"]]
    assert "org_id" in names
    titles = [panel["title"] for panel in DASHBOARD["panels"]]
    service = titles[titles.index("The service") :]
    unfiltered = {title for title, expr in exprs() if "$org_id" not in expr}
    assert unfiltered <= set(service)
    assert {each for each in re.findall(r"\$(\w+)", json.dumps(DASHBOARD)) if each[0] != "_"} <= {
        *names,
        "datasource",
    }


def test_the_dashboard_calls_organisations_by_their_names() -> None:
    """In the list to choose from, and in every table; an id says nothing to a reader."""
    (variable,) = [each for each in DASHBOARD["templating"]["list"] if each["name"] == "org_id"]
    shown = 'x{instance="a",job="b",ocm_env="prod",org_id="o-1",org_name="Pay, Inc",rules="strict"}'
    found = re.search(variable["regex"].strip("/").replace("(?<", "(?P<"), shown)
    assert found is not None
    assert found.groupdict() == {"value": "o-1", "text": "Pay, Inc"}
    for panel in DASHBOARD["panels"]:
        for each in panel.get("transformations", ()):
            order = each["options"].get("indexByName", {})
            assert "org_id" not in set(order) - set(each["options"].get("excludeByName", {})), panel
            if "org_name" in order:
                assert each["options"]["renameByName"]["org_name"] == "organisation"


def test_the_dashboard_shows_what_is_excluded_time_zones_and_dates() -> None:
    """Labels at fault, schedules with their zone, and when a version will have soaked."""
    asked = dict(exprs())
    assert "tidegate_upgrade_problem" in asked["Excluded clusters and labels at fault"]
    assert "timezone" in asked["Policies"]
    assert "tidegate_upgrade_cluster_info" in asked["Policies"]
    (soaking,) = [each for each in DASHBOARD["panels"] if each["title"] == "Soaking versions"]
    dates = soaking["targets"][1]["expr"]
    assert dates.startswith("max by (cluster_id, version) (tidegate_upgrade_soaked_timestamp")
    (field,) = soaking["fieldConfig"]["overrides"]
    assert field["properties"] == [{"id": "unit", "value": "dateTimeAsIso"}]


def test_the_dashboard_shows_marks_as_people_know_them() -> None:
    """0 soaked, -1 scheduled, -2 started, -3 for long, -4 blocked."""
    (matrix,) = [each for each in DASHBOARD["panels"] if each["title"] == "Clusters and versions"]
    options: dict[str, Any] = matrix["fieldConfig"]["defaults"]["mappings"][0]["options"]
    marks = {number: each["text"] for number, each in options.items()}
    assert marks == {"0": "🎉", "-1": "⏰", "-2": "💫", "-3": "💫❗", "-4": "⛔"}
    assert len(set(Counter(each["id"] for each in DASHBOARD["panels"]).values())) == 1
