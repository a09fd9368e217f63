"""Alerts and dashboards of every kind name numbers that exist; few page, and each has its page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RULES = sorted((ROOT / "deploy/prometheus").glob("*.rules.yaml"))
DASHBOARDS = sorted((ROOT / "deploy/grafana").glob("*.json"))
CHART = ROOT / "deploy/chart"
BOOKS = ROOT / "docs/runbooks"
KINDS = {"integrations", "policies", "promotions", "upgrades"}
METRIC = re.compile(r"\b(?:aus|tidegate|qontract)_[a-z_]+")
LABELS = re.compile(r"\{([^}]*)\}")
# What a histogram exports beside its own name.
_SUFFIX = re.compile(r"_(bucket|sum|count)$")


def alerts() -> dict[str, dict[str, Any]]:
    """Every alert there is, by name."""
    return {
        rule["alert"]: rule
        for path in RULES
        for group in yaml.safe_load(path.read_bytes())["groups"]
        for rule in group["rules"]
    }


def known() -> dict[str, set[str]]:
    """Every metric of the reference, with its labels."""
    found: dict[str, set[str]] = {}
    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for line in page.splitlines():
        cells = line.split(" | ")
        if line.startswith("| `") and len(cells) == 4:
            found[cells[0].strip("|` ")] = set(re.findall(r"`(\w+)`", cells[2]))
    return found


def expressions() -> list[tuple[str, str]]:
    """Every expression of alerts and dashboards, with what it is of."""
    found = [(name, rule["expr"]) for name, rule in alerts().items()]
    for path in DASHBOARDS:
        for panel in json.loads(path.read_bytes())["panels"]:
            found += (
                (f"{path.stem}: {panel['title']}", t["expr"]) for t in panel.get("targets", ())
            )
    return found


def test_every_kind_has_alerts_and_a_dashboard() -> None:
    """And there is one of each for all kinds."""
    assert {path.name.partition(".")[0] for path in RULES} == KINDS | {"tidegate"}
    assert {path.stem for path in DASHBOARDS} == KINDS | {"tidegate"}


def test_every_metric_that_is_asked_for_is_exported() -> None:
    """With the labels by which it is chosen."""
    table = known()
    assert len(table) > 50
    wrong = []
    for of, text in expressions():
        for match in METRIC.finditer(text):
            name = _SUFFIX.sub("", match[0]) if match[0] not in table else match[0]
            chosen = LABELS.match(text, match.end())
            asked = set(re.findall(r"(\w+)\s*(?:=|!)", chosen[1])) if chosen else set()
            if name not in table or not asked <= table[name]:
                wrong.append((of, match[0], sorted(asked - table.get(name, set()))))
    assert wrong == []


def test_at_most_eight_alerts_page() -> None:
    """Those that say critical, and those that have the severity of their environment."""
    paging = [
        n
        for n, rule in alerts().items()
        if rule["labels"].get("severity", "critical") == "critical"
    ]
    assert len(paging) <= 8
    assert {"TidegateGone", "TidegateNotLooking"} <= set(paging)


@pytest.mark.parametrize("name", alerts())
def test_an_alert_has_a_page_that_its_annotation_names(name: str) -> None:
    """And is in the list of all of them."""
    rule = alerts()[name]
    path = rule["annotations"]["runbook"].partition("#")[0]
    assert (ROOT / path).is_file()
    assert f"[{name}](" in (BOOKS / "index.md").read_text(encoding="utf-8")
    if path.startswith("docs/runbooks"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert text.startswith(f"# {name}\n")
        assert f"Severity: {rule['labels']['severity']}" in text
        assert all(f"**{each}" in text for each in ("Effect.", "Look at", "Do."))


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_each_alert_is_tested_to_fire_and_not_to(path: Path) -> None:
    """`promtool test rules` runs these (tests/real/test_alert_rules.py)."""
    cases = yaml.safe_load(path.with_name(path.name.replace(".rules.", ".test.")).read_bytes())
    tried = [case for test in cases["tests"] for case in test["alert_rule_test"]]
    names = {
        rule["alert"] for g in yaml.safe_load(path.read_bytes())["groups"] for rule in g["rules"]
    }
    assert {case["alertname"] for case in tried if case.get("exp_alerts")} == names
    assert {case["alertname"] for case in tried if not case.get("exp_alerts")} >= names


def test_the_chart_has_all_of_them() -> None:
    """By links, so that there is one text of each."""
    for folder, paths in (("rules", RULES), ("dashboards", DASHBOARDS)):
        linked = {path.name: path.resolve() for path in (CHART / folder).iterdir()}
        assert linked == {path.name: path for path in paths}
