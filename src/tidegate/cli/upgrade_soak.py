"""What the journal knows of an organisation's soak, for commands and for whoever asks over HTTP."""

from typing import Any

from tidegate.core.upgrades.deciding.soak import Ledger
from tidegate.core.upgrades.service import PARTITION
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.upgrades.ledgers import upgrade_desk
from tidegate.http.soak import Published
from tidegate.ports.clock import Clock
from tidegate.ports.store import Store
from tidegate.wire.upgrade_state import write_ledger


def kept_of(store: Store, key: str) -> Ledger:
    """What has soaked in one `env/org`; nothing, if nobody looked yet."""
    return upgrade_desk(store, f"{PARTITION}/{key}", BrakeBook(store)).state.ledger


def published(store: Store, clock: Clock) -> Published:
    """The documents of an organisation, or of all there are."""

    def read(key: str) -> dict[str, Any]:
        prefix = f"{PARTITION}/"
        known = [each for each in store.partitions() if each.startswith(prefix)]
        keys = (each.removeprefix(prefix) for each in known)
        now = clock.now()
        return {each: write_ledger(kept_of(store, each), now) for each in keys if key in ("", each)}

    return read
