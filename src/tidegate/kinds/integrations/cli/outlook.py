"""What would be done on the clusters: read, planned, and asked of the servers themselves."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.cli.progress import Progress
from tidegate.kinds.integrations.app.applying import Hands, preview, to_ask
from tidegate.kinds.integrations.app.reading import read_clusters
from tidegate.kinds.integrations.cli.by_hand import braked
from tidegate.kinds.integrations.cli.estate import Asked
from tidegate.kinds.integrations.core.workloads.change import Change, Key, Seen, Verb
from tidegate.kinds.integrations.core.workloads.changes import Wishes, changes_of
from tidegate.kubernetes.port import Cluster, Object


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done, and what nobody could tell."""

    changes: tuple[Change, ...]
    # What could not be read or asked, a line each; all else stands.
    failures: tuple[str, ...]
    notes: tuple[str, ...]
    hands: Hands
    objects: Mapping[Key, Object]

    @property
    def restarts(self) -> int:
        """How many workloads would get new pods."""
        return sum(change.restarts for change in self.changes if change.verb in CHANGING)


CHANGING = frozenset((Verb.CREATE, Verb.CONFIGURE, Verb.ADOPT, Verb.REMOVE))


async def look(
    asked: Asked,
    clusters: Mapping[str, Cluster],
    shut: Mapping[str, str],
    *,
    adopt: bool = False,
    allow_mass_delete: bool = False,
    ask_servers: bool = True,
    heeds_brakes: bool = True,
) -> Outlook:
    """Read all clusters, plan, and have the servers say what each change comes to."""
    spaces = asked.namespaces()
    with Progress("reading clusters", len(clusters)) as progress:
        pods = bool(asked.settings.registry)
        sights = await read_clusters(clusters, spaces, pods=pods, tell=progress.tell)
    seen = {name: sight.seen for name, sight in sights.items()}
    seen |= {name: Seen(error=why) for name, why in shut.items()}
    wishes = Wishes(
        selection=asked.selection,
        adopt=adopt,
        allow_mass_delete=allow_mass_delete,
        sound=asked.sound,
    )
    changes = changes_of(asked.estate, seen, wishes)
    if heeds_brakes:
        changes = braked(asked.settings, asked.estate, changes)
    objects = {key: each for sight in sights.values() for key, each in sight.objects.items()}
    concurrency = asked.settings.limits_concurrency
    hands = Hands(clusters=clusters, objects=objects, concurrency_max=concurrency, consent=adopt)
    told: tuple[str, ...] = ()
    if ask_servers:
        with Progress("asking servers", to_ask(changes)) as progress:
            changes, told = await preview(changes, hands, progress.tell)
    return Outlook(
        changes=changes,
        failures=(*_failures(seen), *told),
        notes=tuple(note for one in seen.values() for note in one.notes),
        hands=hands,
        objects=objects,
    )


def _failures(seen: Mapping[str, Seen]) -> list[str]:
    """What could not be read, once each."""
    told: dict[str, Any] = {}
    for one in seen.values():
        told |= dict.fromkeys([one.error] if one.error else one.gaps.values())
    return list(told)
