"""The brakes that are on, as the journal has them."""

import msgspec
from msgspec import UNSET, UnsetType, field

from tidegate.app.brakes.request import FreezeException
from tidegate.app.brakes.scope import BrakeScope
from tidegate.app.partitions.journals import Journals
from tidegate.gates.scope import Brake, in_force
from tidegate.journal.brake_state import FIELDS, BrakeState
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant, format_second


class BrakeItem(Part, frozen=True, kw_only=True):
    """One brake: what it covers, its owner, and why."""

    name: str
    owner: str
    reason: str
    # Unset: it cannot be read, and covers everything.
    scope: BrakeScope | UnsetType = UNSET
    expires: str | None
    in_force: bool
    since: str | None
    by: str | None
    # Of a freeze: when it is on, or on next.
    next: str | None
    # Of a block, of an expedite: what it is about.
    revision: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    # Of a freeze: as it was set.
    begin: str | UnsetType = field(name="from", default=UNSET)
    end: str | UnsetType = field(name="to", default=UNSET)
    rrule: str | UnsetType = UNSET
    time_zone: str | UnsetType = UNSET
    ics: str | UnsetType = UNSET
    finish_before: bool | UnsetType = UNSET
    exceptions: tuple[FreezeException, ...] | UnsetType = UNSET


class BrakeList(Document, frozen=True, kw_only=True):
    """Brakes of one kind, by name."""

    items: tuple[BrakeItem, ...]


class HoldList(BrakeList, frozen=True, kw_only=True):
    """Holds, until they are lifted."""


class FreezeList(BrakeList, frozen=True, kw_only=True):
    """Times at which nothing starts."""


class BlockList(BrakeList, frozen=True, kw_only=True):
    """Revisions that do not start."""


class ExpediteList(BrakeList, frozen=True, kw_only=True):
    """Versions that skip soak and windows."""


LISTS: dict[str, type[BrakeList]] = {
    "hold": HoldList,
    "freeze": FreezeList,
    "block": BlockList,
    "expedite": ExpediteList,
}


def brake_list(journals: Journals, brake: str, name: str | None = None) -> BrakeList:
    """The brakes of one kind, or the one of a name; NotFoundError names the nearest."""
    items = brake_items(journals, brake)
    if name is not None:
        known = [each.name for each in items]
        items = tuple(each for each in items if each.name == name)
        if not items:
            raise NotFoundError(brake, name, nearest_or_all(name, known))
    return LISTS[brake](items=items)


def brake_items(journals: Journals, brake: str) -> tuple[BrakeItem, ...]:
    """Every brake of one kind, by name."""
    brakes, state = journals.book.read(journals.now), journals.book.state()
    found = {
        each.name: _item(each, state, brake, journals.now)
        for each in getattr(brakes, FIELDS[brake])
    }
    every = tuple(found[name] for name in sorted(found))
    if journals.is_unlimited:
        return every
    seen = {each.name for one in journals.all() for each in one.view.targets}
    return tuple(part for each in every if (part := _seen_part(each, seen)) is not None)


def _seen_part(item: BrakeItem, seen: set[str]) -> BrakeItem | None:
    """A brake as far as a caller sees its targets; None: it is on none of them."""
    scope = item.scope
    if not isinstance(scope, BrakeScope) or not scope.targets:
        return item
    mine = tuple(each for each in scope.targets if each in seen)
    if not mine:
        return None
    return msgspec.structs.replace(item, scope=msgspec.structs.replace(scope, targets=mine))


def _item(brake: Brake, state: BrakeState, kind: str, now: Instant) -> BrakeItem:
    known = state.on.get((kind, brake.name))
    seen = {
        "name": brake.name,
        "owner": brake.owner,
        "reason": brake.why,
        "expires": format_second(brake.expires_at) if brake.expires_at is not None else None,
        "inForce": in_force(brake, now),
        "since": format_second(known.at) if known is not None else None,
        "by": known.by if known is not None else None,
        "next": _next(brake, now),
    }
    written = known.document if known is not None else {}
    return msgspec.convert(written | seen, BrakeItem)


def _next(brake: Brake, now: Instant) -> str | None:
    """When a freeze is on, or on next."""
    for span in getattr(brake, "spans", ()):
        if span.end > now:
            return f"{format_second(span.start)} – {format_second(span.end)}"
    return None
