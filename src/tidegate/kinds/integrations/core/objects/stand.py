"""Where each object of a namespace stands: what would become of it, why, and by which rules.

A stand is what is recorded of an object: everything that a decision about it rests on, and nothing
of the document itself. So a decision is made again from the journal alone.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import blake2b

import msgspec

from tidegate.kinds.integrations.core.reasons import ObjectReason
from tidegate.kinds.integrations.core.waves.declaration import group_of
from tidegate.kinds.integrations.core.waves.rules import ChangePace, ChangeRules
from tidegate.kinds.integrations.core.workloads.change import (
    ACTING,
    FoundObject,
    Key,
    ObjectAction,
    PlannedChange,
)
from tidegate.kinds.integrations.core.workloads.difference import difference_text, made_from
from tidegate.kinds.integrations.core.workloads.estate import (
    Estate,
    ManagedPlace,
    Unit,
    label_text,
)
from tidegate.kinds.integrations.core.workloads.live import workload_of
from tidegate.model.limit import Limit
from tidegate.model.time import Duration
from tidegate.model.verdict import FactValue, Verdict, verdict
from tidegate.registry.image import revision_of

# What a task does.
APPLY, REMOVE = "apply", "remove"
_ADOPTED = verdict(ObjectReason.ObjectAdopted).reason.value
_FIELDS_DIFFER = verdict(ObjectReason.FieldsDiffer, "").reason.value
# So many fields that differ are kept of an object, each cut to so many characters.
FIELDS_MAX, FIELD_MAX = 6, 160


class ChangeClass(StrEnum):
    """What a change is, by which its rule is found."""

    NEW = "new"
    OVERRIDE = "override"
    FIELDS = "fields"
    DRIFT = "drift"
    REMOVAL = "removal"


class SaidVerdict(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """A verdict as it is recorded: its reason, and the facts that fill the sentence."""

    reason: str
    facts: tuple[FactValue, ...] = ()


class ObjectStand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One object, what would become of it, and why."""

    object: str  # deployment/name
    # What brakes and questions call it: its shard, or the object itself.
    target: str
    verb: ObjectAction
    said: tuple[SaidVerdict, ...] = ()
    integration: str = ""
    # What it is to be made from; empty: nothing, or it is not known.
    wanted: str = ""
    # The image it has, and the one it has once this is done; empty: none.
    runs: str = ""
    image: str = ""
    # What differs, a line each.
    fields: tuple[str, ...] = ()
    restarts: bool = False
    # None: nothing is done.
    change: ChangeClass | None = None
    pace: ChangePace = ChangePace.AT_ONCE
    # Which group it goes with, where it goes with one, and whether its pods are what is declared.
    wave: int = 0
    group: str = ""
    settled: bool = True
    # Whether images move by rules where it is declared, or was.
    staged: bool = False
    # Of its shard, by which brakes choose it; None: they are not known.
    labels: dict[str, str] | None = None

    @property
    def acts(self) -> bool:
        """Whether something would be done about it; what is not ours needs consent."""
        refused = self.verb is ObjectAction.ADOPT and self.said[-1].reason != _ADOPTED
        return self.verb in ACTING and not refused

    @property
    def removes(self) -> bool:
        """Whether it is to be no more."""
        return self.verb is ObjectAction.REMOVE

    def verdicts(self) -> tuple[Verdict, ...]:
        """What was said of it."""
        return tuple(verdict(ObjectReason[each.reason], *each.facts) for each in self.said)

    @property
    def words(self) -> str:
        """What would be done, on one line."""
        return f"{self.verb.value} {self.object}"


class WaveLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """How changes of an integration move through its groups."""

    soak: Duration = Duration(0)
    # None: as many at once as a group has.
    concurrency: Limit | None = None


def stands_of(
    changes: Iterable[PlannedChange], estate: Estate, found: Mapping[Key, FoundObject]
) -> tuple[ObjectStand, ...]:
    """The stands of all changes in one namespace, in their order."""
    places = {
        (place.managed.namespace.cluster, place.managed.namespace.name, name): place
        for place in estate.every_place
        for name in (place.integration.name, label_text(place.integration.name))
    }
    return tuple(
        _stand(each, places.get((each.cluster, each.namespace, each.integration)), found)
        for each in changes
    )


def _stand(
    change: PlannedChange, place: ManagedPlace | None, found: Mapping[Key, FoundObject]
) -> ObjectStand:
    unit = place.unit(change.shard) if place is not None and change.shard else None
    rules = place.managed.rollout if place is not None else None
    kind = _class_of(change, unit)
    paces = rules.changes if rules is not None else ChangeRules()
    there = found.get(change.key)
    wave, group = group_of(unit, rules) if unit is not None and rules is not None else (0, "")
    waves = _in_waves(paces)
    return ObjectStand(
        object=change.where,
        target=change.target,
        verb=change.verb,
        said=_said(change),
        integration=place.integration.name if place is not None else change.integration,
        wanted=made_from(change.manifest) if change.manifest is not None else "",
        runs=_runs(place, there),
        image=change.image,
        fields=_fields(change),
        restarts=change.restarts,
        change=kind,
        pace=_PACES[kind](paces) if kind is not None else ChangePace.AT_ONCE,
        wave=wave if waves else 0,
        group=group if waves else "",
        settled=not waves or there is None or workload_of(there.document).rolled_out,
        staged=place is not None and place.managed.staged,
        labels=_labels(change, unit),
    )


def _said(change: PlannedChange) -> tuple[SaidVerdict, ...]:
    """What is said of an object; what is declared otherwise is named."""
    fields = "; ".join(_fields(change))
    return tuple(
        SaidVerdict(_FIELDS_DIFFER, (fields,))
        if each.reason is ObjectReason.ObjectDiffers and fields
        else SaidVerdict(each.reason.value, each.facts)
        for each in change.verdicts
    )


def _runs(place: ManagedPlace | None, there: FoundObject | None) -> str:
    image = workload_of(there.document).image if there is not None else ""
    return revision_of(image, place.repository) if place is not None and image else image


def _labels(change: PlannedChange, unit: Unit | None) -> dict[str, str] | None:
    """Of what no shard has, there are none; those of a shard that is gone are not known."""
    if unit is not None:
        return dict(unit.labels)
    return None if change.shard or change.verb is ObjectAction.REMOVE else {}


_PACES = {
    ChangeClass.NEW: lambda rules: rules.new,
    ChangeClass.OVERRIDE: lambda rules: rules.overrides,
    ChangeClass.FIELDS: lambda rules: rules.fields,
    ChangeClass.DRIFT: lambda rules: rules.drift,
    ChangeClass.REMOVAL: lambda rules: rules.removals,
}


def _class_of(change: PlannedChange, unit: Unit | None) -> ChangeClass | None:
    if change.verb not in ACTING:
        return None
    if change.verb is ObjectAction.REMOVE:
        return ChangeClass.REMOVAL
    if change.verb is ObjectAction.CREATE:
        return ChangeClass.NEW
    if change.drifted:
        return ChangeClass.DRIFT
    overridden = unit is not None and unit.shards[0].override is not None
    return ChangeClass.OVERRIDE if overridden else ChangeClass.FIELDS


def _fields(change: PlannedChange) -> tuple[str, ...]:
    """What differs, bounded: a journal is no place for whole documents."""
    lines = [
        difference_text(each, cut=True)[:FIELD_MAX]
        for each in change.differences
        # Whose an object is says nothing about what it is.
        if change.verb is not ObjectAction.ADOPT or each.field.startswith("spec")
    ]
    more = len(lines) - FIELDS_MAX
    return (*lines[:FIELDS_MAX], *((f"and {more} more",) if more > 0 else ()))


def waves_of(estate: Estate) -> dict[str, WaveLimits]:
    """How changes move, by integration, where a rule says that they do."""
    found: dict[str, WaveLimits] = {}
    for place in estate.places:
        rules = place.managed.rollout
        if rules is not None and ChangePace.WAVES in (
            rules.changes.fields,
            rules.changes.overrides,
        ):
            strategy = rules.strategy
            found[place.integration.name] = WaveLimits(strategy.soak, strategy.max_concurrency)
    return found


def _in_waves(rules: ChangeRules) -> bool:
    return ChangePace.WAVES in (rules.fields, rules.overrides)


def digest_of(stands: Iterable[ObjectStand]) -> str:
    """What is done to a target, in short: another declaration has another one."""
    mine = list(stands)
    said = sorted(f"{each.words} {each.wanted}" for each in mine)
    number = blake2b("\n".join(said).encode(), digest_size=6).hexdigest()
    return f"{REMOVE if all(each.removes for each in mine) else APPLY} {number}"
