"""What a person asks for when a brake is set, and whether it can be: read as files are read."""

from typing import Any, Literal

import msgspec
from msgspec import field

from tidegate.app.brakes.scope import BrakeScope
from tidegate.app.partitions.journals import Journals
from tidegate.documents.brake_doc import read_brakes
from tidegate.documents.calendar_doc import stretch_from
from tidegate.documents.reader import Reader
from tidegate.gates.brakes import Brakes
from tidegate.journal.brake_state import FIELDS, BrakeRecord
from tidegate.journal.facts import Braked
from tidegate.model.document import Part
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem, Problems, nearest_or_all, shorten
from tidegate.model.time import Instant, format_age, format_instant

# Names stand in tables, addresses and other commands.
NAME_MAX = 200

BrakeWord = Literal["hold", "freeze", "block", "pin", "expedite"]
"""The brakes that people set; budgets, mutexes and gates are declared in files."""


class FreezeTimes(Part, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When a freeze is on: from one time to another, once or again and again; or a calendar."""

    begin: str | None = field(name="from", default=None)
    end: str | None = field(name="to", default=None)
    rrule: str | None = None
    # Of times without an offset.
    time_zone: str | None = None
    # The text of a calendar file.
    ics: str | None = None
    # Nothing starts that cannot be done before it.
    finish_before: bool = False


class BrakeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A brake to be set."""

    brake: BrakeWord
    name: str
    scope: BrakeScope
    owner: str
    reason: str
    # None: until it is lifted.
    expires_at: Instant | None = None
    # Of a block: the revision it stops; * and ? match any text.
    revision: str | None = None
    # Of an expedite: the version that need not wait.
    version: str | None = None
    # Of a freeze.
    times: FreezeTimes | None = None
    # Whether one of the same name may be replaced.
    replace: bool = False

    def document(self) -> dict[str, Any]:
        """The brake as the journal and files have it."""
        found: dict[str, Any] = {
            "name": self.name,
            "scope": plain(self.scope),
            "owner": self.owner,
            "reason": self.reason,
        }
        if self.expires_at is not None:
            found["expires"] = format_instant(self.expires_at)
        if self.times is not None:
            found |= plain(self.times)
        more = {"revision": self.revision, "version": self.version}
        return found | {key: value for key, value in more.items() if value is not None}


class FreezeException(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Targets that a freeze does not cover, for a time."""

    scope: BrakeScope
    owner: str
    reason: str
    expires: str
    # Only revisions like this; None: every one.
    revision: str | None = None


class CheckedBrake(msgspec.Struct, frozen=True, kw_only=True):
    """A brake that can be set."""

    request: BrakeRequest
    document: dict[str, Any]
    # As the rules see it.
    brakes: Brakes
    # The one of the same name that is on; None: there is none.
    replaces: BrakeRecord | None = None

    def fact(self) -> Braked:
        """What is recorded when it is set."""
        return Braked(
            brake=self.request.brake,
            name=self.request.name,
            document=self.document,
            reason=self.request.reason,
        )


def check_brake(journals: Journals, request: BrakeRequest) -> CheckedBrake:
    """Read a brake as the rules do; UserError lists all that is wrong with it."""
    if not request.name.strip():
        raise UserError((Problem("name", "is empty", "write what to call it"),))
    if len(request.name) > NAME_MAX:
        what = f'"{shorten(request.name)}" has {len(request.name)} characters'
        raise UserError((Problem("name", what, f"write {NAME_MAX} at most"),))
    document = request.document()
    brakes = read_brake(request.brake, document, journals.now)
    known = journals.book.state().on.get((request.brake, request.name))
    if known is not None and not request.replace:
        by, age = known.by.removeprefix("user:"), format_age(journals.now - known.at)
        said = f"{by}, {age} ago: {known.document['reason']}"
        what = f'{request.brake} "{request.name}" is on already ({said})'
        raise UserError((Problem("", what, "--replace, or another name"),))
    return CheckedBrake(request=request, document=document, brakes=brakes, replaces=known)


def read_brake(brake: str, document: dict[str, Any], now: Instant) -> Brakes:
    """The brake of a document; UserError names the fields that are wrong."""
    problems = Problems()
    brakes = read_brakes(Reader({FIELDS[brake]: [document]}, "", problems), stretch_from(now))
    if problems.errors:
        prefix = f"{FIELDS[brake]}[0]"
        raise UserError(
            tuple(
                Problem(each.path.removeprefix(prefix).lstrip("."), each.message, each.remedy)
                for each in problems.errors
            )
        )
    return brakes


def find_brake(journals: Journals, brake: str, name: str) -> BrakeRecord:
    """A brake of the journal by name; a misspelt one gets the nearest."""
    on = journals.book.state().on
    if (brake, name) not in on:
        there = sorted(known for kind, known in on if kind == brake)
        raise NotFoundError(brake, name, nearest_or_all(name, there))
    return on[brake, name]


def plain(part: Part) -> dict[str, Any]:
    """A part as the journal has it."""
    found: dict[str, Any] = decode_json(msgspec.json.encode(part))
    return found
