"""Shards that Git holds back until it is their turn: an override with the image they had before.

Where images move through Git, a new default is written together with such an override for every
shard, so that none moves at once. A rollout takes the overrides away, group after group; to return
a shard it writes one again. When the last wave is through, none is left. An override that a person
wrote has another note, or none, and is never touched.
"""

from msgspec.structs import replace

from tidegate.kinds.integrations.core.review.notes import PinNote, read_note
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit

# The name in the notes of overrides that a rollout writes and takes away.
HOLDER = "tidegate-waves"
HOLD_NOTE = PinNote(by=HOLDER, reason="waits for its wave")


def is_held(unit: Unit) -> bool:
    """Whether a shard has an image of its own only until its wave."""
    override = unit.shards[0].override
    if override is None or not override.image_ref:
        return False
    note = read_note(override.note)
    return note is not None and note.by == HOLDER


def released(place: ManagedPlace) -> ManagedPlace:
    """A place as it is once no shard is held back any more: what its rollout moves towards."""
    units = tuple(_released(unit) if is_held(unit) else unit for unit in place.units)
    return replace(place, units=units)


def _released(unit: Unit) -> Unit:
    shards = tuple(
        replace(shard, override=replace(shard.override, image_ref=None, note=""))
        if shard.override is not None
        else shard
        for shard in unit.shards
    )
    return replace(unit, shards=shards)
