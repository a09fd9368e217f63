"""What the journal knows of an organisation's soak, for commands and for whoever asks over HTTP."""

from typing import Any

from tidegate.core.journal.upgrade_state import ledgers_of
from tidegate.core.upgrades.deciding.soak import Ledger
from tidegate.core.upgrades.service import PARTITION
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.upgrades.ledgers import upgrade_desk
from tidegate.http.soak import Published
from tidegate.ports.clock import Clock
from tidegate.ports.store import Store
from tidegate.wire.upgrade_state import write_ledger


def kept_of(store: Store, key: str) -> dict[str, Ledger]:
    """What has soaked in one `env/org`, and by add-on in `env/org/addon`."""
    desk = upgrade_desk(store, f"{PARTITION}/{key}", BrakeBook(store))
    return ledgers_of(key, desk.state)


def published(store: Store, clock: Clock) -> Published:
    """The documents of an organisation, or of all there are."""

    def read(key: str) -> dict[str, Any]:
        prefix = f"{PARTITION}/"
        known = [each for each in store.partitions() if each.startswith(prefix)]
        keys = (each.removeprefix(prefix) for each in known)
        now = clock.now()
        mine = [each for each in keys if key in ("", each)]
        kept = {name: one for each in mine for name, one in kept_of(store, each).items()}
        return {name: write_ledger(one, now) for name, one in kept.items()}

    return read
