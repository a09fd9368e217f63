"""Versions as the simulated OpenShift Cluster Manager orders them, and what leads where."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tidegate.kinds.upgrades.ocm.simulated.world_doc import AddonDoc, VersionDoc
from tidegate.model.time import Instant, parse_instant

_PARTS = re.compile(r"\d+|[a-zA-Z]+")
_GROUPS = ("candidate", "fast", "stable")

Key = tuple[tuple[int, ...], int, tuple[tuple[int, int, str], ...]]


def version_key(text: str) -> Key:
    """What versions are ordered by: a pre-release comes before its release."""
    core, _, rest = text.partition("+")[0].partition("-")
    numbers = tuple(int(part) for part in re.findall(r"\d+", core))
    pre = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in _PARTS.findall(rest)
    )
    return numbers, 0 if rest else 1, pre


def minor(version: str) -> tuple[int, int]:
    """Major and minor: 4.12.17 is (4, 12)."""
    numbers = (*version_key(version)[0], 0, 0)
    return numbers[0], numbers[1]


def channels_of(version: VersionDoc) -> tuple[str, ...]:
    """The channels a version is in."""
    if version.channels is not None:
        return version.channels
    major, own = minor(version.version)
    # A cluster on a channel of the next minor is offered versions of it.
    return tuple(f"{group}-{major}.{each}" for each in (own, own + 1) for group in _GROUPS)


def released(versions: Iterable[VersionDoc], now: Instant) -> list[VersionDoc]:
    """Those that are out, the oldest version first."""
    found = [each for each in versions if _out_at(each) <= now]
    return sorted(found, key=lambda each: version_key(each.version))


def upgrades_from(version: str, channel: str, out: Iterable[VersionDoc]) -> list[str]:
    """What a cluster can be upgraded to: newer, in its channel, at most one minor ahead."""
    current, (major, own) = version_key(version), minor(version)
    return [
        each.version
        for each in out
        if version_key(each.version) > current
        and minor(each.version) <= (major, own + 1)
        and channel in channels_of(each)
    ]


def channels_for(version: str, out: Iterable[VersionDoc]) -> list[str]:
    """The channels a cluster may be put on: those its version is in."""
    for each in out:
        if each.version == version:
            return list(channels_of(each))
    major, own = minor(version)
    return [f"{group}-{major}.{own}" for group in _GROUPS]


def with_offers(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A world as this manager would show it: what clusters leave out follows from its lists.

    Without the lists, or with lists that cannot be read, it is as it was written.
    """
    try:
        versions = msgspec.convert(document.get("versions") or (), tuple[VersionDoc, ...])
        addons = msgspec.convert(document.get("addons") or (), tuple[AddonDoc, ...])
        clusters = msgspec.convert(document.get("clusters"), list[dict[str, Any]])
        out = released(versions, parse_instant(str(document.get("now"))))
        newest = {each.id: each.version for each in addons}
        shown = [_cluster_offers(each, out, newest) for each in clusters]
    except ValueError:
        return document
    return {**document, "clusters": shown}


def _cluster_offers(
    cluster: dict[str, Any], out: list[VersionDoc], newest: Mapping[str, str]
) -> dict[str, Any]:
    version = str(cluster.get("version"))
    major, own = minor(version)
    found = dict(cluster)
    # A cluster that says to which versions it can go says all that it is offered.
    if out and "available_upgrades" not in cluster:
        channel = str(cluster.get("channel") or f"stable-{major}.{own}")
        found["available_upgrades"] = upgrades_from(version, channel, out)
        found.setdefault("available_channels", channels_for(version, out))
    if newest and isinstance(addons := cluster.get("addons"), list):
        found["addons"] = [
            {"latest": newest.get(str(each.get("id"))), **each} if isinstance(each, dict) else each
            for each in addons
        ]
    return found


def _out_at(version: VersionDoc) -> int:
    return parse_instant(version.released_at) if version.released_at else 0
