"""A date without a `~` is kept, whatever a channel turns out to offer.

Fleets from a seed are foreseen and then played forward in a simulated OpenShift Cluster Manager.
Clusters switch channels, and no one knows before what the next one offers them.
"""

import random
from functools import cache
from typing import Any

import pytest

from tests.engine.test_upgrade_forecast import PACE, ROUND, cluster, document, hosted
from tests.rounds import Lived, Reached
from tests.sim import sized
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedUpgrades, UpgradeLeg
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast, forecast
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.model.time import SECOND, Instant, format_second

# All of them look at the same stories, which one process plays.
pytestmark = pytest.mark.xdist_group("firm dates")

# How far a story is played.
DAYS = 9
ROUNDS = DAYS * 24 * 3600 * SECOND // ROUND
# Of 4,127 branches that the first 16 stories reach, these miss four.
CHOSEN = (2, 1, 7, 4, 13, 5)
RELEASES = ("4.16.3", "4.16.4", "4.16.6", "4.17.1", "4.17.3", "4.18.2")
CLOCKS = ("* * * * *", "0 9 * * *", "15 */4 * * *", "0 12 * * 1-4", "0 3 * * 6")


def switching(seed: int) -> dict[str, Any]:
    """A small fleet on several channels; nothing newer than what they lead to is known."""
    lot = random.Random(seed)

    def one(i: int) -> dict[str, Any]:
        version = lot.choice(RELEASES[:4])
        minor = int(version.split(".")[1])
        labels = {
            "soak-days": lot.choice("0012"),
            "workloads": lot.choice(("pay", "maps")),
            "schedule": lot.choice(CLOCKS),
            "mutexes": lot.choice(("", "", "m", "n")),
            "sector": lot.choice(("", "", "dev", "prod")),
        }
        labels = {key: each for key, each in labels.items() if each}
        channel = f"stable-4.{minor + (lot.random() < 0.3)}"
        if lot.random() < 0.25:
            pools = [{"id": "a", "version": version}]
            found = hosted(f"c{i}", labels=labels, version=version, channel=channel)
            return found | {"node_pools": pools}
        return cluster(f"c{i}", labels=labels, version=version, channel=channel)

    limit = {"sector-max-parallel-upgrades.prod": "1"} if lot.random() < 0.5 else {}
    story = document(
        *(one(i) for i in range(lot.randint(2, 7))), **{"sector-deps.prod": "dev"}, **limit
    )
    count = lot.randint(3, len(RELEASES))
    return story | {"versions": [{"version": each} for each in RELEASES[:count]]}


def firm(outlook: FleetForecast, until: Instant) -> list[tuple[ExpectedUpgrades, UpgradeLeg]]:
    """Every step with a date that is not in doubt."""
    return [
        (each, leg)
        for each in outlook.expected.values()
        for leg in each.upgrades
        if not leg.estimate and leg.ends_at is not None and leg.ends_at < until - ROUND
    ]


def played(seed: int) -> tuple[FleetForecast, Reached, Instant]:
    """What is foreseen of a fleet, what happens to it, and when it was foreseen."""
    lived = Lived(switching(seed))
    began = lived.clock.now()
    outlook = forecast(lived.look(), began, PACE)
    return outlook, lived.live(ROUNDS, ROUND), began


@cache
def stories() -> dict[int, tuple[FleetForecast, Reached, Instant]]:
    """All of them, played once."""
    return {seed: played(seed) for seed in {*CHOSEN, *range(sized(0, 0, 120))}}


def test_no_firm_date_is_wrong() -> None:
    """Every step whose date carries no `~` happens in that very round."""
    wrong, right = [], 0
    for seed, (outlook, reached, began) in stories().items():
        for expected, leg in firm(outlook, Instant(began + ROUNDS * ROUND)):
            assert leg.ends_at is not None
            seen_at = Instant(began + -(-(leg.ends_at - began) // ROUND) * ROUND)
            happened = reached.get((expected.cluster.name, leg.pool, leg.version))
            if happened != seen_at:
                when = "never" if happened is None else format_second(happened)
                wrong.append(f"{seed} {expected.cluster.name} {leg.version}: {when}, not {leg}")
            else:
                right += 1
    assert wrong == []
    assert right > len(stories()) / 4  # and not because everything is in doubt


def test_what_was_not_foreseen_was_said_to_be_unknown() -> None:
    """A cluster that is said to be done, for all that is known, does not move."""
    for seed, (outlook, reached, _) in stories().items():
        moved = {name for name, _, _ in reached}
        for expected in outlook.expected.values():
            name = expected.cluster.name
            doubted = any(leg.estimate for leg in expected.legs)
            known = expected.held is None and expected.unknown is None and not doubted
            if known and not expected.legs:
                assert name not in moved, (seed, name)


@pytest.mark.parametrize("share", [60])
def test_most_of_what_happens_is_foreseen(share: int) -> None:
    """Doubt is no excuse: so many of a hundred steps that happen are among those foreseen."""
    foreseen = happened = 0
    for outlook, reached, _ in stories().values():
        steps = {
            (each.cluster.name, leg.pool, leg.version)
            for each in outlook.expected.values()
            for leg in each.upgrades
        }
        happened += len(reached)
        foreseen += sum(each in steps for each in reached)
    assert foreseen * 100 >= happened * share, f"{foreseen} of {happened}"


def test_a_hosted_control_plane_takes_its_own_time() -> None:
    """Of all its steps, and of its node pools, the dates carry their doubt."""
    legs = [
        leg
        for outlook, _, _ in stories().values()
        for each in outlook.expected.values()
        if each.cluster.is_hosted
        for leg in each.upgrades
    ]
    assert legs
    assert all(leg.estimate for leg in legs)


def test_what_a_new_channel_leads_to_is_said_to_be_unknown() -> None:
    """No cluster is on the next channel: the switch has a date, what comes then depends on it."""
    story = document(cluster("a", labels={}, version="4.16.4", channel="stable-4.16"))
    story["versions"] = [{"version": each} for each in RELEASES[:4]]
    lived = Lived(story)
    (expected,) = forecast(lived.look(), lived.clock.now(), PACE).expected.values()
    switches = [leg for leg in expected.legs if leg.doing is StepKind.CHANNEL]
    assert [leg.version for leg in switches] == ["stable-4.17"]
    assert expected.unknown is not None
    assert (expected.unknown.channel, expected.unknown.since) == (
        "stable-4.17",
        switches[0].starts_at,
    )


def test_what_a_channel_leads_to_is_known_from_others_on_it() -> None:
    """Another cluster is there already: its offers are what this one gets."""
    story = document(
        cluster("a", labels={}, version="4.16.6", channel="stable-4.16"),
        cluster("b", labels={"schedule": "0 3 1 6 *"}, version="4.16.6", channel="stable-4.17"),
    )
    story["versions"] = [{"version": each} for each in RELEASES[:4]]
    lived = Lived(story)
    outlook = forecast(lived.look(), lived.clock.now(), PACE)
    expected = next(each for each in outlook.expected.values() if each.cluster.name == "a")
    assert [leg.version for leg in expected.legs][:2] == ["stable-4.17", "4.17.1"]
