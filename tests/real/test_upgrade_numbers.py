"""Numbers about upgrades as a real Prometheus has them: scraped, joined, alerted on, and drawn."""

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.patience import PATIENCE_S
from tests.real import needed
from tests.real.prometheus import exporting, running
from tests.real.promtool import promtool
from tests.upgraded import decided, kept, world
from tidegate.kinds.upgrades.core.faults import FaultParty
from tidegate.kinds.upgrades.core.service import OcmEnvironment, Registration, UpgradeService
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.kinds.upgrades.telemetry.metrics import FailureSeen, SurveySeen, UpgradeNumbers
from tidegate.kinds.upgrades.telemetry.rows import ActSeen, RoundSeen
from tidegate.model.time import SECOND, Instant, format_second

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "upgrades.rules.yaml"
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "upgrades.json").read_bytes())
# What Grafana puts in their place.
VARIABLES = {"$__rate_interval": "1m", "$org_id": "o|p", "$sector": ".*", "$cluster": ".*"}
ORG = {"ocm_env": "prod", "org_id": "o"}


def expressions() -> list[str]:
    """Every expression of the dashboard, with its variables filled in."""
    found = [each["expr"] for panel in DASHBOARD["panels"] for each in panel.get("targets", ())]
    for name, value in VARIABLES.items():
        found = [each.replace(name, value) for each in found]
    assert not [each for each in found if "$" in each]
    return found


def lived(now: Instant) -> UpgradeNumbers:
    """Numbers of a fleet in which something of everything is so."""

    def ago(hours: int) -> str:
        return format_second(Instant(now - hours * 3600 * SECOND))

    policy = {"id": "1", "version": "4.12.18"}
    gate = {"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}
    begun = {**policy, "state": "started"}
    logging = {"id": "logging", "version": "1.2.0", "latest": "1.3.0"}
    asked = world(
        {"name": "canary", "version": "4.12.18", "available_upgrades": ["4.13.0"]},
        {"name": "soaking", "labels": {"soak-days": "5", "sector": "main", "mutexes": "m-1,m-2"}},
        {
            "name": "soon",
            "upgrade_policies": [{**policy, "state": "scheduled", "next_run": ago(-1)}],
        },
        {"name": "begun", "upgrade_policies": [{**begun, "next_run": ago(1)}]},
        {"name": "long", "upgrade_policies": [{**begun, "next_run": ago(7)}]},
        {"name": "broken", "upgrade_policies": [{**policy, "state": "failed", "next_run": ago(9)}]},
        {"name": "blocked", "labels": {"blocked-versions": "18$"}, "addons": [logging]},
        {"name": "mistaken", "labels": {"soak-days": "two"}},
        labels={"sector-deps.main": ""},
        gates=[gate],
        state=kept(1.005, format_second(now)),
        now=format_second(now),
    )
    asked["orgs"][0]["addons"] = True
    read, plan = decided(asked)
    numbers = UpgradeNumbers()
    environment = OcmEnvironment(name="prod", url="https://ocm", severity="critical")
    organizations = tuple(Registration(id=each, name=each, environment="prod") for each in "op")
    numbers.serving(UpgradeService((environment,), organizations), lambda: {("GET", "us"): 7})
    acts = (ActSeen("canary-uuid", StepKind.UPGRADE, "4.12.18", "done"),)
    seen = RoundSeen(env="prod", org_id="o", now=read.now, decided=(read, plan), acts=acts)
    numbers.round_ended(seen)
    numbers.surveyed(SurveySeen(env="prod", at=now, took_s=1.5))
    numbers.failed(FailureSeen(env="prod", org_id="p", fault=FaultParty.OURS))
    return numbers


class Asked:
    """A Prometheus that scrapes the numbers."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **query: str) -> Any:
        """What it answers."""
        address = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from None

    def query(self, expr: str) -> list[tuple[dict[str, str], float]]:
        """The samples an expression results in, without whence they were scraped."""
        found = self.get("query", query=expr)["result"]
        for each in found:
            for name in ("__name__", "instance", "job"):
                each["metric"].pop(name, None)
        return [(each["metric"], float(each["value"][1])) for each in found]

    def until(self, expr: str) -> list[tuple[dict[str, str], float]]:
        """The same, once there is something."""
        end = time.monotonic() + PATIENCE_S
        while not (found := self.query(expr)):
            assert time.monotonic() < end, f"nothing comes of {expr}"
            time.sleep(0.1)
        return found


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """One Prometheus with the alerts that are shipped."""
    program = needed("prometheus", "PROMETHEUS", "prometheus")
    numbers = lived(Instant(time.time_ns()))
    with exporting() as exporter:
        exporter.more = lambda: numbers.text().decode()
        folder = tmp_path_factory.mktemp("prometheus")
        with running(program, folder, exporter, RULES.read_text(encoding="utf-8")) as url:
            exporter.wait()
            yield Asked(url)


def test_the_first_designs_two_metrics_are_scraped_with_true_numbers(prometheus: Asked) -> None:
    """Names and labels to the letter."""
    ((info, value),) = prometheus.until('aus_cluster_info{cluster_name="soaking"}')
    assert value == 1
    assert info == {
        "cluster_id": "soaking-uuid",
        "cluster_name": "soaking",
        "org_id": "o",
        "version": "4.12.17",
        "channel": "stable-4.12",
        "schedule": "* * * * *",
        "sector": "main",
        "mutexes": "m-1,m-2",
        "soak_days": "5",
        "workloads": "w",
    }
    ((labels, left),) = prometheus.until('aus_remaining_soak_days{cluster_id="soaking-uuid"}')
    assert labels == {"cluster_id": "soaking-uuid", "version": "4.12.18"}
    assert left == pytest.approx(3.995, abs=1e-9)


def test_marks_are_scraped_as_dashboards_know_them(prometheus: Asked) -> None:
    """Scheduled, started, started for long, blocked, and days that are left, rounded."""
    found = prometheus.until("aus_cluster_version_remaining_soak_days{soaking_version='4.12.18'}")
    marks = {labels["cluster_uuid"].removesuffix("-uuid"): value for labels, value in found}
    assert marks == {
        "soon": -1,
        "begun": -2,
        "long": -3,
        "blocked": -4,
        "soaking": 4.0,
        "broken": 0,
    }


def test_names_are_joined_to_numbers(prometheus: Asked) -> None:
    """The join every dashboard makes."""
    found = prometheus.until(
        "aus_remaining_soak_days * on (cluster_id) group_left (cluster_name, org_id)"
        " aus_cluster_info > 0"
    )
    ((labels, value),) = found
    assert (labels["cluster_name"], labels["org_id"]) == ("soaking", "o")
    assert value == pytest.approx(3.995, abs=1e-9)


@pytest.mark.parametrize("expr", expressions())
def test_every_expression_of_the_dashboard_shows_something(prometheus: Asked, expr: str) -> None:
    """Where there is something to show; a join that is wrong is refused or empty."""
    assert prometheus.until(expr)


def test_the_alerts_are_understood_and_say_whose_fault_it_is(prometheus: Asked) -> None:
    """Every rule is well, and what is so by now is pending with its labels."""
    end = time.monotonic() + PATIENCE_S
    pending: dict[str, list[dict[str, str]]] = {}
    while not {"UpgradesBroken", "UpgradeStuck", "UpgradesMistaken"} <= set(pending):
        assert time.monotonic() < end, pending
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        pending = {
            rule["name"]: [each["labels"] for each in rule["alerts"]]
            for rule in rules
            if rule["alerts"]
        }
        time.sleep(0.1)
    assert {rule["health"] for rule in rules} == {"ok"}
    (broken,) = pending["UpgradesBroken"]
    assert (broken["org_id"], broken["severity"], broken["fault"]) == ("p", "critical", "ours")
    (mistaken,) = pending["UpgradesMistaken"]
    assert (mistaken["org_id"], mistaken["severity"]) == ("o", "info")
    assert {each["cluster_name"] for each in pending["UpgradeStuck"]} == {"broken", "long"}
    assert "UpgradesNotLookedAt" not in pending


def test_promtool_tests_every_alert() -> None:
    """When it fires, with which severity, and when it does not."""
    told = promtool("check", "rules", RULES)
    assert "SUCCESS: 8 rules found" in told
    told = promtool("test", "rules", RULES.with_name("upgrades.test.yaml"))
    assert told.split()[-1] == "SUCCESS", told


def test_a_rule_that_fires_too_late_is_noticed(tmp_path: Path) -> None:
    """The tests of the rules can fail."""
    text = RULES.read_text(encoding="utf-8")
    (tmp_path / RULES.name).write_text(text.replace("for: 10m", "for: 5h"), encoding="utf-8")
    cases = yaml.safe_load(RULES.with_name("upgrades.test.yaml").read_bytes())
    few = {**cases, "tests": cases["tests"][:1]}
    (tmp_path / "few.yaml").write_text(yaml.safe_dump(few), encoding="utf-8")
    assert "FAILED" in promtool("test", "rules", tmp_path / "few.yaml")


def test_promtool_understands_the_dashboard(tmp_path: Path) -> None:
    """Every expression, as a rule of its own."""
    rules = [{"record": f"x:{i}", "expr": each} for i, each in enumerate(expressions())]
    for rule in rules:
        rule["record"] = re.sub(r"\d", lambda m: chr(97 + int(m.group())), rule["record"])
    path = tmp_path / "dashboard.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": rules}]}), encoding="utf-8")
    assert f"SUCCESS: {len(rules)} rules found" in promtool("check", "rules", path)
    rules[0]["expr"] += ")"
    path.write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": rules}]}), encoding="utf-8")
    assert "exit 1" in promtool("check", "rules", path)
