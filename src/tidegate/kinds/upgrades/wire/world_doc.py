"""A world of upgrades written down, so that it can be looked at again: `--world FILE` reads it."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld
from tidegate.kinds.upgrades.wire.state import write_ledger
from tidegate.model.time import format_instant


def write_world(worlds: Iterable[UpgradeWorld], brakes: Mapping[str, Any]) -> dict[str, Any]:
    """Worlds of one moment as one document; brakes are as they were written."""
    every = tuple(worlds)
    now = every[0].now
    orgs = {each.id: each for world in every for each in world.orgs}
    # An organisation that is inherited from may be served itself.
    orgs |= {each.id: each for world in every for each in world.orgs if each.registered}
    gates = {each.id: each for world in every for each in world.gates}
    ledgers = {key: each for world in every for key, each in world.ledgers.items()}
    refused = {key: each for world in every for key, each in world.refused.items() if each}
    document = {
        "now": format_instant(now),
        "orgs": [_said(each) for each in orgs.values()],
        "clusters": [_cluster(each) for world in every for each in world.clusters],
        "gates": [_said(each) for each in gates.values()],
        "state": {key: write_ledger(each, now) for key, each in ledgers.items()},
        "brakes": dict(brakes),
        "refused": {
            uuid: {
                what: _said(each) | {"at": format_instant(each.at)} for what, each in one.items()
            }
            for uuid, one in refused.items()
        },
        "unread": {key: why for world in every for key, why in world.unread.items()},
        "telemeter_fail": any(world.health_fails for world in every),
    }
    return {name: value for name, value in document.items() if value or name == "clusters"}


def _cluster(cluster: ManagedCluster) -> dict[str, Any]:
    """A cluster; where it is offered nothing, that is said: a simulation would offer something."""
    offered = {
        "available_upgrades": list(cluster.available_upgrades),
        "available_channels": list(cluster.available_channels),
    }
    return _said(cluster) | offered


def _said(one: msgspec.Struct) -> dict[str, Any]:
    """The fields of something, but for those that say nothing."""
    found = {}
    for field in msgspec.structs.fields(one):
        value = getattr(one, field.name)
        if field.required or value != _default(field):
            found[field.name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _said(value)
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return msgspec.to_builtins(value)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()
