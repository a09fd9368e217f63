"""Our rules on every recorded world: they part from AUS only where it is written.

A row of the table is a row of the rules: what we ask for beside what it asks for, or instead. On
every world that is not in the table both ask for the same.
"""

import json
from typing import Any

import msgspec
import pytest

from tests.upgraded import recorded
from tidegate.kinds.upgrades.wire.modes import answer_both, answer_strict

WORLDS = recorded()

# By the world's number: what only we write, what only AUS writes.
ROWS: dict[str, tuple[str, list[str], list[str]]] = {
    "02": ("a bad label sets one cluster aside", ["upgrade good 4.12.19"], []),
    "03": ("an unknown sector is told to its cluster", ["upgrade a 4.12.19"], ["tell a"]),
    "04": (
        "without verified inheritance, own soak decides",
        ["upgrade a 4.12.19", "upgrade b 4.12.19"],
        [],
    ),
    "06": ("a bad pattern holds its owner", ["upgrade a 4.12.19", "tell b"], []),
    "07": (
        "a day that never comes is a mistake in a label",
        ["upgrade a 4.12.19", "upgrade d 4.12.19", "tell b"],
        [],
    ),
    "08": (
        "a circle of sectors holds those in it, and is told",
        ["upgrade a 4.12.19", "upgrade c 4.12.19", "tell a"],
        [],
    ),
    "09": ("an automatic policy far off locks nobody", ["upgrade b 4.12.19"], []),
    "10": ("node pools wait for the window", [], ["pool h np1 4.12.19"]),
    "11": ("a cluster's own lock counts", [], ["pool h np1 4.12.19"]),
    "14": (
        "no channel whose .0 is blocked; each cluster by its own channels",
        ["channel same-version fast-4.21"],
        ["channel blocked-y stable-4.21"],
    ),
    "15": ("a stray comma blocks nothing", ["upgrade a 4.12.19"], []),
    "16": ("an enforced alert is a brake", [], ["upgrade sick 4.12.19"]),
    "20": (
        "a limit counts the clusters of its sector",
        [],
        ["upgrade c1 4.12.19", "upgrade c2 4.12.19", "upgrade m0 4.12.19"],
    ),
    "21": ("two policies hold one cluster", ["upgrade b 4.12.19", "tell a"], []),
    "23": ("gates only for clusters with labels", [], ["agree unlabelled g13ocp"]),
    "25": ("a sleeping cluster counts for its sector", [], ["upgrade prod-1 4.12.19"]),
    "27": ("a limit that is none holds its sector", ["tell a", "tell b"], []),
    "32": ("a scheduled upgrade to a blocked version is deleted", ["cancel a 1"], []),
    "37": ("inheriting from oneself is not looked at", ["upgrade a 4.12.19"], []),
    "40": ("a partial policy sets one cluster aside", ["upgrade b 4.12.19"], []),
    "41": (
        "without an agreement, the newest version that needs none",
        ["upgrade a 4.12.18", "tell a"],
        [],
    ),
    "42": (
        "no pre-release on a stable channel",
        ["upgrade a 4.13.10"],
        ["upgrade a 4.14.0-rc.1"],
    ),
    "43": ("equal names are two clusters", [], ["upgrade prod-1 4.12.19"]),
    "48": (
        "0 is none, and a negative limit holds its sector",
        ["tell n1", "tell n2", "tell z1", "tell z2"],
        ["upgrade z1 4.12.19", "upgrade n1 4.12.19"],
    ),
    "54": ("a completed policy locks nobody", ["upgrade b 4.12.19"], []),
    "57": ("an automatic policy without a date locks nobody", ["upgrade b 4.12.19"], []),
    "61": (
        "our outage is told to no customer",
        ["upgrade a 4.12.19", "upgrade b 4.12.19"],
        ["tell a", "tell b"],
    ),
    "62": ("a malformed cluster is set aside alone", ["upgrade b 4.12.19"], []),
    "65": (
        "a candidate that is no version is dropped",
        ["upgrade a 4.12.18", "upgrade b 4.12.19"],
        [],
    ),
    "66": ("an unknown source of health holds whom it is enforced on", ["upgrade b 4.12.19"], []),
}


def short(write: list[Any]) -> str:
    """A write in two or three words."""
    method, path, body = write
    parts = path.split("/")
    if "service_logs" in path:
        return f"tell {body['cluster_uuid'].removesuffix('-uuid')}"
    name = parts[5].removesuffix("-id")
    if method == "PATCH":
        return f"channel {name} {body['channel']}"
    if method == "DELETE":
        return f"cancel {name} {parts[-1]}"
    if "gate_agreements" in path:
        return f"agree {name} {body['version_gate']['id']}"
    if "node_pools" in path:
        return f"pool {name} {parts[7]} {body['version']}"
    return f"upgrade {name} {body['version']}"


def plain(value: Any) -> Any:
    """An answer as it travels."""
    return json.loads(msgspec.json.encode(value))


@pytest.mark.parametrize("number", WORLDS)
def test_we_part_from_the_existing_service_only_where_it_is_written(number: str) -> None:
    """What is asked for on every recorded world, in any order."""
    found = plain(answer_both(WORLDS[number]))["differences"]
    ours = [short(each["write"]) for each in found if each["only"] == "strict"]
    theirs = [short(each["write"]) for each in found if each["only"] == "compat"]
    _, expected_ours, expected_theirs = ROWS.get(number, ("", [], []))
    assert (sorted(ours), sorted(theirs)) == (sorted(expected_ours), sorted(expected_theirs))


def test_every_row_is_a_recorded_world() -> None:
    """No row is looked up in vain."""
    assert ROWS.keys() <= WORLDS.keys()


@pytest.mark.parametrize("number", WORLDS)
def test_acts_if_and_only_if_every_verdict_passes(number: str) -> None:
    """Every cluster has an option, every option a verdict, and what passes is what is written."""
    answer = plain(answer_strict({**WORLDS[number], "dry_run": False}))
    options = [option for target in answer["targets"] for option in target["options"]]
    for option in options:
        assert option["verdicts"]
        assert option["go"] == all(each["outcome"] == "pass" for each in option["verdicts"])
    acted = [write for write in answer["writes"] if "service_logs" not in write[1]]
    assert sum(option["go"] for option in options) == len(acted)
    assert all(target["options"] for target in answer["targets"])


@pytest.mark.parametrize("number", WORLDS)
def test_a_dry_run_writes_and_keeps_nothing(number: str) -> None:
    """And says the same."""
    world = {**WORLDS[number], "dry_run": False}
    wet, dry = plain(answer_strict(world)), plain(answer_strict({**world, "dry_run": True}))
    assert (dry["writes"], dry["state"]) == ([], world.get("state", {}))
    assert dry["targets"] == wet["targets"]


# Worlds in which soak is counted otherwise: gaps, a clock that went back, a workload named twice.
OTHER_SOAK = {"17", "50", "64"}
NUMBERS = (
    "aus_cluster_upgrade_policy_info",
    "aus_cluster_version_remaining_soak_days",
    "aus_cluster_health_state",
    "aus_organization_version_data",
    "aus_organization_validation_errors",
    "aus_cluster_missing_version_gate_agreements",
)


@pytest.mark.parametrize("number", sorted(WORLDS.keys() - ROWS.keys() - OTHER_SOAK))
def test_dashboards_see_the_numbers_they_know(number: str) -> None:
    """Where both decide alike, each number of AUS is the same."""
    both = plain(answer_both(WORLDS[number]))

    def shown(mode: str, name: str) -> list[Any]:
        samples = both[mode]["metrics"].get(name, [])
        rounded = [[labels, round(value, 9)] for labels, value in samples]
        return sorted(rounded, key=lambda sample: json.dumps(sample, sort_keys=True))

    for name in NUMBERS:
        assert shown("strict", name) == shown("compat", name), name


def test_the_numbers_of_the_first_design_are_true() -> None:
    """Every version that is offered, and days that are left, unrounded and unhidden."""
    metrics = plain(answer_strict(WORLDS["30"]))["metrics"]
    left = {labels["version"]: value for labels, value in metrics["aus_remaining_soak_days"]}
    assert left == {"4.12.18": 0.0, "4.12.19": pytest.approx(0.001)}
    ((labels, value),) = metrics["aus_cluster_info"]
    assert value == 1
    assert labels == {
        "cluster_id": "a-uuid",
        "cluster_name": "a",
        "org_id": "o1",
        "version": "4.12.17",
        "channel": "stable-4.12",
        "schedule": "* * * * *",
        "sector": "",
        "mutexes": "",
        "soak_days": "3",
        "workloads": "svc",
    }
