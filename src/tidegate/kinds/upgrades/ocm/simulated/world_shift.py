"""A world that begins now: its dates move, its schedules stay."""

from msgspec.structs import replace

from tidegate.kinds.upgrades.ocm.simulated.world_doc import (
    OcmClusterDoc,
    OcmPolicyDoc,
    OcmWorld,
    VersionDoc,
)
from tidegate.model.time import Duration, Instant, format_instant, parse_instant


def moved(world: OcmWorld, now: Instant) -> OcmWorld:
    """The same world as if it began now: every date moves as far, and schedules stay."""
    by = Duration(now - world.now)
    return replace(
        world,
        now=now,
        clusters=tuple(_cluster(each, by) for each in world.clusters),
        versions=tuple(_version(each, by) for each in world.versions),
    )


def _cluster(cluster: OcmClusterDoc, by: Duration) -> OcmClusterDoc:
    return replace(
        cluster,
        upgrade_policies=_policies(cluster.upgrade_policies, by),
        node_pools=tuple(
            replace(each, upgrade_policies=_policies(each.upgrade_policies, by))
            for each in cluster.node_pools
        ),
    )


def _policies(policies: tuple[OcmPolicyDoc, ...], by: Duration) -> tuple[OcmPolicyDoc, ...]:
    return tuple(replace(each, next_run=_later(each.next_run, by)) for each in policies)


def _version(version: VersionDoc, by: Duration) -> VersionDoc:
    out_at, ends_at = version.released_at, version.end_of_life
    return replace(version, released_at=_later(out_at, by), end_of_life=_later(ends_at, by))


def _later(text: str | None, by: Duration) -> str | None:
    """A date moved; none stays none."""
    return None if text is None else format_instant(Instant(parse_instant(text) + by))
