"""Add-ons managed by real workers, in virtual time, on simulated clusters."""

from typing import Any

import pytest

from tests.upgrades_live import Scene
from tidegate.kinds.upgrades.app.read.survey import survey
from tidegate.kinds.upgrades.app.read.worlds import world_of
from tidegate.kinds.upgrades.core.foresight.forecast import forecast
from tidegate.kinds.upgrades.core.journal import state as upgrade_state
from tidegate.kinds.upgrades.core.rules.soak import DAY
from tidegate.kinds.upgrades.core.world import Organisation
from tidegate.kinds.upgrades.ocm.port import OcmList
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.state import ADDONS, OcmWrite
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant

ORG = "upgrades/prod/o"


def cluster(name: str, soak: str, **more: Any) -> dict[str, Any]:
    """A cluster that has an old add-on."""
    labels = {"soak-days": soak, "workloads": "w", "schedule": "* * * * *"}
    base = {"name": name, "org": "o", "version": "4.16.3", "labels": labels}
    return {**base, "addons": [{"id": "log", "version": "1.2.0"}], **more}


def fleet(**more: Any) -> dict[str, Any]:
    """A canary, and one that waits for a day of it."""
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [cluster("canary", "0"), cluster("late", "1")],
        "versions": [{"version": "4.16.3"}],
        "addons": [{"id": "log", "version": "1.3.0"}],
        **more,
    }


def plans(scene: Scene) -> list[OcmWrite]:
    """The plans that were asked for."""
    return [e for e in scene.writes if e.method == "POST" and e.path.endswith("/upgrade_plans")]


def installed(scene: Scene) -> dict[str, str]:
    """The version of the add-on on each cluster."""
    return {
        name: scene.state.collections[f"{ADDONS}/clusters/{name}-id/addons"]["log"][
            "addon_version"
        ]["id"]
        for name in ("canary", "late")
    }


@pytest.fixture(scope="module")
def days() -> Scene:
    """Two days."""
    scene = Scene(fleet(), addons=True)
    scene.live(48)
    return scene


def test_an_add_on_goes_round_by_its_own_soak(days: Scene) -> None:
    """The canary at once, the other after a day; each once, and nothing is refused."""
    assert installed(days) == {"canary": "1.3.0", "late": "1.3.0"}
    first, second = plans(days)
    assert ("canary" in first.path, "late" in second.path) == (True, True)
    assert first.body["next_run"] < "2026-03-02T09:00:00Z"
    assert "2026-03-03T08:00:00Z" < second.body["next_run"] < "2026-03-03T10:00:00Z"
    assert all(each.status < 400 for each in days.writes)


def test_soak_of_add_ons_follows_from_the_facts(days: Scene) -> None:
    """By add-on, apart from that of clusters; kept and read again it is the same."""
    state = days.known(ORG)
    assert state.addon_ledgers["log"].days["1.3.0", "w"] == pytest.approx(2.8 * DAY, rel=0.05)
    assert state.ledger.days["4.16.3", "w"] == pytest.approx(4 * DAY, rel=0.05)
    assert upgrade_state.decode(upgrade_state.encode(state)) == state
    again = upgrade_state.UpgradeState()
    for entry in days.store.read(ORG):
        again = upgrade_state.fold(again, entry.at, entry.fact(), entry.actor)
    assert again == state


def test_add_ons_are_read_only_where_they_are_asked_for() -> None:
    """And nothing is done about them."""
    scene = Scene(fleet())
    scene.live(3)
    assert (plans(scene), installed(scene)["canary"]) == ([], "1.2.0")
    assert all(not each.addons for each in scene.known(ORG).clusters.values())


def test_plans_of_others_are_deleted_first() -> None:
    """An automatic one, in the round before ours is asked for."""
    scene = Scene(fleet(), addons=True)
    plan: dict[str, Any] = {"id": "x", "addon_id": "log", "version": "1.3.0", "type": "automatic"}
    plan |= {"state": {"value": "pending"}, "next_run": "2026-05-01T00:00:00Z"}
    scene.state.put(f"{ADDONS}/clusters/canary-id/upgrade_plans", plan)
    scene.live(3)
    ours = [e.method for e in scene.writes if "canary" in e.path and "plans" in e.path]
    assert ours[:2] == ["DELETE", "POST"]
    assert installed(scene)["canary"] == "1.3.0"


class Silent(SimulatedClusters):
    """The service of add-ons does not answer."""

    async def addons(self) -> OcmList[Any]:
        """Nothing."""
        raise OutsideError("addons_mgmt: no answer")


def test_where_add_ons_cannot_be_read_their_clusters_are_excluded() -> None:
    """One may be being upgraded; those of who did not ask are upgraded as ever."""
    document = fleet(orgs=[{"id": "o", "name": "O"}, {"id": "p", "name": "P"}])
    document["clusters"].append({**cluster("other", "0"), "org": "p"})
    scene = Scene(document)
    silent = Silent(scene.state, scene)
    read = scene.play(lambda: survey(silent, addons=["o"]))
    world = world_of(
        read, [Organisation("o", "O", addons=True), Organisation("p", "P")], scene.now()
    )
    assert world.unread == {
        "canary-uuid": "add-ons: addons_mgmt: no answer",
        "late-uuid": "add-ons: addons_mgmt: no answer",
    }


def test_add_ons_are_run_ahead_beside_their_clusters() -> None:
    """They hold their cluster for a while in what is foreseen; no date is theirs."""
    document = fleet(versions=[{"version": "4.16.3"}, {"version": "4.16.4"}])
    canary = document["clusters"][0]
    plan: dict[str, Any] = {"id": "x", "addon_id": "log", "version": "1.3.0", "type": "manual"}
    plan |= {"state": {"value": "started"}, "next_run": "2026-03-02T07:59:00Z"}
    scene = Scene(document)
    scene.state.put(f"{ADDONS}/clusters/{canary['name']}-id/upgrade_plans", plan)
    read = scene.play(lambda: survey(scene.manager(), addons=["o"]))
    world = world_of(read, [Organisation("o", "O", addons=True)], scene.now())
    found = forecast(world, scene.now()).expected["canary-uuid"]
    (leg,) = [each for each in found.legs if each.version == "4.16.4"]
    assert leg.starts_at is not None
    ends = Instant(scene.now() + 10 * 60 * 10**9)
    assert leg.starts_at > ends
    assert all(each.version != "1.3.0" for each in found.legs)
