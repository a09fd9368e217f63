"""What is foreseen is what happens: the rules run ahead, beside rounds in a simulated manager."""

import random
from typing import Any

import msgspec
import pytest

from tests.rounds import Lived, Reached
from tidegate.gates.brakes import Brakes
from tidegate.gates.budget import Budget
from tidegate.gates.freeze import Freeze, Span
from tidegate.gates.hold import Hold
from tidegate.gates.pin import Pin
from tidegate.gates.scope import Scope
from tidegate.kinds.upgrades.core.foresight.forecast import forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.model.limit import Limit
from tidegate.model.time import SECOND, Duration, Instant, format_second, parse_instant

ROUND = Duration(60 * 60 * SECOND)
PACE = UpgradePace(
    classic=Duration(75 * 60 * SECOND),
    control_plane=Duration(75 * 60 * SECOND),
    pool=Duration(20 * 60 * SECOND),
    round=ROUND,
    horizon=Duration(21 * 24 * 3600 * SECOND),
)
VERSIONS = [{"version": f"4.16.{patch}"} for patch in (3, 4)]
ANY_TIME = {"soak-days": "0", "workloads": "pay", "schedule": "* * * * *"}


def cluster(name: str, *, labels: dict[str, str], **more: Any) -> dict[str, Any]:
    """A cluster of the organisation."""
    base = {"name": name, "org": "o", "version": "4.16.3", "labels": ANY_TIME | labels}
    return base | more


def document(*clusters: dict[str, Any], **labels: str) -> dict[str, Any]:
    """One organisation in the simulated manager."""
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O", "labels": labels}],
        "clusters": list(clusters),
        "versions": list(VERSIONS),
        "pace": {"takes": "75m", "pool_takes": "20m"},
    }


def hosted(name: str, **more: Any) -> dict[str, Any]:
    """A cluster with two node pools."""
    pools = [{"id": each, "version": "4.16.3"} for each in ("a", "b")]
    return cluster(name, product="rosa", hypershift=True, node_pools=pools, **more)


PROD = {"sector": "prod", "soak-days": "2", "schedule": "0 9 * * 1-4"}
STAGED = {"sector-deps.prod": "stage"}
STORIES = {
    "a cluster that may go at once": document(cluster("a", labels={})),
    "a weekly window": document(cluster("a", labels={"schedule": "30 3 * * 6"})),
    "its own time zone": document(
        cluster("a", labels={"schedule": "0 2 * * 0", "schedule-timezone": "Europe/Berlin"})
    ),
    "two who share a mutex": document(
        *(cluster(name, labels={"mutexes": "m"}) for name in ("a", "b", "c"))
    ),
    "soak by two clusters": document(
        cluster("a", labels={}),
        cluster("b", labels={}),
        cluster("c", labels={"soak-days": "3"}),
    ),
    "soak that comes in twos": document(
        cluster("a", labels={}),
        cluster("b", labels={"soak-days": "1"}),
        cluster("c", labels={"soak-days": "7", "schedule": "0 9 * * 1-4"}),
        cluster("d", labels={"soak-days": "9", "workloads": "pay,maps"}),
        cluster("e", labels={"workloads": "maps"}),
    ),
    "sectors, one at a time": document(
        cluster("s1", labels={"sector": "stage"}),
        cluster("s2", labels={"sector": "stage", "schedule": "0 12 * * *"}),
        *(cluster(f"p{i}", labels=PROD) for i in range(3)),
        **STAGED,
        **{"sector-max-parallel-upgrades.prod": "1"},
    ),
    "node pools after their control plane": document(
        hosted("h", labels={"mutexes": "m"}),
        hosted("i", labels={"mutexes": "m", "schedule": "0 */6 * * *"}),
        cluster("c", labels={"mutexes": "m"}),
    ),
    "under way already": document(
        cluster(
            "a",
            labels={"mutexes": "m"},
            upgrade_policies=[
                {"id": "p", "version": "4.16.4", "next_run": "2026-03-02T09:30:00Z"},
            ],
        ),
        cluster("b", labels={"mutexes": "m"}),
    ),
}


def test_soak_of_others_is_foreseen_where_it_is_inherited() -> None:
    """What inherits goes a round after those it inherits from have soaked, at the latest."""
    story = document(
        cluster("a", labels={}),
        cluster("b", labels={}),
        cluster("c", labels={"soak-days": "4"}) | {"org": "p"},
        cluster("d", labels={"soak-days": "1"}) | {"org": "p"},
        **{"version-data.publish": "p"},
    )
    story["orgs"].append({"id": "p", "name": "P", "labels": {"version-data.inherit": "o"}})
    happened, ahead = lived_through(story), foreseen(Lived(story))
    assert happened.keys() == ahead.keys() == {(name, "", "4.16.4") for name in "abcd"}
    assert all(0 <= ahead[key] - happened[key] <= ROUND for key in ahead)


def moment(day: int, hour: int) -> Instant:
    """A moment in March."""
    return parse_instant(f"2026-03-{day:02}T{hour:02}:00:00Z")


def brake(kind: type[Any], **more: Any) -> Any:
    """A brake on everything."""
    return kind(name="b", scope=Scope(), owner="sre", why="why", **more)


SOAKING = STORIES["soak that comes in twos"]
NIGHTLY = tuple(Span(moment(day, 20), moment(day + 1, 6)) for day in range(2, 20))
BRAKED = {
    "a freeze for some days": (SOAKING, brake(Freeze, spans=(Span(moment(3, 0), moment(6, 0)),))),
    "a freeze every night": (SOAKING, brake(Freeze, spans=NIGHTLY)),
    "a freeze at the only hour": (
        document(cluster("a", labels={"schedule": "0 2 * * *"}), cluster("b", labels={})),
        brake(Freeze, spans=NIGHTLY[:5]),
    ),
    "a hold that ends": (SOAKING, brake(Hold, expires_at=moment(4, 5))),
    "a pin that ends": (SOAKING, brake(Pin, expires_at=moment(4, 5))),
    "one at a time, whoever": (
        SOAKING,
        Budget(name="b", scope=Scope(), limit=Limit(1)),
    ),
}
FIELDS: dict[type[Any], str] = {Freeze: "freezes", Hold: "holds", Pin: "pins", Budget: "budgets"}


@pytest.mark.parametrize("story", BRAKED)
def test_what_is_foreseen_under_brakes_happens(story: str) -> None:
    """Freezes, holds and pins end when they say so; a budget frees as upgrades end."""
    written, one = BRAKED[story]
    brakes: Any = msgspec.structs.replace(Brakes(), **{FIELDS[type(one)]: (one,)})
    lived = lived_through(written, brakes=brakes)
    assert told(lived) == told(foreseen(Lived(written, brakes=brakes)))


def foreseen(lived: Lived) -> Reached:
    """When each version is expected where: at the first round after its step is over."""
    began = lived.clock.now()
    outlook = forecast(lived.look(), began, PACE)
    found: Reached = {}
    for expected in outlook.expected.values():
        for leg in expected.legs:
            if leg.doing in (StepKind.UPGRADE, StepKind.POOL) and leg.ends_at is not None:
                rounds = -(-(leg.ends_at - began) // ROUND)
                seen_at = Instant(began + rounds * ROUND)
                found[expected.cluster.name, leg.pool, leg.version] = seen_at
    return found


def told(reached: Reached) -> list[str]:
    """In words, so that a difference can be read."""
    return [f"{format_second(at)} {' '.join(key)}" for key, at in sorted(reached.items())]


@pytest.mark.parametrize("story", STORIES)
def test_what_is_foreseen_happens_in_that_very_round(story: str) -> None:
    """Every cluster and node pool gets each version when it was said, and nothing else happens."""
    assert told(lived_through(STORIES[story])) == told(foreseen(Lived(STORIES[story])))


def lived_through(story: dict[str, Any], **more: Any) -> Reached:
    """What happens until a little after all that was foreseen."""
    lived = Lived(story, **more)
    ahead = foreseen(lived)
    assert ahead
    rounds = (max(ahead.values()) - lived.clock.now()) // ROUND + 3
    return lived.live(rounds, ROUND)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_foreseen_of_any_fleet_happens(seed: int) -> None:
    """Fleets drawn from a seed: sectors, limits, mutexes, soak, windows, pools and gates, mixed."""
    story = drawn(random.Random(seed))
    assert told(lived_through(story)) == told(foreseen(Lived(story)))


def drawn(lot: random.Random) -> dict[str, Any]:
    """A small fleet; the first cluster is a canary, so that something happens."""

    def one(i: int) -> dict[str, Any]:
        labels = {
            "soak-days": lot.choice("0012") if i else "0",
            "workloads": lot.choice(("pay", "maps", "pay,maps")) if i else "pay,maps",
            "schedule": lot.choice(("* * * * *", "0 9 * * *", "15 */4 * * *", "0 12 * * 1-4")),
            "mutexes": lot.choice(("", "m", "n", "m,n")),
            "sector": lot.choice(("", "dev", "stage", "prod")) if i else "dev",
        }
        make = hosted if lot.random() < 0.3 else cluster
        labels = {key: each for key, each in labels.items() if each}
        # A channel that leads to the next minor from the start: what another would lead to, no one
        # knows before the switch.
        return make(f"c{i}", labels=labels, channel="stable-4.17")

    found = document(
        *(one(i) for i in range(lot.randint(3, 8))),
        **{
            "sector-deps.stage": "dev",
            "sector-deps.prod": "stage",
            "sector-max-parallel-upgrades.prod": lot.choice(("1", "50%")),
        },
    )
    found["versions"] += [{"version": "4.17.1"}] if lot.random() < 0.5 else []
    gate = {"id": "g", "prefix": "4.17", "label": "api.openshift.com/gate-ocp"}
    found["gates"] = [gate] if lot.random() < 0.7 else []
    return found
