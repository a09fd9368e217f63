"""What other organisations have soaked, as their journals have it, whoever leads them."""

from collections.abc import Collection
from threading import Lock

from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.desk import AnyDesk, Form
from tidegate.kinds.upgrades.core.history import History
from tidegate.kinds.upgrades.core.journal import state as upgrade_state
from tidegate.kinds.upgrades.core.journal.state import UpgradeState, ledgers_of, past_of
from tidegate.kinds.upgrades.core.rules.soak import Ledger
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.store.port import Store

UPGRADE = Form[UpgradeState](
    UpgradeState, upgrade_state.fold, upgrade_state.encode, upgrade_state.decode
)


def upgrade_desk(store: Store, partition: str, book: BrakeBook) -> AnyDesk[UpgradeState]:
    """The desk of one organisation."""
    return AnyDesk(store, partition, UPGRADE, book)


class Ledgers:
    """Reads journals of others, and again only what was added."""

    def __init__(self, store: Store, book: BrakeBook, served: Collection[str] = ()) -> None:
        self._store = store
        self._book = book
        # Partitions of whoever is served: sooner or later they are looked at.
        self._served = served
        self._lock = Lock()
        self._desks: dict[str, AnyDesk[UpgradeState]] = {}

    def of(self, state: UpgradeState) -> dict[str, Ledger]:
        """The ledgers of all organisations one may inherit from, by `env/org`, and `/addon`."""
        keys = [f"{each.env}/{each.id}" for each in state.others]
        with self._lock:
            several = [ledgers_of(key, self._state(key)) for key in keys]
        return {name: ledger for some in several for name, ledger in some.items()}

    def unseen(self, state: UpgradeState) -> list[str]:
        """Organisations one inherits from that are served, and that nobody has looked at yet."""
        keys = {each.id: f"{each.env}/{each.id}" for each in state.others}
        served = {id_: key for id_, key in keys.items() if f"{PARTITION}/{key}" in self._served}
        with self._lock:
            return [id_ for id_, key in served.items() if self._state(key).surveyed_at is None]

    def kept(self, state: UpgradeState) -> dict[str, History]:
        """The same as the existing service would have kept it."""
        keys = [f"{each.env}/{each.id}" for each in state.others]
        with self._lock:
            return {key: past_of(self._state(key)) for key in keys}

    def _state(self, key: str) -> UpgradeState:
        desk = self._desks.get(key)
        if desk is None:
            desk = upgrade_desk(self._store, f"{PARTITION}/{key}", self._book)
            self._desks[key] = desk
        desk.catch_up()
        return desk.state
