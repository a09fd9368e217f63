"""What every page has: the caller, the brakes in force, and the moment it shows."""

import msgspec

from tidegate.access.roles import Caller, Right, Role, refusal
from tidegate.app.access.callers import permission
from tidegate.app.brakes.brake_list import BrakeItem, brake_items
from tidegate.app.brakes.scope import covers
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.model.time import Instant, format_second, parse_instant
from tidegate.page.travel.bar import PastBar

# What stops targets of others, and so is shown on every page.
_SHOWN = ("hold", "freeze")


class BrakeLine(msgspec.Struct, frozen=True):
    """A brake, for a banner or a table."""

    brake: str
    name: str
    owner: str
    reason: str
    covers: str
    expires: str
    # When it ends by itself, of a freeze this time; empty: when it is lifted.
    until: str
    since: str
    by: str
    # Of a freeze: when it is on, or on next.
    next: str
    in_force: bool
    # What a block is about.
    about: str


class ActButton(msgspec.Struct, frozen=True):
    """A button of an act: why the caller may not, if so, and the role it needs."""

    verb: str
    name: str
    label: str
    # What follows the address: group=prod.
    query: str = ""
    refusal: str = ""
    role: str = ""


class Frame(msgspec.Struct, frozen=True):
    """The header of a page."""

    actor: str
    roles: tuple[str, ...]
    at: str
    clock: str
    banner: tuple[BrakeLine, ...]
    lift: dict[str, ActButton]
    # Which entry of the navigation this is.
    here: str
    # The moment of the past that is shown; None: it is now.
    then: PastBar | None = None
    # What links add to stay at that moment: behind a path, and behind a query.
    kept: str = ""
    also: str = ""
    # What is said of the time that is shown; empty: it is the time of the machine.
    note: str = ""


def frame(
    journals: Journals, caller: Caller, here: str, then: PastBar | None = None, note: str = ""
) -> Frame:
    """The header, at the moment of the journals; `then`: that of the past."""
    banner = tuple(each for each in brake_lines(journals, *_SHOWN) if each.in_force)
    shown = format_second(journals.now)
    return Frame(
        actor=caller.actor,
        roles=tuple(dict.fromkeys(each.role.value for each in caller.grants)),
        at=shown,
        clock=shown[11:16],
        banner=banner,
        lift={f"{each.brake} {each.name}": lift_offer(caller, each) for each in banner},
        here=here,
        then=then,
        kept="" if then is None else f"?{then.query}",
        also="" if then is None else f"&{then.query}",
        note=note,
    )


def brake_lines(journals: Journals, *brakes: str) -> list[BrakeLine]:
    """Brakes of these kinds, by name."""
    now = journals.now
    return [_line(brake, each, now) for brake in brakes for each in brake_items(journals, brake)]


def _line(brake: str, item: BrakeItem, now: Instant) -> BrakeLine:
    return BrakeLine(
        brake=brake,
        name=item.name,
        owner=item.owner,
        reason=item.reason,
        covers=covers(item.scope),
        expires=item.expires or "",
        until=_until(brake, item),
        since=item.since or "",
        by=item.by or "",
        next=item.next or "",
        in_force=item.in_force and (brake != "freeze" or _is_on(item, now)),
        about=str(item.revision or item.version or ""),
    )


def _until(brake: str, item: BrakeItem) -> str:
    ends = (item.next or "").partition(" – ")[2] if brake == "freeze" else ""
    return min(filter(None, (ends, item.expires or "")), key=parse_instant, default="")


def _is_on(freeze: BrakeItem, now: Instant) -> bool:
    """Whether a freeze has begun; one that is set may come much later."""
    return freeze.next is not None and parse_instant(freeze.next.partition(" ")[0]) <= now


def lift_offer(caller: Caller, line: BrakeLine) -> ActButton:
    """The button that lifts a brake; one that a file sets has none."""
    made = offer(caller, f"lift-{line.brake}", line.name, "Lift…", Right.OPERATE, None)
    if not line.since:
        return msgspec.structs.replace(made, refusal="it is set by a file: change the file")
    return made


def offer(
    caller: Caller,
    verb: str,
    name: str,
    label: str,
    right: Right,
    one: Decision | None,
    groups: tuple[str, ...] = (),
    query: str = "",
) -> ActButton:
    """A button, and whether the caller may press it; the service checks again when it is pressed.

    `one`: what it is about; None: it is enough to have the right anywhere.
    """
    if one is None:
        why = refusal(caller, right, (), verb)
    else:
        why = permission(caller, verb, right, one, groups).why
    role = next(each.value for each in Role if right in each.rights)
    return ActButton(verb, name, label, query, why, role if why else "")
