"""Laws of upgrades by our own rules, in every state a seed can make.

No mutex has two holders; no sector is passed early; no sector goes over its limit; nothing starts
in a freeze; what is done is what every gate lets pass; the order of a reading says nothing; before
it is time to look again, time alone changes nothing.
"""

import json
import random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.upgrades.wire.modes import answer_strict
from tidegate.model.time import SECOND, format_instant, parse_instant

NOW = "2023-05-10T10:00:00Z"
VERSIONS = ("4.12.17", "4.12.18", "4.12.19", "4.13.0-rc.1", "4.13.0", "4.13.4")
KEYS = {version: at for at, version in enumerate(VERSIONS)}
STATES = ("pending", "scheduled", "started", "delayed", "failed", "completed", "cancelled", None)
UNDER_WAY = ("pending", "scheduled", "started", "delayed", "failed", None)
EVERYWHERE = {
    "version": "*",
    "scope": {"everything": True},
    "owner": "sec",
    "reason": "CVE",
    "expires": "2023-05-20T10:00:00Z",
}
# prod waits for stage, stage for dev; lone waits for nothing.
SECTORS = {"prod": ("stage",), "stage": ("dev",), "dev": (), "lone": ()}


def sometimes(often: Any, *seldom: Any) -> st.SearchStrategy[Any]:
    """Mostly the usual: where everything is unusual, nothing starts, and no law is put to it."""
    return st.sampled_from([often] * 9 * len(seldom) + list(seldom))


# Strategies are made once: making them anew for every draw took four fifths of the time.
_POLICY = st.fixed_dictionaries(
    {
        "version": st.sampled_from(VERSIONS),
        "state": st.sampled_from(STATES),
        "schedule_type": st.sampled_from(("manual", "manual", "automatic")),
        "next_run": st.sampled_from((None, "2023-05-10T10:30:00Z", "2023-06-01T00:00:00Z")),
    }
)
_COUNT = st.sampled_from((0, 1, 1, 1, 2))
_FEW, _SEVERAL = st.integers(0, 2), st.integers(2, 7)
_RARELY, _BUSY = sometimes(False, True), st.sampled_from((False, False, True))
_VERSION = st.sampled_from((VERSIONS[0], *VERSIONS[:3]))
_LAGS = st.sampled_from((True, False, False))
_LABELS = st.fixed_dictionaries(
    {
        "soak-days": sometimes("0", "1", "two"),
        "workloads": sometimes("w1", "w2", "w1,w2", ","),
        "schedule": sometimes("* * * * *", "0 3 * * 0", "20 11 * * *"),
        "mutexes": st.sampled_from(("", "m1", "m1,m2", "m2")),
        "sector": st.sampled_from(("", *SECTORS, "lone")),
        "blocked-versions": sometimes("", r"^4\.13\.", "[", "4.12.19"),
    }
)
_REST = st.fixed_dictionaries(
    {
        "hypershift": st.booleans(),
        "available_channels": st.sampled_from((0, 1)).map(lambda many: ["stable-4.13"] * many),
        "gate_agreements": st.sampled_from((0, 1)).map(lambda many: ["g"] * many),
        "alerts": _RARELY.map(lambda ill: ["Down"] * ill),
        "state": sometimes("ready", "hibernating"),
    }
)
_LIMIT = st.sampled_from((None, "0", "1", "1", "50%", "many"))
_CHECKED, _SAME = st.booleans(), sometimes(False, True)


def policies(draw: st.DrawFn) -> list[dict[str, Any]]:
    """One mostly, seldom none or two."""
    return [{"id": f"p{at}", **draw(_POLICY)} for at in range(draw(_COUNT))]


def cluster(draw: st.DrawFn, at: int) -> dict[str, Any]:
    """A cluster, well or badly labelled, doing this or that."""
    version, rest = draw(_VERSION), draw(_REST)
    pools = [
        {
            "id": f"np{number}",
            "version": VERSIONS[0] if draw(_LAGS) else version,
            "upgrade_policies": policies(draw) if draw(_RARELY) else [],
        }
        for number in range(draw(_FEW) if rest["hypershift"] else 0)
    ]
    return {
        "name": "same" if draw(_SAME) else f"c{at}",
        "id": f"id-{at}",
        "external_id": f"u-{at}",
        "org": "o",
        "version": version,
        "available_upgrades": list(VERSIONS[KEYS[version] + 1 :]),
        "labels": dict(draw(_LABELS)),
        "product": "rosa",
        "node_pools": pools,
        "upgrade_policies": policies(draw) if draw(_BUSY) else [],
        **rest,
    }


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """One organisation with sectors, a limit, some soak, and perhaps a freeze."""
    labels = {f"sector-deps.{name}": ",".join(behind) for name, behind in SECTORS.items()}
    if (limit := draw(_LIMIT)) is not None:
        labels["sector-max-parallel-upgrades.lone"] = limit
    soak = {"w1": {"soak_days": 2.5, "reporting": ["c0"]}, "w2": {"soak_days": 0.5}}
    kept = {"check_in": "2023-05-10T09:30:00Z", "versions": {"4.13.0": {"workloads": soak}}}
    checks = [{"provider": "telemeter", "enforced": True}] if draw(_CHECKED) else []
    org = {"id": "o", "name": "O", "labels": labels, "health_checks": checks}
    return {
        "now": NOW,
        "orgs": [org, {"id": "p", "name": "P"}],
        "clusters": [cluster(draw, at) for at in range(draw(_SEVERAL))],
        "gates": [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}],
        "state": {"prod/o": kept},
        "telemeter_fail": draw(_RARELY),
        "brakes": {"expedites": [EVERYWHERE] if draw(_RARELY) else []},
    }


def braked(world: dict[str, Any], **brakes: Any) -> dict[str, Any]:
    """A world with more brakes."""
    return {**world, "brakes": {**world["brakes"], **brakes}}


def answer(world: dict[str, Any]) -> dict[str, Any]:
    """The answer as it travels."""
    found: dict[str, Any] = json.loads(msgspec.json.encode(answer_strict(world)))
    return found


def started(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Who is upgraded to what and when, node pools included, by the id of the cluster."""
    return {
        path.split("/")[5]: (body["version"], body["next_run"])
        for method, path, body in found["writes"]
        if method == "POST" and "upgrade_policies" in path
    }


def shuffled(value: Any, lots: random.Random) -> Any:
    """The same with every list and object in another order."""
    if isinstance(value, dict):
        pairs = [(key, shuffled(each, lots)) for key, each in value.items()]
        return dict(lots.sample(pairs, len(pairs)))
    if isinstance(value, list):
        return lots.sample([shuffled(each, lots) for each in value], len(value))
    return value


def items(cluster: dict[str, Any], label: str) -> set[str]:
    return {each for each in cluster["labels"][label].split(",") if each}


def is_busy(cluster: dict[str, Any]) -> bool:
    """Whether an upgrade of a cluster is under way, computed the dumb way."""
    every = [*cluster["upgrade_policies"]]
    if cluster["hypershift"]:
        every += [each for pool in cluster["node_pools"] for each in pool["upgrade_policies"]]
    return any(
        each["state"] in ("started", "delayed", "failed")
        or (
            each["state"] in UNDER_WAY
            and (each["schedule_type"] == "manual" or each["next_run"] == "2023-05-10T10:30:00Z")
        )
        for each in every
    )


def oldest(cluster: dict[str, Any]) -> int:
    pools = cluster["node_pools"] if cluster["hypershift"] else []
    return min(KEYS[each["version"]] for each in (cluster, *pools))


def is_behind(cluster: dict[str, Any]) -> bool:
    return oldest(cluster) < KEYS[cluster["version"]]


@given(worlds())
def test_no_mutex_has_two_holders(world: dict[str, Any]) -> None:
    """What starts shares no mutex with another that starts, is upgraded, or is half upgraded.

    In a sector with a limit, too.
    """
    going = started(answer(world))

    def holds(other: dict[str, Any], one: dict[str, Any]) -> bool:
        half = is_behind(other) and not is_behind(one)
        return is_busy(other) or half or other["id"] in going

    for one in world["clusters"]:
        for mutex in items(one, "mutexes") if one["id"] in going else ():
            having = [each for each in world["clusters"] if mutex in items(each, "mutexes")]
            assert not [each for each in having if each is not one and holds(each, one)]


def most_of(limit: str, size: int) -> int:
    """How many of so many, as the labels of these worlds say it."""
    return {"0": 0, "1": 1, "many": 0}.get(limit, max(1, round(size / 2)))


@given(worlds())
def test_no_sector_is_passed_early(world: dict[str, Any]) -> None:
    """What goes to a version finds it wherever its workloads run in the sectors before it."""
    going = started(answer(world))
    clusters = world["clusters"]

    def members(sector: str, workload: str) -> list[dict[str, Any]]:
        mine = [each for each in clusters if each["labels"]["sector"] == sector]
        return [each for each in mine if workload in (items(each, "workloads") or {workload})]

    def before(sector: str, workload: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for name in SECTORS[sector]:
            found += members(name, workload) or before(name, workload)
        return found

    for one in clusters:
        sector = one["labels"]["sector"]
        if one["id"] in going and sector and not is_behind(one):
            version = KEYS[going[one["id"]][0]]
            for workload in items(one, "workloads"):
                assert all(oldest(each) >= version for each in before(sector, workload))


@given(worlds())
def test_no_sector_goes_over_its_limit(world: dict[str, Any]) -> None:
    """The upgraded and the starting together are at most as many as may be, unless they were."""
    for each in world["clusters"]:  # who shares a mutex, or waits for others, seldom comes so far
        each["labels"] |= {"mutexes": "", "sector": "lone"}
    going = started(answer(world))
    mine = world["clusters"]
    limit = world["orgs"][0]["labels"].get("sector-max-parallel-upgrades.lone")
    if limit is None:
        return
    most = most_of(limit, len(mine))
    starting = [each for each in mine if each["id"] in going]
    busy = [each for each in mine if is_busy(each) and each["id"] not in going]
    assert not starting or len(starting) + len(busy) <= most


@given(worlds(), st.sampled_from((-30, 0, 1, 5, 7, 60, 79)), st.sampled_from((1, 5, 60)))
def test_nothing_starts_in_a_freeze(world: dict[str, Any], begins: int, lasts: int) -> None:
    """Neither is anything asked for in one, nor for a moment in one."""
    now = parse_instant(NOW)
    first, last = (now + at * 60 * SECOND for at in (begins, begins + lasts))
    freeze = {
        "name": "f",
        "scope": {"everything": True},
        "owner": "ops",
        "reason": "rest",
        "from": format_instant(first),
        "to": format_instant(last),
    }
    found = answer(braked(world, freezes=[freeze]))
    for _, runs_at in started(found).values():
        assert not first <= now < last
        assert not first <= parse_instant(runs_at) < last


@given(worlds())
def test_a_hold_stops_every_start(world: dict[str, Any]) -> None:
    """Everything that would start, and every channel; owners are notified all the same."""
    hold = {"name": "h", "scope": {"everything": True}, "owner": "sre", "reason": "incident"}
    found = answer(braked(world, holds=[hold]))
    kinds = {method for method, path, _ in found["writes"] if "service_logs" not in path}
    assert kinds <= {"DELETE"}


@given(worlds())
def test_an_expedite_is_soak_and_a_window_and_nothing_else(world: dict[str, Any]) -> None:
    """As if everything had soaked for ever and every schedule fired every minute."""
    soak = {each: {"soak_days": 1e6} for each in ("w1", "w2")}
    ripe = {version: {"workloads": soak} for version in VERSIONS}
    labels = [{**each["labels"], "schedule": "* * * * *"} for each in world["clusters"]]
    some = [{**a, "labels": b} for a, b in zip(world["clusters"], labels, strict=True)]
    open_ = {**world, "clusters": some, "state": {"prod/o": {"versions": ripe}}, "brakes": {}}
    found = answer(braked(world, expedites=[EVERYWHERE]))
    assert started(found) == started(answer(open_))


@given(worlds())
def test_what_is_done_is_what_every_gate_lets_pass(world: dict[str, Any]) -> None:
    """At most one start a cluster; each option that passes is written once, and no other."""
    found = answer(world)
    passed = 0
    for target in found["targets"]:
        assert target["options"]
        starts = [each for each in target["options"] if each["go"] and each["do"] != "cancel"]
        assert len(starts) <= 1
        for option in target["options"]:
            assert option["go"] == all(each["outcome"] == "pass" for each in option["verdicts"])
            passed += option["go"]
    assert passed == len([path for _, path, _ in found["writes"] if "service_logs" not in path])


@given(worlds(), st.integers(0, 2**32))
def test_the_order_of_a_reading_says_nothing(world: dict[str, Any], lots: int) -> None:
    """Clusters, pools, policies, labels, versions and organisations in any order."""
    one, other = answer(world), answer(shuffled(world, random.Random(lots)))
    for name in ("writes", "state", "targets", "warnings", "recheckAfter"):
        assert other[name] == one[name]


def test_two_policies_alike_are_called_off_in_one_order() -> None:
    """A cluster with two policies to a version that is blocked by now, read in either order."""
    policy = {"version": "4.13.0", "state": "pending", "schedule_type": "manual", "next_run": None}
    both = [{**policy, "id": ident} for ident in ("p0", "p1")]
    cluster = {
        "name": "c",
        "id": "id-0",
        "external_id": "u-0",
        "org": "o",
        "version": "4.12.17",
        "labels": {"soak-days": "0", "workloads": "w1", "blocked-versions": "^4\\.13\\."}
        | {"schedule": "* * * * *"},
        "product": "rosa",
    }
    world = {"now": NOW, "orgs": [{"id": "o", "name": "O"}]}
    one, other = (
        answer({**world, "clusters": [{**cluster, "upgrade_policies": some}]})["writes"]
        for some in (both, both[::-1])
    )
    assert [method for method, *_ in one].count("DELETE") == 2
    assert one == other


@given(worlds(), st.sampled_from((0.3, 0.9, 0.999)))
def test_time_alone_changes_nothing_before_it_is_time_to_look(
    world: dict[str, Any], part: float
) -> None:
    """Every gate says the same until `recheckAfter`; soak, a fold of looks, is left out."""
    for cluster in world["clusters"]:
        cluster["labels"]["soak-days"] = "0"
    one = answer(world)
    wait = one["recheckAfter"] if one["recheckAfter"] is not None else 30 * 86400
    later = format_instant(parse_instant(NOW) + int(wait * part) * SECOND)
    assert said(answer({**world, "now": later})) == said(one)


def said(found: dict[str, Any]) -> list[Any]:
    """What every gate says, without numbers."""
    return [
        [(each["gate"], each["outcome"], each["reason"]) for each in option["verdicts"]]
        for target in found["targets"]
        for option in target["options"]
    ]
