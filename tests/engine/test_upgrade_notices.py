"""Owners who asked for it are notified before an upgrade starts; no others are."""

import asyncio
import re
from typing import Any

import pytest

from tests.upgraded import decided, hosted, world
from tests.upgrades_live import Scene, example
from tidegate.kinds.upgrades.core.advance_notice import SUMMARY, upcoming
from tidegate.kinds.upgrades.core.declared.patterns import is_found
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.ocm.port import LabelOwner, LabelType
from tidegate.kinds.upgrades.ocm.simulated.events import OcmEventKind
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.model.plan import ChangeKind
from tidegate.model.time import SECOND, Instant, parse_duration, parse_instant

HOUR = 3600 * SECOND
CLUSTER = re.compile(r"clusters/(\S+?)-id")
MOMENT = re.compile(r"upgraded to (\S+), from (\S+Z)\S* on")


def logs(scene: Scene) -> list[Any]:
    """Notices that were written."""
    return [
        each
        for each in scene.writes
        if each.path.endswith("/cluster_logs") and each.body["summary"] == SUMMARY
    ]


def made(scene: Scene) -> list[Any]:
    """Upgrades that were asked for and taken."""
    return [each for each in scene.writes if "upgrade_policies" in each.path and each.status == 201]


@pytest.fixture(scope="module")
def told() -> Scene:
    """Three days of the small fleet, whose owners want to know."""
    scene = Scene(example(), notice=True)
    scene.live(3 * 24)
    return scene


def test_each_upgrade_is_reported_once_and_before_it_starts(told: Scene) -> None:
    """With the version and the moment that were asked for."""
    asked = {
        (*CLUSTER.findall(each.path), each.body["version"], each.body["next_run"])
        for each in made(told)
    }
    notices = logs(told)
    found = []
    for each in notices:
        match = MOMENT.search(each.body["description"])
        assert match
        found.append((each.body["cluster_uuid"].removesuffix("-uuid"), match[1], match[2]))
        assert each.body["severity"] == "Low"
    assert len(found) == len(set(found)) == len(asked) > 3
    assert set(found) == asked


def test_no_one_is_notified_who_did_not_ask() -> None:
    """Only mistakes are reported then."""
    scene = Scene(example())
    scene.live(24)
    assert made(scene)
    assert not logs(scene)


def test_an_upgrade_that_is_there_is_reported_until_it_starts() -> None:
    """What could not be reported in one round is reported in the next, in the same words."""
    policy = {
        "id": "1",
        "version": "4.12.18",
        "state": "scheduled",
        "next_run": "2023-05-10T10:30:00Z",
    }
    read, plan = decided(world({"name": "a", "upgrade_policies": [policy]}))
    (telling,) = upcoming(plan, (), read.now)
    assert telling.owner_notice().description.splitlines() == [
        "- the cluster is upgraded to 4.12.18, from 2023-05-10T10:30:00Z on",
        (
            r"- to stop it, add ^4\.12\.18$ to the label sre-capabilities.aus.blocked-versions of"
            " its subscription before 2023-05-10T10:25:00Z"
        ),
    ]
    step = UpgradeStep(
        kind=ChangeKind.APPLY,
        revision="4.12.18",
        doing=StepKind.UPGRADE,
        starts_at=Instant(read.now + HOUR // 2),
    )
    _, idle = decided(world({"name": "a"}))
    (asked,) = upcoming(idle, [("a-uuid", step)], read.now)
    assert asked.owner_notice() == telling.owner_notice()
    assert not list(upcoming(plan, (), Instant(read.now + HOUR)))


@pytest.mark.parametrize(
    "policy",
    [
        {"state": "started"},
        {"state": "failed"},
        {"state": "scheduled", "schedule_type": "automatic"},
        {"state": "scheduled", "next_run": "soon"},
        {"state": "scheduled", "next_run": None},
    ],
)
def test_what_has_begun_or_has_no_moment_is_not_reported(policy: dict[str, Any]) -> None:
    """Nor what OpenShift Cluster Manager does by itself."""
    one = {"id": "1", "version": "4.12.18", "next_run": "2023-05-10T10:30:00Z", **policy}
    read, plan = decided(world({"name": "a", "upgrade_policies": [one]}))
    assert not list(upcoming(plan, (), read.now))


def test_an_add_on_is_named() -> None:
    """Where the organisation has add-ons upgraded."""
    plan = {"id": "p", "version": "1.3.0", "state": "scheduled", "next_run": "2023-05-10T10:30:00Z"}
    addon = {"id": "logging", "version": "1.2.0", "latest": "1.3.0", "upgrade_plans": [plan]}
    document = world({"name": "a", "addons": [addon]})
    document["orgs"][0]["addons"] = True
    read, made = decided(document)
    (telling,) = upcoming(made, (), read.now)
    assert telling.owner_notice().description.startswith("- add-on logging is upgraded to 1.3.0")


def test_a_node_pool_is_named() -> None:
    """It is not the whole cluster that is upgraded."""
    document = world(hosted("a", {"np": "4.12.16"}))
    policy = {
        "id": "1",
        "version": "4.12.17",
        "state": "scheduled",
        "next_run": "2023-05-10T10:30:00Z",
    }
    document["clusters"][0]["node_pools"][0]["upgrade_policies"] = [policy]
    read, plan = decided(document)
    (telling,) = upcoming(plan, (), read.now)
    assert telling.owner_notice().description.startswith("- node pool np is upgraded to 4.12.17")


def test_the_moment_is_reported_on_the_clock_of_the_schedule_too() -> None:
    """Summer time included."""
    soon = {"id": "1", "version": "4.12.18", "state": "scheduled"}
    soon["next_run"] = "2023-05-10T10:30:00Z"
    labels = {"schedule-timezone": "Europe/Berlin"}
    read, plan = decided(world({"name": "a", "upgrade_policies": [soon], "labels": labels}))
    (telling,) = upcoming(plan, (), read.now)
    text = telling.owner_notice().description
    assert "from 2023-05-10T10:30:00Z (2023-05-10 12:30 in Europe/Berlin) on" in text


def test_following_the_notice_stops_the_upgrade() -> None:
    """What it says to write takes the upgrade back, of a cluster and of an add-on."""
    soon = {"id": "1", "version": "4.12.18", "state": "scheduled"}
    soon["next_run"] = "2023-05-10T10:30:00Z"
    addon = {"id": "log", "version": "1.2.0", "latest": "1.3.0"}
    plans = [{**soon, "version": "1.3.0"}]
    for cluster in (
        {"name": "a", "upgrade_policies": [soon]},
        {"name": "a", "addons": [{**addon, "upgrade_plans": plans}]},
    ):
        asked = world(cluster)
        asked["orgs"][0]["addons"] = True
        read, plan = decided(asked)
        (telling,) = upcoming(plan, (), read.now)
        text = telling.owner_notice().description
        said = re.search(r"add (\S+) to the label sre-capabilities.aus.(\S+)", text)
        assert said
        asked["clusters"][0]["labels"][said[2]] = said[1]
        _, after = decided(asked)
        assert [each.change.kind for each in after.actions] == [ChangeKind.REMOVE]
        assert not list(upcoming(plan, (), Instant(read.now + HOUR)))


def test_an_add_on_that_was_asked_for_is_reported() -> None:
    """In the words in which it is reported again."""
    addon = {"id": "log", "version": "1.2.0", "latest": "1.3.0"}
    asked = world({"name": "a", "available_upgrades": [], "addons": [addon]})
    asked["orgs"][0]["addons"] = True
    read, plan = decided(asked)
    (action,) = plan.actions
    assert isinstance(action.change, UpgradeStep)
    (telling,) = upcoming(plan, [(action.target, action.change)], read.now)
    there = {"id": "1", "version": "1.3.0", "state": "pending", "next_run": "2023-05-10T10:06:00Z"}
    asked["clusters"][0]["addons"] = [{**addon, "upgrade_plans": [there]}]
    read, plan = decided(asked)
    (again,) = upcoming(plan, (), read.now)
    assert again.owner_notice() == telling.owner_notice()
    assert telling.owner_notice().description.startswith("- add-on log is upgraded to 1.3.0")


def test_the_pattern_blocks_that_version_alone() -> None:
    """4.16.4 would also be found in 4.16.40."""
    soon = {"id": "1", "version": "4.16.4", "state": "scheduled"}
    soon["next_run"] = "2023-05-10T10:30:00Z"
    read, plan = decided(world({"name": "a", "upgrade_policies": [soon]}))
    (telling,) = upcoming(plan, (), read.now)
    said = re.search(r"add (\S+) to", telling.owner_notice().description)
    assert said
    assert is_found(said[1], "4.16.4")
    assert not is_found(said[1], "4.16.40")
    assert not is_found(said[1], "4.16x4")


def test_where_a_block_takes_nothing_back_the_notice_says_what_does() -> None:
    """AUS's rules leave an upgrade that was asked for."""
    soon = {"id": "1", "version": "4.16.4", "state": "scheduled"}
    soon["next_run"] = "2023-05-10T10:30:00Z"
    read, plan = decided(world({"name": "a", "upgrade_policies": [soon]}))
    (telling,) = upcoming(plan, (), read.now)
    text = telling.owner_notice(takes_back=False).description
    assert text.endswith("delete its upgrade policy in OpenShift Cluster Manager before then")


def _restless(look: str) -> Scene:
    """One cluster that may be upgraded at any minute."""
    due = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
    document = {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [{"name": "a", "org": "o", "version": "4.16.3", "labels": due}],
        "versions": [{"version": "4.16.3"}, {"version": "4.16.4"}],
    }
    return Scene(document, notice=True, look=parse_duration(look))


@pytest.mark.parametrize("look", ["10m", "30m", "2m"])
@pytest.mark.parametrize("late", [False, True], ids=["at once", "at the last moment"])
def test_a_block_that_is_written_after_the_notice_stops_the_upgrade(look: str, late: bool) -> None:
    """Whenever the owner writes it, before the moment that the notice names."""
    scene = _restless(look)

    async def story() -> None:
        worker = scene.worker()
        running = asyncio.create_task(worker.run())
        for _ in range(3600):
            await asyncio.sleep(1)
            if logs(scene):
                break
        text = logs(scene)[0].body["description"]
        said = re.search(r"add (\S+) to the label \S+ of its subscription before (\S+)", text)
        starts = MOMENT.search(text)
        assert said
        assert starts
        by, starts_at = parse_instant(said[2]), parse_instant(starts[2])
        # There is more than a look between the notice and the start.
        assert starts_at - scene.now() > parse_duration(look)
        if late:
            await asyncio.sleep((by - scene.now()) / SECOND - 1)
        manager = SimulatedClusters(scene.state, scene)
        owner = LabelOwner(LabelType.SUBSCRIPTION, "a-sub")
        await manager.set_label(owner, "sre-capabilities.aus.blocked-versions", said[1])
        await asyncio.sleep(4 * 3600)
        worker.stop()
        await running

    scene.play(story)
    assert [each.method for each in scene.writes if "/upgrade_policies" in each.path] == [
        "POST",
        "DELETE",
    ]
    assert scene.versions() == {"a": "4.16.3"}
    assert not [each for each in scene.state.happened if each.what is OcmEventKind.STARTED]
