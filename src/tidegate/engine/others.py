"""The states of other partitions, as their journals have them, whichever worker leads them."""

from collections.abc import Callable
from threading import Lock
from typing import Any

from tidegate.engine.kind import Rules
from tidegate.engine.partition import PartitionState
from tidegate.store.port import Store


class OtherStates:
    """Reads journals of other partitions, and again only what was added."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._parts: dict[str, PartitionState[Any]] = {}

    def of(self, rules: Rules[Any, Any, Any]) -> Callable[[str], Any]:
        """The state of a partition of a kind, by its name."""

        def state(partition: str) -> Any:
            with self._lock:
                part = self._parts.get(partition)
                if part is None:
                    part = PartitionState(self._store, partition, rules)
                    self._parts[partition] = part
                part.catch_up()
                return part.state

        return state
