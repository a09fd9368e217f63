"""The When screen: dates as things are, and beside them as they would be with other settings."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams

from tidegate.access.roles import Caller
from tidegate.api.questions import DateAssumptionQuery, asked_duration
from tidegate.api.route import RouteQuestion
from tidegate.app.brakes.reach import covered_rows
from tidegate.app.brakes.what_if import RolloutWhatIf, rollout_what_if
from tidegate.app.documents import RolloutDates, TargetDates
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.app.text.date_text import end_words, shift_words
from tidegate.app.when import dates_of
from tidegate.explain.pace import DatePace
from tidegate.gates.brakes import Brakes
from tidegate.gates.freeze import Span
from tidegate.kinds.upgrades.api.questions import WhatIfQuery, what_if
from tidegate.kinds.upgrades.app.what_if import WhatIfReport
from tidegate.model.errors import TidegateError
from tidegate.model.time import Instant, parse_instant
from tidegate.page.dates.gantt import ROWS_SHOWN, DateRow, date_rows, gantt_picture
from tidegate.page.template_set import path_part
from tidegate.page.words import WORDS
from tidegate.store.archive_port import Archive

UPGRADES = "upgrades"


class WhenField(msgspec.Struct, frozen=True):
    """A setting that may be tried: its name, the value it has, and the one that is tried."""

    name: str
    label: str
    now: str
    value: str


class WhenPage(msgspec.Struct, frozen=True, kw_only=True):
    """All that the screen shows."""

    rollout: str
    # The moment of the past that its address names; empty: now.
    then: str = ""
    kind: str
    dated: bool
    told: str = ""
    rows: tuple[DateRow, ...] = ()
    more: int = 0
    picture: str = ""
    no_dates: str = ""
    fields: tuple[WhenField, ...] = ()
    freeze_from: str = ""
    freeze_to: str = ""
    hold: bool = False
    apply_time: str = ""
    labels: str = ""
    # What was tried: the end in words, the shift of each target; empty: nothing was.
    tried: str = ""
    shifts: dict[str, str] = {}
    before: dict[str, str] = {}
    upgrades: WhatIfReport | None = None
    command: tuple[str, ...] = ()
    error: str = ""


def when_page(
    journals: Journals, archive: Archive, caller: Caller, name: str, params: QueryParams
) -> WhenPage:
    """The dates of a rollout, and what an address tries; what cannot be read is said beside it."""
    one = journals.find(name)
    apply_time = params.get("applyTime", "").strip()
    page = WhenPage(
        rollout=one.partition,
        then=params.get("at", ""),
        kind=one.kind,
        dated=False,
        fields=tuple(_fields(one, params)),
        freeze_from=params.get("freezeFrom", ""),
        freeze_to=params.get("freezeTo", ""),
        hold=bool(params.get("hold")),
        apply_time=apply_time,
        labels=params.get("set", ""),
        no_dates=WORDS["no_dates"].format(name=one.partition),
    )
    try:
        if one.kind == UPGRADES:
            return _tried_labels(page, journals, archive, caller)
        pace = DatePace(apply_time=asked_duration("applyTime", apply_time))
        found = dates_of(journals, one, pace)
    except TidegateError as error:
        found, page = dates_of(journals, one, DatePace()), _wrong(page, error)
    if not isinstance(found, RolloutDates):
        return page
    query = _query(page)
    if page.error or not one.rules.settings(one.state) or query.assumed().is_nothing:
        return _shown(page, journals, one.now, found)
    try:
        made = rollout_what_if(journals, one.partition, query.assumed(), pace, caller.actor)
    except TidegateError as error:
        return _shown(_wrong(page, error), journals, one.now, found)
    return _compared(page, journals, one.now, made, query)


def _wrong(page: WhenPage, error: TidegateError) -> WhenPage:
    return msgspec.structs.replace(page, error=str(error))


def _fields(one: Decision, params: QueryParams) -> list[WhenField]:
    return [
        WhenField(name, WORDS[_LABELS[name]], value, params.get(name, "").strip())
        for name, value in one.rules.settings(one.state).items()
    ]


_LABELS = {
    "minSuccessTime": "set_soak",
    "maxConcurrency": "set_at_once",
    "maxFailures": "set_failures",
    "progressDeadline": "set_deadline",
}


def _query(page: WhenPage) -> DateAssumptionQuery:
    """What the form says, as the API takes it: the page tries what programs can."""
    freeze = (f"{_utc(page.freeze_from)}/{_utc(page.freeze_to)}",)
    return DateAssumptionQuery(
        set=tuple(f"{each.name}={each.value}" for each in page.fields if each.value),
        freeze=freeze if page.freeze_from or page.freeze_to else (),
        hold=page.hold,
        apply_time=page.apply_time,
    )


def _utc(text: str) -> str:
    """A time as a browser sends it, in UTC."""
    return text if not text or text.endswith("Z") else f"{text}{':00' * (text.count(':') == 1)}Z"


def _shown(page: WhenPage, journals: Journals, now: Instant, found: RolloutDates) -> WhenPage:
    """The dates from the moment on that they are decided for."""
    rows = date_rows(found.items, now)
    spans = _freezes(journals, page.rollout)
    return msgspec.structs.replace(
        page,
        dated=True,
        rows=tuple(rows[:ROWS_SHOWN]),
        more=max(0, len(rows) - ROWS_SHOWN),
        picture=gantt_picture(rows, spans, now, link=partial(_why_address, page)) if rows else "",
        told=f"{found.apply_time}, {found.apply_time_from}",
    )


def _freezes(journals: Journals, partition: str) -> list[tuple[str, Span]]:
    """The freezes that cover a target of a rollout, or may cover one."""
    if not journals.is_unlimited:
        return []
    one, brakes = journals.find(partition), journals.book.read(journals.now)
    return [
        (each.name, span)
        for each in brakes.freezes
        if covered_rows(one, "freezes", Brakes(freezes=(each,)))
        for span in each.spans
    ]


def _compared(
    page: WhenPage,
    journals: Journals,
    now: Instant,
    made: RolloutWhatIf,
    query: DateAssumptionQuery,
) -> WhenPage:
    """The dates that would be, with those that are beneath each."""
    rows = date_rows([each.after for each in made.items if each.after is not None], now)
    before = {each.target: each.before for each in made.items if each.before is not None}
    spans = [*_freezes(journals, page.rollout), *(_span(each) for each in query.freeze)]
    words = [part for each in query.set for part in ("--set", each)]
    words += [part for each in query.freeze for part in ("--freeze", each)]
    words += ["--hold"] * query.hold
    words += ["--apply-time", query.apply_time] if query.apply_time else []
    return msgspec.structs.replace(
        page,
        dated=True,
        rows=tuple(rows[:ROWS_SHOWN]),
        more=max(0, len(rows) - ROWS_SHOWN),
        picture=gantt_picture(rows, spans, now, before, link=partial(_why_address, page))
        if rows
        else "",
        told=f"{made.apply_time}, {made.apply_time_from}",
        tried=end_words(made),
        shifts={each.target: shift_words(each) for each in made.items},
        before={name: _done(each) for name, each in before.items()},
        command=("tidegate", "when", page.rollout, *words),
    )


def _why_address(page: WhenPage, target: str) -> str:
    at = {"at": page.then} if page.then else {}
    return f"/why/{path_part(page.rollout)}?{urlencode({'target': target, **at})}"


def _span(text: str) -> tuple[str, Span]:
    begin, _, end = text.partition("/")
    return WORDS["tried_freeze"], Span(Instant(parse_instant(begin)), Instant(parse_instant(end)))


def _done(dates: TargetDates) -> str:
    return dates.done_at or ""


def _tried_labels(page: WhenPage, journals: Journals, archive: Archive, caller: Caller) -> WhenPage:
    """Upgrades move by labels of clusters: those of the form are tried."""
    sets = tuple(each.strip() for each in page.labels.splitlines() if each.strip())
    if not sets:
        return page
    org = page.rollout.rpartition("/")[2]
    query: Any = WhatIfQuery(set=sets, org=(org,))
    found = what_if(RouteQuestion(journals, journals, archive, caller, "", query))
    words = [part for each in sets for part in ("--set", each)]
    return msgspec.structs.replace(
        page, upgrades=found, command=("tidegate", "upgrades", "what-if", *words)
    )
