"""Soak that was published: histories by `env/org`, as AUS keeps them, or one.

It is an export, so what cannot be read is reported, and not taken for a
history in which nothing soaked.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger
from tidegate.kinds.upgrades.wire.state import KeptHistory, read_ledger
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

_OF_ONE = ("check_in", "versions")
_REMEDY = "write histories by env/org, as `tidegate decide upgrades` has them under `state`"


class PublishedSoak(msgspec.Struct, frozen=True):
    """Histories, by `env/org`; the empty key is one that does not say whose it is."""

    documents: Mapping[str, Mapping[str, Any]] = {}

    def of(self, environment: str, org: str) -> Mapping[str, Any] | None:
        """What is known of one organisation; None: nothing."""
        found = self.documents.get(f"{environment}/{org}")
        return found if found is not None else self.documents.get("")

    def environments(self, org: str) -> tuple[str, ...]:
        """The environments under which an organisation stands here."""
        return tuple(key.removesuffix(f"/{org}") for key in self.documents if _is_of(key, org))


def read_soak(data: object) -> PublishedSoak:
    """Histories from a document; UserError lists all that cannot be read."""
    if not isinstance(data, dict):
        raise UserError((Problem("", f"{shown(data)} is no history", _REMEDY),))
    several = {"": data} if any(name in data for name in _OF_ONE) else data
    problems = [
        Problem(key, what, _REMEDY)
        for key, value in several.items()
        if (what := _wrong(key, value))
    ]
    if problems:
        raise UserError(tuple(problems))
    return PublishedSoak(several)


def ledger_of(document: Mapping[str, Any]) -> SoakLedger:
    """A history as our rules use it."""
    return read_ledger(document)


def history_of(document: Mapping[str, Any]) -> SoakHistory:
    """The same as AUS's rules use it."""
    return msgspec.convert(document, SoakHistory)


def _is_of(key: str, org: str) -> bool:
    return key.endswith(f"/{org}")


def _wrong(key: str, value: object) -> str:
    if key and "/" not in key:
        return f'"{key}" names no organisation'
    try:
        msgspec.convert(value, KeptHistory)
    except msgspec.ValidationError as error:
        return f"no history: {error}"
    return ""
