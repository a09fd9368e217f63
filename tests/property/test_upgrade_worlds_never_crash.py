"""Law: whatever stands in labels, versions, policies and histories, our rules answer, and say why.

One cluster with the oddest labels never keeps another from being upgraded.
"""

import json
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.kinds.upgrades.wire.modes import answer_strict

CLUSTER_KEYS = (
    "soak-days",
    "workloads",
    "schedule",
    "schedule-timezone",
    "mutexes",
    "sector",
    "blocked-versions",
    "version-gate-approvals",
    "odd",
)
ORG_KEYS = (
    "blocked-versions",
    "sector-deps.a",
    "sector-deps.b",
    "sector-deps.",
    "sector-max-parallel-upgrades.a",
    "version-data.inherit",
    "version-data.publish",
    "odd",
)
VALUES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ("0", "1", "a", "b", "a,b", "o,p", "* * * * *", "0 0 31 2 *", "[", "50%", "x%", "", "UTC")
    ),
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(("4.12.17", "4.12.18", "4.13.0", "4.12", "4.12.17+x", "9.9.9-rc.1")),
)
POLICIES = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.just("p"),
            "version": TEXTS,
            "schedule_type": st.sampled_from(("manual", "automatic", "odd")),
        },
        optional={
            "state": st.one_of(st.none(), st.sampled_from(("scheduled", "started", "odd"))),
            "next_run": st.one_of(st.none(), TEXTS, st.just("2023-05-10T11:00:00Z")),
            "schedule": st.one_of(st.none(), VALUES),
        },
    ),
    max_size=2,
)
CLUSTERS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(("a", "b")),
        "org": st.sampled_from(("o", "p", "nobody")),
        "version": TEXTS,
        "available_upgrades": st.lists(TEXTS, max_size=3),
        "labels": st.dictionaries(st.sampled_from(CLUSTER_KEYS), VALUES, max_size=8),
        "product": st.sampled_from(("rosa", "osd", "odd")),
        "hypershift": st.booleans(),
        "upgrade_policies": POLICIES,
        "available_channels": st.lists(VALUES, max_size=1),
        "node_pools": st.lists(
            st.fixed_dictionaries({"id": TEXTS, "version": TEXTS, "upgrade_policies": POLICIES}),
            max_size=2,
        ),
        "alerts": st.lists(VALUES, max_size=1),
        "alerts_since": st.dictionaries(VALUES, VALUES, max_size=1),
    },
    optional={"channel": VALUES, "omit": st.lists(st.sampled_from(("version", "channel")))},
)
SOAK = st.fixed_dictionaries({"soak_days": st.floats(), "reporting": st.lists(TEXTS, max_size=1)})
HISTORY = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {
            "check_in": st.one_of(VALUES, st.just("2023-05-10T09:00:00Z")),
            "versions": st.dictionaries(
                TEXTS, st.fixed_dictionaries({"workloads": st.dictionaries(VALUES, SOAK)})
            ),
            "stats": st.fixed_dictionaries(
                {
                    "min_version": TEXTS,
                    "min_version_per_workload": st.dictionaries(VALUES, TEXTS, max_size=1),
                }
            ),
        }
    ),
)
GOOD = {
    "name": "good",
    "org": "good",
    "version": "4.12.17",
    "available_upgrades": ["4.12.18"],
    "labels": {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"},
}


@given(
    st.lists(CLUSTERS, max_size=3),
    st.dictionaries(st.sampled_from(ORG_KEYS), VALUES, max_size=5),
    st.dictionaries(st.sampled_from(("prod/o", "prod/p")), HISTORY, max_size=2),
)
@example([{**GOOD, "name": "a", "org": "o", "labels": {"blocked-versions": "\ud800"}}], {}, {})
def test_every_world_is_answered(
    clusters: list[dict[str, Any]], labels: dict[str, str], state: dict[str, Any]
) -> None:
    """Every cluster that takes part has an option and a verdict, and the good one is upgraded."""
    world = {
        "now": "2023-05-10T10:00:00Z",
        "orgs": [
            {"id": "o", "name": "O", "labels": labels},
            {"id": "p", "name": "P", "labels": {"version-data.publish": "o"}},
            {"id": "good", "name": "Good"},
        ],
        "clusters": [*clusters, GOOD],
        "gates": [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}],
        "state": state,
    }
    found = answer_strict(world)
    for target in found["targets"]:
        assert target["options"]
        assert all(option["verdicts"] for option in target["options"])
    assert any("/good-id/upgrade_policies" in path for _, path, _ in found["writes"])


def test_an_answer_travels() -> None:
    """As JSON, to the last number."""
    world = {"now": "2023-05-10T10:00:00Z", "orgs": [{"id": "good", "name": "G"}]}
    assert json.loads(msgspec.json.encode(answer_strict({**world, "clusters": [GOOD]})))["writes"]
