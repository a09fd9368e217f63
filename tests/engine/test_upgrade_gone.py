"""A cluster that was seen counts until it is known to be gone."""

from typing import Any

import pytest

from tests.upgraded import acts, answer, shut, world
from tests.upgrades_live import Scene
from tidegate.kinds.upgrades.ocm.simulated.state import SUBSCRIPTIONS

DUE = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}


def _document(orgs: dict[str, str], labels: dict[str, dict[str, str]]) -> dict[str, Any]:
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O", "labels": orgs}],
        "clusters": [
            {"name": name, "org": "o", "version": "4.16.3", "labels": {**DUE, **mine}}
            for name, mine in labels.items()
        ],
        "versions": [{"version": "4.16.3"}, {"version": "4.16.4"}],
        "outcomes": [{"clusters": "a", "takes": "72h"}],
    }


def _turn(scene: Scene, name: str, status: str) -> None:
    scene.state.collections[SUBSCRIPTIONS][f"{name}-sub"]["status"] = status
    scene.state.touch()


def _asked(scene: Scene) -> list[str]:
    """The clusters that were asked to be upgraded."""
    made = [each for each in scene.writes if each.path.endswith("/upgrade_policies")]
    return [each.path.split("/")[5].removesuffix("-id") for each in made]


@pytest.mark.parametrize("status", ["Stale", "Disconnected", "SomethingNew"])
def test_a_cluster_whose_subscription_turns_keeps_its_mutex(status: str) -> None:
    """It is being upgraded; another one with its mutex waits until it is archived."""
    scene = Scene(_document({}, {"a": {"mutexes": "m"}, "b": {"mutexes": "m"}}))
    scene.live(2)
    assert _asked(scene) == ["a"]
    _turn(scene, "a", status)
    scene.live(6)
    assert _asked(scene) == ["a"]
    _turn(scene, "a", "Archived")
    scene.live(2)
    assert _asked(scene) == ["a", "b"]


def test_a_cluster_whose_subscription_turns_keeps_its_sector() -> None:
    """What comes after its sector waits for it, and it is not upgraded itself."""
    sectors = {"sector-deps.prod": "stage", "sector-deps.stage": ""}
    labels = {"s": {"sector": "stage"}, "p": {"sector": "prod"}}
    scene = Scene(_document(sectors, labels))
    _turn(scene, "s", "Stale")
    scene.live(3)
    assert _asked(scene) == []
    _turn(scene, "s", "Active")
    scene.live(6)
    assert _asked(scene) == ["s", "p"]


def test_a_cluster_whose_subscription_is_not_in_use_says_so() -> None:
    """And is asked for nothing; AUS does not see it."""
    asked = world({"name": "a", "subscription_status": "Stale"}, {"name": "b"})
    assert acts(asked) == ["POST b-id/upgrade_policies 4.12.18"]
    assert shut(asked, "a") == ["SubscriptionNotInUse"]
    assert [each["cluster"] for each in answer(asked)["targets"]] == ["a", "b"]
