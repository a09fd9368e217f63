"""`gates get` and `gates agree`, over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.test_policy import Owner
from tests.managed import example, managed
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.state import ALL_CLUSTERS

GATES = [
    {"id": "ocp-17", "prefix": "4.17", "label": "api.openshift.com/gate-ocp"},
    {"id": "sts-17", "prefix": "4.17", "label": "api.openshift.com/gate-sts", "sts_only": True},
    {"id": "new-17", "prefix": "4.17", "label": "api.openshift.com/gate-new",
     "description": "Something changes."},
    {"id": "ocp-18", "prefix": "4.18", "label": "api.openshift.com/gate-ocp"},
    {"id": "ocp-16", "prefix": "4.16", "label": "api.openshift.com/gate-ocp"},
]  # fmt: skip


@pytest.fixture
def owner() -> Iterator[Owner]:
    """The owner of clusters to which 4.17 is offered; one is agreed, one without labels."""
    clusters: list[dict[str, Any]] = [
        {"name": "classic", "labels": {"soak-days": "0", "workloads": "w", "schedule": "@daily"}},
        {"name": "sts", "sts": True, "product": "rosa", "gate_agreements": ["ocp-17"]},
        {"name": "none", "labels": {"soak-days": "0", "workloads": "w", "schedule": "@daily",
                                    "version-gate-approvals": "none"}},
    ]  # fmt: skip
    base = {"org": "o", "version": "4.16.3", "available_upgrades": ["4.16.4", "4.17.1"]}
    world = example(
        orgs=[{"id": "o"}],
        clusters=[{**base, **each} for each in clusters],
        gates=GATES,
        credentials=[{"token": "mine", "org": "o"}],
    )
    with managed(world) as at:
        yield Owner(at)


def agreed(owner: Owner, cluster: str) -> list[str]:
    """What was agreed to for a cluster, as it is there."""
    there = owner.at.server.state.collections[f"{ALL_CLUSTERS}/{cluster}-id/gate_agreements"]
    return sorted(each["version_gate"]["id"] for each in there.values())


def test_gates_of_every_kind_are_shown_with_whose_turn_it_is(owner: Owner) -> None:
    """Of clusters with and without labels; those not offered yet only when asked for."""
    lines = owner.does("gates", "get").splitlines()
    said = {(row.split()[0], row.split()[4]): row.split(maxsplit=5)[5] for row in lines[1:]}
    assert said.pop(("sts", "ocp-17")).startswith("20")  # since
    assert said == {
        ("classic", "ocp-17"): "no: the service does",
        ("classic", "new-17"): "no: yours (an unknown kind)",
        ("none", "ocp-17"): "no: yours",
        ("none", "new-17"): "no: yours (an unknown kind)",
        ("sts", "sts-17"): "no: yours",
        ("sts", "new-17"): "no: yours (an unknown kind)",
    }
    assert "ocp-18" in owner.does("gates", "get", "--all")
    assert "ocp-16" not in owner.does("gates", "get", "--all")
    rows = json.loads(owner.does("gates", "get", "sts", "-o", "json"))["items"]
    assert [(each["gate"], each["agreed"]) for each in rows] == [
        ("new-17", False),
        ("ocp-17", True),
        ("sts-17", False),
    ]


def test_what_is_agreed_to_is_shown_and_agreed_once(owner: Owner) -> None:
    """Gates of one minor, for clusters they are for; nothing twice, nothing in a dry run."""
    args = ("gates", "agree", "*", "--version", "4.17")
    shown = owner.does(*args, "--dry-run")
    assert shown.count("not agreed → agreed") == 6
    assert owner.at.writes == []
    result = owner.run(*args)
    assert result.exit_code == 0
    assert "gate-new (new-17): Something changes." in result.stderr
    assert agreed(owner, "classic") == ["new-17", "ocp-17"]
    assert agreed(owner, "sts") == ["new-17", "ocp-17", "sts-17"]
    assert owner.does(*args) == ""


def test_one_gate_alone_by_its_short_name(owner: Owner) -> None:
    """Even before a version that is not offered yet."""
    owner.does("gates", "agree", "sts", "classic", "--version", "4.17.1", "--gate", "sts")
    assert agreed(owner, "sts") == ["ocp-17", "sts-17"]
    assert agreed(owner, "classic") == []
    owner.does("gates", "agree", "classic", "--version", "4.18")
    assert agreed(owner, "classic") == ["ocp-18"]


def test_the_service_is_had_agree_for_all_who_say_nothing(owner: Owner) -> None:
    """As a label of the organisation; what does nothing is warned of."""
    owner.does("gates", "approve", "gate-sts")
    assert owner.labels(org="o") == {"version-gate-approvals": "api.openshift.com/gate-sts"}
    rows = json.loads(owner.does("gates", "get", "-o", "json"))["items"]
    by_service = {(each["cluster"], each["gate"]) for each in rows if each["byService"]}
    assert by_service == set()  # who has no policy, and who says none, are left alone
    owner.does("gates", "approve", "ocp")
    rows = json.loads(owner.does("gates", "get", "-o", "json"))["items"]
    assert [each["cluster"] for each in rows if each["byService"]] == ["classic"]
    assert 'did you mean "api.openshift.com/gate-sts"?' in (
        owner.run("gates", "approve", "api.openshift.com/gate-stss").stderr
    )
    owner.does("gates", "approve", "--unsaid")
    assert owner.labels(org="o") == {}
    assert "Specify gates:" in owner.refused("gates", "approve")


def test_lost_answers_agree_once(owner: Owner) -> None:
    """Who asks again finds what is there."""
    share = {OcmFault.LOST: 200}
    owner.at.server.luck = FaultDraw(OcmFaults(share, retry_after_s=0), seed=1)
    result = owner.run("gates", "agree", "*", "--version", "4.17", "-o", "json")
    assert result.exit_code == 0, result.output
    assert owner.at.server.luck.met["lost"] > 0
    assert all(each["agreed"] for each in json.loads(result.stdout)["agreements"])
    assert agreed(owner, "sts") == ["new-17", "ocp-17", "sts-17"]


@pytest.mark.parametrize(
    "args, says",
    [
        (["*", "--version", "4.19"], "no gates before 4.19; did you mean"),
        (["*", "--version", "4.17", "--gate", "ingress"], "there are gate-new, gate-ocp, gate-sts"),
        (["nobody", "--version", "4.17"], "not in o; there are classic, none, sts"),
    ],
)
def test_what_is_not_there_is_said(owner: Owner, args: list[str], says: str) -> None:
    """With what is."""
    assert says in owner.refused("gates", "agree", *args)
