"""An organisation whose pattern would be matched for ever stops no other."""

import time
from typing import Any

import pytest

from tests.upgrades_live import Scene
from tidegate.kinds.upgrades.core.service import RuleSet

DUE = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
LONG = "4.16.4-rc." + "1" * 60


def _document(pattern: str) -> dict[str, Any]:
    def cluster(name: str, org: str, **labels: str) -> dict[str, Any]:
        offered = ["4.16.4", LONG]
        return {
            "name": name,
            "org": org,
            "version": "4.16.3",
            "available_upgrades": offered,
            "labels": {**DUE, **labels},
        }

    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "bad", "name": "Bad"}, {"id": "good", "name": "Good"}],
        "clusters": [cluster("b", "bad", **{"blocked-versions": pattern}), cluster("g", "good")],
        "versions": [{"version": "4.16.3"}, {"version": "4.16.4"}],
    }


@pytest.mark.parametrize("rules", list(RuleSet))
@pytest.mark.parametrize("pattern", [r"((\d+)+)+x", r"^(?=(.*)*x)"])
def test_one_organisation_does_not_stop_another(pattern: str, rules: RuleSet) -> None:
    """One with a pattern that RE2 can read, and one that nothing can bound; by CPU time."""
    scene = Scene(_document(pattern), rules=rules)
    began = time.process_time()
    scene.live(2)
    assert time.process_time() - began < 20
    asked = [each.path for each in scene.writes if each.path.endswith("/upgrade_policies")]
    assert any("/g-id/" in each for each in asked)
    if "?=" in pattern:
        assert not any("/b-id/" in each for each in asked)
