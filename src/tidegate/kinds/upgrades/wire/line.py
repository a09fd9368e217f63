"""Upgrade lines: a reading of OCM in, what is written to it and kept of it out."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.documents.line import fields_of
from tidegate.documents.reader import INSTANT_REMEDY, Reader
from tidegate.kinds.upgrades.core import compat
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.world import ManagedCluster, MinorGate, Organisation, UpgradeWorld
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems, shown
from tidegate.model.time import Instant, parse_instant


def answer_compat(raw: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """AUS's run."""
    reader = Reader(fields_of(raw), "", problems := Problems())
    world = decode(reader)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    record = compat.run(world)
    ident = reader.raw("id")
    # What was not looked at is given back as it stood, readable or not.
    state = dict(mapping(reader, "state"))
    state |= {key: msgspec.to_builtins(record.kept[key]) for key in record.saved}
    return {
        **({} if ident is None else {"id": ident}),
        "writes": record.writes,
        "state": state,
        "metrics": record.metrics,
        "log": record.log,
    }


def refusal(ident: object, error: UserError, where: str = "") -> dict[str, Any]:
    """The answer to a line that cannot be used: nothing is written, and all that is wrong."""
    return {
        **({} if ident is None else {"id": ident}),
        "error": where + error.text(),
        "problems": error.problems,
        "writes": [],
    }


def decode(reader: Reader) -> UpgradeWorld:
    """Read a whole line."""
    if not reader.has("now"):
        reader.problems.add("now", "missing", INSTANT_REMEDY)
    for name, noun in (("orgs", "organisations"), ("clusters", "clusters")):
        if not reader.has(name):
            reader.problems.add(name, "missing", f"write a list of {noun}")
    return UpgradeWorld(
        now=reader.instant("now") or Instant(0),
        orgs=tuple(reader.typed_list("orgs", Organisation)),
        clusters=tuple(reader.typed_list("clusters", ManagedCluster)),
        gates=tuple(reader.typed_list("gates", MinorGate)),
        kept=_kept(reader),
        dry_run=reader.flag("dry_run"),
        ignore_sts=reader.flag("ignore_sts"),
        approver=reader.flag("approver"),
        fail=_fail(reader),
        health_fails=reader.flag("telemeter_fail"),
        unread={key: str(value) for key, value in mapping(reader, "unread").items()},
        ends=_ends(reader),
    )


class _Release(msgspec.Struct, frozen=True):
    """Of a version as a simulated manager reads it, what can be used here."""

    version: str
    end_of_life: str | None = None


def _ends(reader: Reader) -> dict[str, Instant]:
    """When versions are no longer supported."""
    found: dict[str, Instant] = {}
    for at, each in reader.typed_items("versions", _Release):
        if each.end_of_life is None:
            continue
        try:
            found[each.version] = parse_instant(each.end_of_life)
        except ValueError as error:
            path = f"{reader.at('versions')}[{at}].end_of_life"
            reader.problems.add(path, f"{shown(each.end_of_life)}: {error}", INSTANT_REMEDY)
    return found


def _kept(reader: Reader) -> dict[str, SoakHistory]:
    """Histories by `env/org`; what cannot be read is as if nothing had been kept."""
    found: dict[str, SoakHistory] = {}
    for key, value in mapping(reader, "state").items():
        try:
            found[key] = msgspec.convert(value, SoakHistory)
        except msgspec.ValidationError:
            found[key] = SoakHistory()
    return found


def _fail(reader: Reader) -> dict[str, int]:
    found: dict[str, int] = {}
    for call, status in mapping(reader, "fail").items():
        if isinstance(status, int) and not isinstance(status, bool):
            found[call] = status
        else:
            path = f"{reader.at('fail')}.{call}"
            reader.problems.add(path, f"{shown(status)} is no status", "write one like 500")
    return found


def mapping(reader: Reader, name: str) -> Mapping[str, Any]:
    """The fields of an object, whatever they are; none if it is not there."""
    value = reader.raw(name)
    if value is None or isinstance(value, dict):
        return value or {}
    reader.problems.add(reader.at(name), f"{shown(value)} is not an object", "write its fields")
    return {}
