"""Recorded decisions of a partition of any kind, decided again by today's rules."""

from collections.abc import Iterable, Iterator
from typing import Any

from tidegate.engine.kind import Rules
from tidegate.journal.chain import Entry
from tidegate.journal.replay import Replayed
from tidegate.store.port import Store


def replay_partition(
    store: Store, partition: str, rules: Rules[Any, Any, Any]
) -> Iterable[Replayed]:
    """Every recorded decision, decided again."""
    return rules.replay(store.read(partition), StatesThen(store, rules))


class StatesThen:
    """Other partitions of a kind as they were, at moments that only go forward."""

    def __init__(self, store: Store, rules: Rules[Any, Any, Any]) -> None:
        self._store = store
        self._rules = rules
        self._read: dict[str, tuple[Iterator[Entry], list[Entry], Any]] = {}

    def __call__(self, keys: tuple[str, ...], now: Any) -> dict[str, Any]:
        """Each by its name without the kind."""
        return {key: self._at(key, now) for key in keys}

    def _at(self, key: str, now: Any) -> Any:
        known = self._read.get(key)
        if known is None:
            entries = iter(self._store.read(f"{self._rules.word}/{key}"))
            known = (entries, [], self._rules.empty())
        entries, ahead, state = known
        while entry := ahead.pop() if ahead else next(entries, None):
            if entry.at > now:
                ahead.append(entry)
                break
            state = self._rules.fold(state, entry.at, entry.fact(), entry.actor)
        self._read[key] = (entries, ahead, state)
        return state
