"""The bar over a page that shows the past: which moment, one step either way, and back to now."""

import re
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request

from tidegate.app.journal.entries import EntryRow
from tidegate.app.partitions.journals import Journals
from tidegate.app.past.journals import PastJournals
from tidegate.app.past.steps import past_steps
from tidegate.model.time import SECOND, format_age, format_second, parse_instant

# What a browser sends for a date and a time without a zone; it is asked for in UTC.
_NO_ZONE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?")
# A slider has so many places at most.
PLACES = 1000


class PastBar(msgspec.Struct, frozen=True):
    """A moment of the past, and the addresses of those around it."""

    # As the address has it, and as people read it.
    text: str
    at: str
    age: str
    # The slider, in seconds: from the first entry to the last.
    first: int
    last: int
    here: int
    step: int
    # Addresses of the same screen; empty: there is no such step.
    before: str
    after: str
    back: str
    # What happened at that moment: when, by which actor, what.
    happened_at: str
    actor: str
    what: str
    entry: str
    # Rollouts of which it is not known, for their entries were dropped.
    unknown: tuple[str, ...]

    @property
    def query(self) -> str:
        """What a link adds to stay in the past."""
        return urlencode({"at": self.text})


def asked_moment(request: Request) -> str:
    """The moment that an address names, as `past_moment` reads it; empty: now."""
    text = request.query_params.get("at", "").strip()
    if not _NO_ZONE.fullmatch(text):
        return text
    return f"{text}Z" if text.count(":") == 2 else f"{text}:00Z"


def past_bar(request: Request, past: PastJournals, now: Journals, rollout: str = "") -> PastBar:
    """The bar of a screen; of one rollout, steps are its own."""
    steps, moment = past_steps(past, now, rollout), past.moment
    first = parse_instant(steps.first or steps.at) // SECOND
    last = max(parse_instant(steps.last or steps.at) // SECOND, past.now // SECOND, first) + 1
    happened = steps.happened
    return PastBar(
        text=f"{moment.seq}/{moment.partition}" if moment.seq else steps.at,
        at=format_second(past.now),
        age=format_age(now.now - past.now),
        first=first,
        last=last,
        here=min(max(past.now // SECOND, first), last),
        step=max(1, (last - first) // PLACES),
        before=_address(request, steps.before),
        after=_address(request, steps.after),
        back=_address(request, ""),
        happened_at="" if happened is None else happened.at,
        actor="" if happened is None else happened.actor,
        what="" if happened is None else _told(happened),
        entry="" if happened is None else f"{happened.seq}/{happened.partition}",
        unknown=past.unknown(),
    )


def _told(happened: EntryRow) -> str:
    return f"{happened.target}: {happened.what}" if happened.target else happened.what


def _address(request: Request, at: str | None) -> str:
    """The same screen at another moment; `at` empty: now."""
    if at is None:
        return ""
    rest = [each for each in request.query_params.multi_items() if each[0] != "at"]
    query = urlencode([*rest, ("at", at)] if at else rest)
    return f"{request.url.path}?{query}" if query else request.url.path
