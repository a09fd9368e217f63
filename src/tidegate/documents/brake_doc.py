"""The `brakes` of a document, read strictly: a brake that cannot be read lets nothing through.

brakes:
  holds: [{name: inc-42, scope: {everything: true}, owner: sre, reason: incident 42}]
  freezes:
    - name: year-end
      scope: {selector: {matchLabels: {env: prod}}}
      owner: ops
      reason: holidays
      from: 2026-12-20T18:00
      to: 2027-01-04T08:00
      timeZone: Europe/Berlin

All fields are described in docs/reference/lines.md.
"""

from collections.abc import Callable
from typing import TypedDict, TypeVar

from msgspec.structs import replace

from tidegate.documents.calendar_doc import CalendarRange, Files, read_calendar_of
from tidegate.documents.evidence_doc import Probes, read_approval, read_health
from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import read_kind, read_scope
from tidegate.documents.shared_doc import read_budget, read_claim, read_mutex
from tidegate.gates.block import Block
from tidegate.gates.brakes import Brakes
from tidegate.gates.expedite import Expedite
from tidegate.gates.freeze import Exemption, Freeze
from tidegate.gates.health import HealthGate
from tidegate.gates.hold import Hold
from tidegate.gates.pin import Pin
from tidegate.gates.scope import EVERYTHING, Brake, KindOfChange, Scope
from tidegate.model.problem import shown
from tidegate.model.time import Instant, format_instant

T = TypeVar("T")
B = TypeVar("B", bound=Brake)


# What takes away brakes that are part of the document they bind.
IN_DOCUMENT = "change `brakes` of the document"


def read_brakes(
    reader: Reader,
    stretch: CalendarRange,
    files: Files | None = None,
    probes: Probes | None = None,
    lift: str = "",
) -> Brakes:
    """All brakes; their problems are collected on the way, and the probes of health gates.

    `lift` is what takes them away; empty: commands on the journal do.
    """
    found: Probes = {} if probes is None else probes

    def freeze(each: Reader) -> Freeze:
        return _freeze(each, stretch, files)

    def health(each: Reader) -> HealthGate:
        return read_health(each, found)

    kind = reader.text("kind")
    brakes = Brakes(
        holds=read_listed(reader, "holds", _hold),
        freezes=read_listed(reader, "freezes", freeze),
        blocks=read_listed(reader, "blocks", _block, named="revision"),
        pins=read_listed(reader, "pins", _pin),
        budgets=read_listed(reader, "budgets", read_budget),
        mutexes=read_listed(reader, "mutexes", read_mutex),
        approvals=read_listed(reader, "approvals", read_approval),
        health=read_listed(reader, "health", health),
        expedites=read_listed(reader, "expedites", _expedite, named="version"),
        claims=tuple(read_claim(each) for each in reader.children("claims")),
        kind=read_kind(reader, "kind", kind) if kind is not None else None,
        partition=reader.text("partition") or "",
        author=reader.text("author") or None,
        apply_time=reader.duration("applyTime"),
    )
    reader.close()
    for each in (*brakes.holds, *brakes.blocks, *brakes.pins, *brakes.expedites):
        if each.expires_at is not None and each.expires_at <= stretch.begin:
            moment = format_instant(each.expires_at)
            reader.problems.warn(reader.path, f"{shown(each.name)} expired {moment}", "drop it")
    return _located(brakes, lift) if lift else brakes


def _located(brakes: Brakes, lift: str) -> Brakes:
    """The same brakes, each of which says what takes it away."""

    def located(some: tuple[B, ...]) -> tuple[B, ...]:
        return tuple(replace(each, lift=lift) for each in some)

    return replace(
        brakes,
        holds=located(brakes.holds),
        freezes=located(brakes.freezes),
        blocks=located(brakes.blocks),
        pins=located(brakes.pins),
        expedites=located(brakes.expedites),
    )


def read_listed(
    reader: Reader, field: str, read: Callable[[Reader], T], named: str = "name"
) -> tuple[T, ...]:
    """The brakes of one kind, each with a name of its own."""
    found: list[T] = []
    seen: set[str] = set()
    for each in reader.children(field):
        name = each.text("name") or each.text(named)
        for key in dict.fromkeys(("name", named)):
            written = each.text(key)
            if written is not None and not written.strip():
                each.problems.add(each.at(key), "is empty", "write it, or drop it")
        if not name:
            if not each.has(named):  # otherwise it is reported already
                each.problems.add(each.at(named), "missing", "give it a name")
        elif name in seen:
            each.problems.add(each.at(named), f"{shown(name)} appears twice", "keep one of them")
        seen.add(name or "")
        found.append(read(each))
        each.close()
    return tuple(found)


class Common(TypedDict):
    """What every brake has."""

    name: str
    scope: Scope
    owner: str
    why: str
    expires_at: Instant | None


def read_common(reader: Reader, scope: Scope | None = None) -> Common:
    """What every brake has; owner and reason are required."""
    return {
        "name": reader.text("name") or "",
        "scope": read_scope(reader, default=scope),
        "owner": _said(reader, "owner", "say who put it on"),
        "why": _said(reader, "reason", "say why"),
        "expires_at": reader.instant("expires"),
    }


def _said(reader: Reader, field: str, remedy: str) -> str:
    text = reader.text(field)
    if text is None and reader.has(field):
        return ""
    if not text or not text.strip():
        reader.problems.add(reader.at(field), "missing", remedy)
    return text or ""


def read_named_hold(reader: Reader) -> Hold:
    """A hold in a document of its own."""
    if not reader.has("name"):
        reader.problems.add(reader.at("name"), "missing", "give it a name")
    hold = _hold(reader)
    reader.close()
    return hold


def _hold(reader: Reader) -> Hold:
    return Hold(**read_common(reader))


def _pin(reader: Reader) -> Pin:
    return Pin(**read_common(reader))


def _block(reader: Reader) -> Block:
    """A block needs neither a name nor a scope: without them the revision is blocked everywhere."""
    common, revision = read_common(reader, EVERYTHING), reader.text("revision") or ""
    common["name"] = common["name"] or revision
    return Block(**common, revision=revision)


def _expedite(reader: Reader) -> Expedite:
    """An expedite; version, scope, owner, reason and end are all required."""
    common, version = read_common(reader), reader.text("version") or ""
    if not reader.has("expires"):
        reader.problems.add(reader.at("expires"), "missing", "say until when it is expedited")
    kinds = common["scope"].kinds
    if kinds - {KindOfChange.UPGRADES}:
        words = ", ".join(sorted(kind.value for kind in kinds))
        path = reader.at("scope.kinds")
        reader.problems.add(path, f"{words}: only upgrades are expedited", "drop it")
    common["name"] = common["name"] or version
    return Expedite(**common, version=version)


def _freeze(reader: Reader, stretch: CalendarRange, files: Files | None) -> Freeze:
    calendar = read_calendar_of(reader, stretch, files)
    return Freeze(
        **read_common(reader),
        spans=calendar.spans,
        known_until=calendar.known_until,
        finish_before=reader.flag("finishBefore"),
        exemptions=tuple(_exemption(each) for each in reader.children("exceptions")),
    )


def _exemption(reader: Reader) -> Exemption:
    expires_at = reader.instant("expires")
    if not reader.has("expires"):
        reader.problems.add(reader.at("expires"), "missing", "say until when it is excepted")
    found = Exemption(
        scope=read_scope(reader),
        owner=_said(reader, "owner", "say who allows it"),
        why=_said(reader, "reason", "say why"),
        expires_at=expires_at if expires_at is not None else Instant(0),
        revision=reader.text("revision"),
    )
    reader.close()
    return found
