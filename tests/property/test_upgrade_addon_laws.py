"""Laws of add-ons, in every state a seed can make: as of clusters, and together with them.

One thing at a time on a cluster; no mutex has two holders, be it for an add-on; no sector is passed
early by the versions of the add-on; nothing starts in a freeze; the order of a reading is nothing.
"""

import random
from functools import cache
from typing import Any

from tests.property.test_upgrade_laws import (
    NOW,
    SECTORS,
    answer,
    is_busy,
    items,
    said,
    shuffled,
)
from tidegate.model.time import SECOND, format_instant, parse_instant

SEEDS = 500
RELEASES = ("1.2.0", "1.2.1", "1.3.0")
STATES = ("scheduled", "started", "failed", "completed", "cancelled", None)
BUSY = ("pending", "scheduled", "started", "delayed", "failed", None)
MINUTES = (None, None, -30, 3, 5, 7, 30)


def drawn(seed: int) -> dict[str, Any]:
    """A world whose clusters have add-ons, and mostly nothing newer for themselves."""
    lots = random.Random(seed)
    labels = {f"sector-deps.{name}": ",".join(behind) for name, behind in SECTORS.items()}
    org = {"id": "o", "name": "O", "labels": labels, "addons": True}
    clusters = [_cluster(lots, at) for at in range(lots.randint(2, 6))]
    return {"now": NOW, "orgs": [org], "clusters": clusters, "brakes": _brakes(lots)}


def _brakes(lots: random.Random) -> dict[str, Any]:
    """A freeze, perhaps."""
    begins = lots.choice(MINUTES)
    if begins is None:
        return {}
    first = parse_instant(NOW) + begins * 60 * SECOND
    times = {"from": format_instant(first), "to": format_instant(first + 2400 * SECOND)}
    base = {"name": "f", "scope": {"everything": True}, "owner": "o", "reason": "r"}
    return {"freezes": [{**base, **times}]}


def _cluster(lots: random.Random, at: int) -> dict[str, Any]:
    hosted = lots.random() < 0.2
    busy = [{"id": "u", "version": "4.12.18", "state": "started", "schedule_type": "manual"}]
    pool: dict[str, Any] = {
        "id": "np",
        "version": lots.choice(("4.12.16", "4.12.17")),
        "upgrade_policies": [],
    }
    names = lots.choice(((), ("log",), ("log",), ("log",), ("log", "mesh")))
    labels = {
        "who": f"id-{at}",
        "soak-days": "0",
        "workloads": lots.choice(("w1", "w1", "w1", "w2", "w1,w2", ",")),
        "schedule": lots.choice(("* * * * *",) * 9 + ("8 10 * * *", "40 10 * * *")),
        "mutexes": lots.choice(("", "", "m1", "m1,m2", "m2")),
        "sector": lots.choice(("", *SECTORS)),
    }
    return {
        "name": f"c{at}",
        "id": f"id-{at}",
        "external_id": f"u-{at}",
        "org": "o",
        "version": lots.choice(("4.12.16", "4.12.17", "4.12.18")),
        "available_upgrades": ["4.12.19"] if lots.random() < 0.2 else [],
        "labels": labels,
        "product": "rosa",
        "hypershift": hosted,
        "node_pools": [pool] if hosted else [],
        "upgrade_policies": busy if lots.random() < 0.1 else [],
        "addons": [_addon(lots, name) for name in names],
    }


def _addon(lots: random.Random, name: str) -> dict[str, Any]:
    plan = {
        "id": "p",
        "version": lots.choice(RELEASES),
        "state": lots.choice(STATES),
        "schedule_type": lots.choice(("manual", "manual", "automatic")),
    }
    return {
        "id": name,
        "version": lots.choice(RELEASES),
        "latest": lots.choice((RELEASES[-1],) * 9 + ("odd", None)),
        "state": lots.choice(("ready",) * 9 + ("failed",)),
        "upgrade_plans": [plan] if lots.random() < 0.2 else [],
    }


@cache
def decided(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A world and what is answered to it."""
    world = drawn(seed)
    return world, answer(world)


def starting(found: dict[str, Any]) -> dict[str, list[tuple[str, str, str]]]:
    """What starts, by external id: what is done, the add-on, the version."""
    return {
        target["uuid"]: going
        for target in found["targets"]
        if (
            going := [
                (each["do"], each.get("addon", ""), each["version"])
                for each in target["options"]
                if each["go"] and not each["do"].startswith("cancel")
            ]
        )
    }


def has_work(cluster: dict[str, Any]) -> bool:
    """Whether something of a cluster or its add-ons is being upgraded, computed the dumb way."""
    plans = [each for addon in cluster["addons"] for each in addon["upgrade_plans"]]
    manual = [each for each in plans if each["schedule_type"] == "manual"]
    ours = any(each["state"] in BUSY for each in manual)
    begun = any(each["state"] in ("started", "delayed", "failed") for each in plans)
    return ours or begun or is_busy(cluster)


def test_one_thing_at_a_time_on_a_cluster() -> None:
    """At most one start, and none where something is under way; all that passes is written."""
    tried = 0
    for seed in range(SEEDS):
        world, found = decided(seed)
        by_uuid = {each["external_id"]: each for each in world["clusters"]}
        for uuid, several in starting(found).items():
            assert len(several) == 1, seed
            assert not has_work(by_uuid[uuid]), seed
            tried += several[0][0] == "addon"
        passed = sum(each["go"] for target in found["targets"] for each in target["options"])
        written = [path for _, path, _ in found["writes"] if "service_logs" not in path]
        assert passed == len(written), seed
    assert tried > SEEDS / 4


def test_no_mutex_has_two_holders_be_it_for_an_add_on() -> None:
    """What starts shares none with another that starts, is worked on, or is half upgraded."""
    for seed in range(SEEDS):
        world, found = decided(seed)
        going = starting(found)
        for one in world["clusters"]:
            for other in world["clusters"]:
                if one is other or one["external_id"] not in going:
                    continue
                holds = other["external_id"] in going or has_work(other)
                holds = holds or (is_late(other) and not is_late(one))
                both = items(one, "mutexes") & items(other, "mutexes")
                assert not (holds and both), seed


def is_late(cluster: dict[str, Any]) -> bool:
    return any(pool["version"] < cluster["version"] for pool in cluster["node_pools"])


def test_no_sector_is_passed_early_by_an_add_on() -> None:
    """What has the add-on and the workload in the sectors before has the version already."""
    for seed in range(SEEDS):
        world, found = decided(seed)
        going = starting(found)
        for one in world["clusters"]:
            sector = one["labels"]["sector"]
            for do, name, version in going.get(one["external_id"], ()):
                if do == "addon" and sector:
                    for workload in items(one, "workloads"):
                        held = before(world["clusters"], sector, workload, name)
                        assert all(each >= version for each in held), seed


def before(clusters: list[dict[str, Any]], sector: str, workload: str, name: str) -> list[str]:
    """The versions of an add-on in the sectors that go first, computed the dumb way."""
    found: list[str] = []
    for one in SECTORS[sector]:
        mine = [
            addon["version"]
            for each in clusters
            if each["labels"]["sector"] == one
            and workload in (items(each, "workloads") or {workload})
            for addon in each["addons"]
            if addon["id"] == name
        ]
        found += mine or before(clusters, one, workload, name)
    return found


def test_no_add_on_starts_in_a_freeze() -> None:
    """Neither now nor in six minutes."""
    now = parse_instant(NOW)
    for seed in range(SEEDS):
        world, found = decided(seed)
        for freeze in world["brakes"].get("freezes", ()):
            first, last = parse_instant(freeze["from"]), parse_instant(freeze["to"])
            for method, path, body in found["writes"]:
                if method == "POST" and "upgrade_plans" in path:
                    assert not first <= now < last, seed
                    assert not first <= parse_instant(body["next_run"]) < last, seed


def test_the_order_of_add_ons_says_nothing() -> None:
    """Nor that of anything else."""
    for seed in range(0, SEEDS, 3):
        world, one = decided(seed)
        other = answer(shuffled(world, random.Random(seed)))
        for name in ("writes", "state", "targets", "warnings", "recheckAfter"):
            assert other[name] == one[name], seed


def test_time_alone_changes_no_add_on_before_it_is_time_to_look() -> None:
    """A freeze to come is met as early as something would start in it."""
    for seed in range(SEEDS):
        world, one = decided(seed)
        wait = one["recheckAfter"] if one["recheckAfter"] is not None else 30 * 86400
        later = format_instant(parse_instant(NOW) + int(wait * 0.999) * SECOND)
        assert said(answer({**world, "now": later})) == said(one), seed


def test_reading_fewer_add_ons_starts_none_that_was_not_safe() -> None:
    """Some clusters lose theirs and are said to be unread; what starts would start without."""
    for seed in range(SEEDS):
        world, _ = decided(seed)
        lots = random.Random(seed)
        lost = {each["id"] for each in world["clusters"] if each["addons"] and lots.random() < 0.3}
        some = [
            {**each, "addons": [] if each["id"] in lost else each["addons"]}
            for each in world["clusters"]
        ]
        why = {each["external_id"]: "no answer" for each in some if each["id"] in lost}
        going = starting(answer({**world, "clusters": some, "unread": why}))
        for each in some if lost else ():
            for step in going.get(each["external_id"], ()):
                if step[0] == "addon":
                    rest = [{"key": "who", "operator": "NotIn", "values": [each["id"]]}]
                    scope = {"selector": {"matchExpressions": rest}}
                    pin = {"name": "p", "scope": scope, "owner": "o", "reason": "r"}
                    pinned = {**world, "brakes": {**world["brakes"], "pins": [pin]}}
                    assert starting(answer(pinned))[each["external_id"]] == [step], seed
