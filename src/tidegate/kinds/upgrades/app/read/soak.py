"""Published soak, used in place of what a reader's own journal knows."""

import msgspec

from tidegate.app.workers import look_words
from tidegate.kinds.upgrades.app.read.organisations import OrganisationsRead
from tidegate.kinds.upgrades.core.service import Registration
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.kinds.upgrades.wire.published_soak import PublishedSoak, history_of, ledger_of
from tidegate.model.time import Instant


class ReadMoment(msgspec.Struct, frozen=True):
    """When something was read, and the moment in question; nothing is read after it."""

    read_at: Instant
    now: Instant


def with_published_soak(
    world: UpgradeWorld, of: Registration, soak: PublishedSoak, now: Instant
) -> tuple[UpgradeWorld, tuple[str, ...]]:
    """The world with published soak, and a note on its age if any was published."""
    found = soak.of(of.environment, of.id)
    documents = {key: each for key, each in soak.documents.items() if key}
    if found is not None:
        documents[f"{of.environment}/{of.id}"] = found
    ledgers = {key: ledger_of(each) for key, each in documents.items()}
    kept = {key: history_of(each) for key, each in documents.items()}
    world = msgspec.structs.replace(world, ledgers=ledgers, kept=kept)
    if found is None:
        return world, ()
    at = ledger_of(found).checked_at
    age = "as of a time that is not known" if at is None else look_words(at, now)
    return world, (f"soak of {of.id} {age}",)


def unusable(read: OrganisationsRead) -> tuple[str, ...]:
    """Documents that were excluded because they cannot be read."""
    return tuple(f"{one.kind} {one.id}: excluded, {one.why}" for one in read.unreadable)
