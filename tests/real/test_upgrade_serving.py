"""`tidegate serve` over a simulated OpenShift Cluster Manager, scraped by a real Prometheus."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.test_serve import Served, serving
from tests.cli.test_simulate_ocm import simulated
from tests.real import needed
from tests.real.prometheus import running
from tests.real.test_upgrade_numbers import RULES, Asked

pytestmark = pytest.mark.real

UPGRADES = Path(__file__).parents[2] / "examples" / "upgrades.yaml"
PAYMENTS = "upgrades/prod/o-payments"
BOTH = {PAYMENTS, "upgrades/prod/o-maps"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """It has looked at two organisations, and decided; it only observes."""
    folder = tmp_path_factory.mktemp("served")
    with simulated("--port", "0") as (_, url):
        document = yaml.safe_load(UPGRADES.read_bytes())
        document["environments"][0] |= {"url": url, "tokenUrl": f"{url}/token"}
        file = folder / "upgrades.yaml"
        file.write_text(yaml.safe_dump(document), encoding="utf-8")
        with serving(folder, "--upgrades", str(file), OCM_SECRET="simulated") as served:
            while not {each.get("rollout") for each in served.lines if "reason" in each} >= BOTH:
                served.until("decision")
            yield served


@pytest.fixture(scope="module")
def prometheus(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A Prometheus that scrapes it, with the alerts that are shipped."""
    program = needed("prometheus", "PROMETHEUS", "prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    with running(program, folder, served, RULES.read_text(encoding="utf-8")) as url:
        yield Asked(url)


def test_clusters_are_reported_with_their_organisation(prometheus: Asked) -> None:
    """What owners declared, joined to what still soaks."""
    infos = prometheus.until("aus_cluster_info")
    names = {labels["cluster_name"] for labels, _ in infos}
    assert {"pay-stage-1", "pay-prod-1"} <= names
    joined = prometheus.until(
        "aus_remaining_soak_days * on (cluster_id) group_left (cluster_name, org_id)"
        " aus_cluster_info"
    )
    assert {labels["cluster_name"] for labels, _ in joined} <= names
    assert {labels["org_id"] for labels, _ in joined} <= {"o-payments", "o-maps"}


def test_every_cluster_is_counted_once(prometheus: Asked) -> None:
    """By its state; excluded clusters count, too."""
    ((_, counted),) = prometheus.until("sum(tidegate_upgrade_clusters)")
    ((_, known),) = prometheus.until("count(aus_cluster_info)")
    aside = prometheus.query('sum(tidegate_upgrade_clusters{phase="set_aside"})')
    assert counted == known + sum(value for _, value in aside)


def test_it_shows_who_is_served_how_old_it_is_and_what_it_took(prometheus: Asked) -> None:
    """Both organisations were looked at just now, none fails, and calls were made."""
    ((environment, _),) = prometheus.until("tidegate_upgrade_environment_info")
    assert environment == {"ocm_env": "prod", "severity": "info"}
    ages = prometheus.until("time() - tidegate_upgrade_last_round_timestamp_seconds")
    assert {labels["org_id"] for labels, _ in ages} == {"o-payments", "o-maps"}
    assert all(0 <= age < 60 for _, age in ages)
    assert not prometheus.query("tidegate_upgrade_failing")
    calls = prometheus.until("qontract_reconcile_ocm_request_total")
    assert {labels["client_id"] for labels, _ in calls} == {"tidegate"}
    assert {labels["verb"] for labels, _ in calls} == {"GET", "POST"}
    assert prometheus.until("tidegate_upgrade_survey_seconds > 0")
    ((_, errors),) = prometheus.until("sum(aus_organization_reconcile_errors_total)")
    assert errors == 0


def test_a_line_says_what_each_cluster_waits_for(served: Served) -> None:
    """With its gate, its reason and the version, or what would be asked for."""
    lines = [each for each in served.lines if each.get("rollout") == PAYMENTS]
    decisions = [each for each in lines if each["what"] == "decision"]
    assert decisions
    for each in decisions:
        assert each["target"]
        assert each["msg"].startswith("would ") if "action" in each else each["reason"]
