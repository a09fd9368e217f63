"""Labels of an organisation, read and written over HTTP and inside: all, or what and what not."""

from typing import Any

import pytest

from tests.contract.test_managed_clusters import Ground, Play, inside, over_http
from tidegate.kinds.upgrades.app.owners.label_writer import (
    WrittenLabel,
    check_fresh,
    read_declared,
    write,
)
from tidegate.kinds.upgrades.core.labels.label_edit import (
    CLUSTER,
    ORGANISATION,
    HolderChange,
    LabelEdit,
    LabelHolder,
)
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.model.errors import StaleError

PREFIX = "sre-capabilities.aus."
MANY = 120


def fleet() -> dict[str, Any]:
    """More clusters than any page holds, half of them with labels, and another owner's."""
    labels = {"soak-days": "1", "workloads": "w", "schedule": "* * * * *", "owner": "me"}
    clusters = [
        {"name": f"c-{i}", "org": "o", "version": "4.16.3", "labels": labels if i % 2 else {}}
        for i in range(MANY)
    ]
    clusters.append({"name": "x", "org": "others", "version": "4.16.3", "labels": labels})
    return {"orgs": [{"id": "o", "labels": {"sector-deps.a": ""}}, {"id": "others"}],
            "clusters": clusters}  # fmt: skip


@pytest.fixture(params=[over_http, inside])
def play(request: pytest.FixtureRequest) -> Play:
    """Each way in turn."""
    way: Play = request.param
    return way


def named(i: int) -> LabelHolder:
    """One of the clusters."""
    return LabelHolder(CLUSTER, f"c-{i}-sub", f"c-{i}")


def told(_: WrittenLabel) -> None:
    """Nothing listens."""


def test_all_of_an_organisation_is_read_and_nothing_of_others(play: Play) -> None:
    """Clusters without labels too; pages do not cut it short."""

    async def story(ground: Ground) -> None:
        seen = await read_declared(ground.manager, "o")
        assert len(seen.clusters) == len(seen.subscriptions) == MANY
        assert len(seen.labels) == 4 * MANY // 2 + 1

    play(story, fleet())


def test_writes_touch_what_they_name(play: Play) -> None:
    """Set, made, taken away, on clusters and the organisation; the rest is as it was."""

    async def story(ground: Ground) -> None:
        changes = [
            HolderChange(
                named(1), (LabelEdit("soak-days", "1", "5"), LabelEdit("workloads", "w", None))
            ),
            HolderChange(named(2), (LabelEdit("sector", None, "a"),)),
            HolderChange(
                LabelHolder(ORGANISATION, "o", "o"), (LabelEdit("sector-deps.b", None, "a"),)
            ),
        ]
        before = await read_declared(ground.manager, "o")
        check_fresh(before, changes)
        done = await write(ground.manager, changes, told)
        assert [each.why for each in done] == [""] * 4
        after = await read_declared(ground.manager, "o")
        were = {(each.subscription_id, each.key): each.value for each in before.labels}
        are = {(each.subscription_id, each.key): each.value for each in after.labels}
        assert dict(are.items() - were.items()) == {
            ("c-1-sub", f"{PREFIX}soak-days"): "5",
            ("c-2-sub", f"{PREFIX}sector"): "a",
            ("", f"{PREFIX}sector-deps.b"): "a",
        }
        assert were.keys() - are.keys() == {("c-1-sub", f"{PREFIX}workloads")}
        with pytest.raises(StaleError, match="soak-days was changed meanwhile"):
            check_fresh(after, changes)

    play(story, fleet())


def test_what_fails_leaves_the_rest_of_its_cluster_and_no_other() -> None:
    """Each edit says what became of it; asked again, all is written."""

    async def story(ground: Ground) -> None:
        calls = OcmFaults({OcmFault.CUT: 300, OcmFault.LOST: 300})
        shaky = SimulatedClusters(ground.state, ground.clock, FaultDraw(calls, seed=4))
        changes = [
            HolderChange(
                named(i), (LabelEdit("sector", None, "a"), LabelEdit("mutexes", None, "m"))
            )
            for i in range(40)
        ]
        heard: list[WrittenLabel] = []
        done = await write(shaky, changes, heard.append)
        assert sorted(map(str, heard)) == sorted(map(str, done))
        assert {bool(each.why) for each in done} == {True, False}
        assert any(each.untried for each in done)
        for first, second in zip(done[::2], done[1::2], strict=True):
            assert second.untried == bool(first.why)
        again = await write(ground.manager, changes, told)
        assert not any(each.why for each in again)
        seen = await read_declared(ground.manager, "o")
        assert sum(each.key == f"{PREFIX}mutexes" for each in seen.labels) == 40

    inside(story, fleet())
