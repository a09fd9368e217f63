"""Upgrades in compat are those AUS made, on every world it was recorded on."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidegate.kinds.upgrades.core.channels import next_channel
from tidegate.kinds.upgrades.core.labels.labels import read_cluster_labels, read_org_labels
from tidegate.kinds.upgrades.core.schedule.schedule import (
    ADDON,
    CLUSTER,
    NeverFiresError,
    next_run,
    read_schedule,
)
from tidegate.kinds.upgrades.core.sectors import Sector, SectorLoopError, check_loops
from tidegate.kinds.upgrades.core.versions import VersionError, sort_versions
from tidegate.kinds.upgrades.wire.line import answer_compat
from tidegate.model.time import format_instant, parse_instant

FOLDER = Path(__file__).parent / "upgrades"


def lines_of(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(text) for text in data.splitlines()]


FUNCTIONS = lines_of((FOLDER / "functions.jsonl").read_bytes())
WORLDS = lines_of((FOLDER / "worlds.jsonl").read_bytes())
FUZZ = lines_of(gzip.decompress((FOLDER / "fuzz.jsonl.gz").read_bytes()))

# Lines of the log that tell of the recorder, or of a search that ours goes through only once.
NOISE = ("checking dependencies", "Encoding detection")
OTHER_WORDS = {
    "22_post_rejected": "the body of an answer is not part of a world",
    "62_cluster_without_channel_field": "a validator's own words about an object we do not build",
}
SKIPPED = re.compile(r"(?:DEBUG|INFO): \[[^/]*/[^/]*/([^\]]*)\] (.*)")
WHY_SKIPPED = {
    "no upcoming": "not-due",
    "existing upgrade": "existing-policy",
    "locked out": "locked",
    "max parallel": "max-parallel",
    "missing agreements": "gates",
}


def answer(world: dict[str, Any]) -> dict[str, Any]:
    """The answer as it travels."""
    found: dict[str, Any] = json.loads(msgspec.json.encode(answer_compat(world)))
    return found


def listed(items: tuple[str, ...] | None) -> list[str] | None:
    return None if items is None else list(items)


def policy_labels(labels: dict[str, str]) -> dict[str, Any]:
    read, problems = read_cluster_labels(labels)
    if read is None:
        return {"errors": [problem.text() for problem in problems]}
    conditions = {
        "mutexes": listed(read.mutexes),
        "soak_days": read.soak_days,
        "sector": read.sector,
        "blocked_versions": listed(read.blocked_versions),
    }
    approvals = listed(read.gate_approvals)
    rest = {"schedule": read.schedule, "version_gate_approvals": approvals}
    return {"ok": {"workloads": list(read.workloads), **rest, "conditions": conditions}}


def sorted_sectors(labels: dict[str, str]) -> list[Sector]:
    return sorted(read_org_labels(labels).sectors, key=lambda sector: sector.name)


def org_labels(labels: dict[str, str]) -> dict[str, Any]:
    sectors = [
        {"name": sector.name, "max": sector.max_parallel, "deps": list(sector.dependencies)}
        for sector in sorted_sectors(labels)
    ]
    blocked = listed(read_org_labels(labels).blocked_versions)
    return {"blocked_versions": blocked, "sectors": sectors}


def sectors(labels: dict[str, str]) -> dict[str, Any]:
    try:
        check_loops(sorted_sectors(labels))
    except SectorLoopError as error:
        return {"exception": f"SectorConfigError: {error}"}
    return {"ok": True}


def channel(channel: str) -> dict[str, Any]:
    target = next_channel(channel)
    return {"y_stream": target is not None, "target": target}


def cron(schedule: str, now: str, addon: str = "") -> dict[str, Any]:
    lead = ADDON if addon else CLUSTER
    try:
        found = next_run(read_schedule(schedule), parse_instant(now), lead)
    except NeverFiresError as error:
        return {"exception": f"CroniterBadDateError: {error}"}
    return {"next_run": None if found is None else format_instant(found)}


def sort(versions: list[str]) -> dict[str, Any]:
    try:
        return {"sorted": sort_versions(versions)}
    except VersionError as error:
        return {"exception": f"ValueError: {error}"}


CALLS: dict[str, Callable[..., dict[str, Any]]] = {
    "policy_labels": policy_labels,
    "org_labels": org_labels,
    "sectors": sectors,
    "channel": channel,
    "cron": cron,
    "sort": sort,
}


@pytest.mark.parametrize("line", FUNCTIONS, ids=lambda line: str(line["in"])[:60])
def test_functions_answer_to_the_letter(line: dict[str, Any]) -> None:
    """Labels and their messages, schedules, sectors, channels and versions."""
    arguments = {name: value for name, value in line["in"].items() if not name.startswith("_")}
    expected = {name: value for name, value in line["out"].items() if name != "seconds"}
    assert CALLS[arguments.pop("fn")](**arguments) == expected


@pytest.mark.parametrize("line", WORLDS, ids=lambda line: str(line["name"]))
def test_worlds_are_decided_as_they_were(line: dict[str, Any]) -> None:
    """Every write in order, every history kept, every number shown."""
    found, expected = answer(line["world"]), line["expect"]
    assert found["writes"] == expected["writes"]
    assert found["state"] == expected["state"]
    assert found["metrics"] == expected["metrics"]


@pytest.mark.parametrize("line", WORLDS, ids=lambda line: str(line["name"]))
def test_worlds_are_reported_as_they_were(line: dict[str, Any]) -> None:
    """What is logged is the same, but for what is not ours to say."""
    told = [text for text in line["expect"]["log"] if not any(noise in text for noise in NOISE)]
    found = answer(line["world"])["log"]
    if line["name"] in OTHER_WORDS:
        pairs = zip(found, told, strict=True)
        assert all(theirs.startswith(ours) for ours, theirs in pairs)
    else:
        assert found == told


@pytest.mark.parametrize("line", FUZZ, ids=lambda line: str(line["seed"]))
def test_random_worlds_are_decided_as_they_were(line: dict[str, Any]) -> None:
    """The same for random worlds, and who was passed over and why."""
    found, expected = answer(line["world"]), line["expect"]
    metrics = found["metrics"]
    left = metrics.get("aus_cluster_version_remaining_soak_days", [])
    assert found["writes"] == expected["writes"]
    assert found["state"] == expected["state"]
    assert {f"{at['cluster_uuid']}|{at['soaking_version']}": value for at, value in left} == (
        expected["soak"]
    )
    for name, values in expected["counters"].items():
        assert {at["org_id"]: value for at, value in metrics.get(name, [])} == values
    assert [text for text in found["log"] if text.startswith("ERROR")] == expected["errors"]
    assert [skip for text in found["log"] if (skip := skipped(text))] == expected["skips"]


def skipped(text: str) -> list[str] | None:
    """Why a line of the log says that a cluster is passed over, and which."""
    if (match := SKIPPED.match(text)) is None:
        return None
    return [next(why for words, why in WHY_SKIPPED.items() if words in match[2]), match[1]]


def test_no_vector_is_lost() -> None:
    """All recorded lines are compared."""
    assert (len(FUNCTIONS), len(WORLDS), len(FUZZ)) == (162, 52, 900)
