"""What the journal knows of an organisation's soak, for commands and for whoever asks over HTTP."""

from typing import Any

from tidegate.engine.partition import PartitionState
from tidegate.kinds.upgrades.api.soak import Published
from tidegate.kinds.upgrades.core.journal.state import ledgers_of
from tidegate.kinds.upgrades.core.rules.soak import Ledger
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.kinds.upgrades.wire.state import write_ledger
from tidegate.machine.clock import Clock
from tidegate.store.port import Store


def kept_of(store: Store, key: str) -> dict[str, Ledger]:
    """What has soaked in one `env/org`, and by add-on in `env/org/addon`."""
    part = PartitionState(store, f"{PARTITION}/{key}", UpgradeRules())
    return ledgers_of(key, part.state)


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
