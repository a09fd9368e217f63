"""The predecessor's habits that no recorded world shows, a row each."""

from typing import Any

import pytest

from tidegate.kinds.upgrades.core.labels.labels import read_org_labels
from tidegate.kinds.upgrades.core.sectors import SectorLoopError, check_loops
from tidegate.kinds.upgrades.wire.line import answer_compat

CLUSTERS = "/api/clusters_mgmt/v1/clusters"
WISHES = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}


def world(*clusters: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One organisation and its clusters."""
    base = {"org": "o", "version": "4.12.17", "available_upgrades": ["4.12.18"], "labels": WISHES}
    return {
        "now": "2023-05-10T10:00:00Z",
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [{**base, **cluster} for cluster in clusters],
        **more,
    }


def written(world: dict[str, Any]) -> list[str]:
    """Whom it writes to, in order."""
    return [f"{method} {path}" for method, path, _ in answer_compat(world)["writes"]]


def errors(world: dict[str, Any]) -> list[str]:
    return [text for text in answer_compat(world)["log"] if text.startswith("ERROR")]


@pytest.mark.parametrize(
    "declared, words",
    [
        ({"a": "a"}, "[a] infinite sector dependency loop detected: depending on itself"),
        ({"a": "b", "b": "b"}, "[b] infinite sector dependency loop detected: depending on itself"),
        (
            {"c": "a", "a": "b", "b": "c"},
            "[a] infinite sector dependency loop detected under b dependencies",
        ),
    ],
)
def test_a_circle_is_reported_by_a_sector_and_the_next(
    declared: dict[str, str], words: str
) -> None:
    """However long the circle is, and wherever it was entered."""
    labels = {f"sector-deps.{name}": behind for name, behind in declared.items()}
    with pytest.raises(SectorLoopError) as raised:
        check_loops(read_org_labels(labels).sectors)
    assert str(raised.value) == words


def test_sectors_in_layers_are_gone_through_once() -> None:
    """Sixty layers of two, each on both before: 2⁶⁰ ways through, and 120 sectors."""
    layers = {
        f"sector-deps.{side}{at}": f"a{at + 1},b{at + 1}" for at in range(60) for side in "ab"
    }
    check_loops(read_org_labels(layers).sectors)
    cluster = {"name": "c", "labels": {**WISHES, "sector": "a0"}}
    org = {"id": "o", "name": "O", "labels": layers}
    assert len(written(world(cluster, orgs=[org]))) == 1


def test_a_cluster_whose_version_is_none_fails_those_that_follow() -> None:
    """Its owner and those after it are notified; the one before is only not upgraded."""
    bad = world({"name": "a"}, {"name": "b", "version": "4.12"}, {"name": "c"})
    bodies = [body for _, _, body in answer_compat(bad)["writes"]]
    assert [(body["cluster_uuid"], body["description"]) for body in bodies] == [
        ("b-uuid", "- 4.12 is not valid SemVer string"),
        ("c-uuid", "- 4.12 is not valid SemVer string"),
    ]


def test_the_first_cluster_of_a_version_answers_for_its_channels() -> None:
    """Even if it cannot switch itself; and one that OCM does not describe offers none."""
    plain = {"name": "a", "channel": "stable", "available_upgrades": []}
    other = {"name": "b", "channel": "fast-4.12", "available_upgrades": []}
    offers = {"available_channels": ["fast-4.13"]}
    assert written(world({**plain, **offers}, other)) == [f"PATCH {CLUSTERS}/b-id"]
    assert written(world(plain, {**other, **offers})) == []
    failing = {"fail": {f"GET {CLUSTERS}/a-id": 500}}
    assert written(world({**plain, **offers}, {**other, **offers}, **failing)) == []


def test_a_refused_switch_fails_the_organisation_after_the_others() -> None:
    """The others are switched all the same."""
    offers = {"available_upgrades": [], "available_channels": ["stable-4.13"]}
    refused = {"fail": {f"PATCH {CLUSTERS}/a-id": 400}}
    both = world({"name": "a", **offers}, {"name": "b", **offers}, **refused)
    assert written(both) == [f"PATCH {CLUSTERS}/a-id", f"PATCH {CLUSTERS}/b-id"]
    assert [text.split(":")[1] for text in errors(both)] == [
        " a",
        " Failed to reconcile cluster upgrades in OCM organization o | ExceptionGroup",
    ]


@pytest.mark.parametrize(
    "path, kept",
    [
        (f"{CLUSTERS}/a-id/upgrade_policies", False),
        ("/api/clusters_mgmt/v1/version_gates", True),
        (f"{CLUSTERS}/a-id/gate_agreements", True),
    ],
)
def test_a_call_that_fails_ends_the_organisation(path: str, kept: bool) -> None:
    """Nothing is upgraded; soak is kept if it was worked out before."""
    answer = answer_compat(world({"name": "a"}, {"name": "b"}, fail={f"GET {path}": 500}))
    assert answer["writes"] == []
    assert bool(answer["state"]) == kept


def test_more_than_a_hundred_clusters_come_by_the_ids_of_their_subscriptions() -> None:
    """The hundred with the lowest ids first; among those, in the order they stand."""
    names = [f"c{at:03}" for at in reversed(range(150))]
    mutex = {**WISHES, "mutexes": "m"}
    (only,) = written(world(*({"name": name, "labels": mutex} for name in names)))
    assert only == f"POST {CLUSTERS}/c099-id/upgrade_policies"


def test_nothing_is_asked_for_when_all_organisations_are_disabled() -> None:
    """Without an organisation to look after, the whole environment fails."""
    org = {"id": "o", "name": "O", "disabled": ["advanced-upgrade-scheduler"]}
    alone = world({"name": "a"}, orgs=[org])
    assert written(alone) == []
    assert errors(alone)[0].endswith("KeyError: 'o'")


@pytest.mark.parametrize(
    "of_pool, marks",
    [
        ([], {"4.12.18": -2.0}),
        ([{"id": "2", "version": "4.12.17", "state": "scheduled"}], {"4.12.18": 0.0}),
    ],
)
def test_of_several_upgrades_of_a_cluster_the_last_is_shown(
    of_pool: list[dict[str, str]], marks: dict[str, float]
) -> None:
    """It keeps one for each cluster, and reads those of node pools after the control plane's."""
    started = {"id": "1", "version": "4.12.18", "state": "started"}
    pool = {"id": "np", "version": "4.12.17", "upgrade_policies": of_pool}
    hosted = {"name": "a", "product": "rosa", "hypershift": True, "upgrade_policies": [started]}
    metrics = answer_compat(world({**hosted, "node_pools": [pool]}))["metrics"]
    shown = metrics["aus_cluster_version_remaining_soak_days"]
    assert {labels["soaking_version"]: left for labels, left in shown} == marks
