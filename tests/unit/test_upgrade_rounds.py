"""Round after round with what was kept: stage first, a day of soak, then prod, one at a time."""

from typing import Any

from tests.upgraded import NOW, answer, world
from tidegate.model.time import SECOND, format_instant, parse_instant

TEN_MINUTES = 10 * 60 * SECOND


def live(asked: dict[str, Any], rounds: int, blind: range = range(0)) -> dict[str, str]:
    """What is upgraded has the version in the next round; when each got it, by name."""
    reached: dict[str, str] = {}
    now = parse_instant(NOW)
    for number in range(rounds):
        moment = format_instant(now + number * TEN_MINUTES)
        if number in blind:  # no one looks
            continue
        found = answer({**asked, "now": moment})
        asked["state"] = found["state"]
        going = {path.split("/")[5]: body for _, path, body in found["writes"]}
        for cluster in asked["clusters"]:
            if body := going.get(f"{cluster['name']}-id"):
                cluster["version"], cluster["available_upgrades"] = body["version"], []
                reached[cluster["name"]] = moment
    return reached


def fleet() -> dict[str, Any]:
    """Two of stage, two of prod that share a mutex and ask for a day of two clusters."""
    stage = [{"name": f"stage-{i}", "labels": {"sector": "stage"}} for i in (1, 2)]
    wants = {"sector": "prod", "soak-days": "2", "mutexes": "m"}
    prod = [{"name": f"prod-{i}", "labels": wants} for i in (1, 2)]
    return world(*stage, *prod, labels={"sector-deps.prod": "stage"})


def test_soak_carries_from_round_to_round_and_lets_prod_go_after_a_day() -> None:
    """Two clusters soak two days in a day, counted from the first look at them on the version."""
    assert live(fleet(), 160) == {
        "stage-1": NOW,
        "stage-2": NOW,
        "prod-1": "2023-05-11T10:10:00Z",
        "prod-2": "2023-05-11T10:20:00Z",
    }


def test_hours_without_a_look_are_waited_for_again() -> None:
    """Five hours without a look count nothing: prod goes five hours and ten minutes later."""
    blind = range(30, 60)
    assert live(fleet(), 200, blind)["prod-1"] == "2023-05-11T15:20:00Z"
