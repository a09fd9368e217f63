"""Forecasts as tables: one row a step, and what no clock opens with its reason."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from tidegate.explain.table import Row, layout
from tidegate.kinds.upgrades.app.forecast import (
    ClusterForecast,
    ClusterForecastList,
    ForecastPace,
    ForecastRow,
    ForecastStep,
)
from tidegate.kinds.upgrades.core.explain.dates import NO_DATE, NOT_BEFORE, date_text, doubted
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.model.counted import counted
from tidegate.model.time import parse_instant

DATE_HEAD: Row = ("CLUSTER", "STEP", "STARTS", "DONE", "DEPENDS ON")
# A step names this many gates, those that open last; more do not fit on a line.
_GATES_MAX = 3


def forecast_lines(document: ClusterForecastList, width: int | None) -> Iterator[str]:
    """A table an organisation."""
    fleets = groupby(document.items, key=lambda each: (each.environment, each.org, each.org_name))
    for at, ((environment, org, name), rows) in enumerate(fleets):
        mine = list(rows)
        if at:
            yield ""
        yield _headline(f"{PARTITION}/{environment}/{org}", name, mine)
        yield ""
        yield from layout(DATE_HEAD, [row for each in mine for row in date_rows(each)], width)


def one_forecast_lines(document: ClusterForecast, width: int | None) -> Iterator[str]:
    """The steps of one cluster, and in full why there is no date for what comes after."""
    rows = date_rows(document, held=False)
    if rows:
        yield from layout(DATE_HEAD, rows, width)
    held = document.no_date
    if held is None:
        return
    what = f"{NO_DATE} for {held.version}" if held.version else NO_DATE
    yield f"{what}: {_held_text(document)}"
    if held.why.opens:
        yield f"  opens: {held.why.opens}"
    yield f"  `tidegate why cluster/{document.cluster}` has every gate"


def _headline(journal: str, name: str, rows: Sequence[ForecastRow]) -> str:
    moving = sum(bool(each.steps) for each in rows)
    held = sum(each.no_date is not None for each in rows)
    parts = [journal, name, counted(len(rows), "cluster")]
    if moving:
        parts.append(f"{moving} {'moves' if moving == 1 else 'move'}")
    if held:
        parts.append(f"{held} without a date")
    return " · ".join(parts)


def date_rows(one: ForecastRow | ClusterForecast, *, held: bool = True) -> list[Row]:
    """One cluster: a row a step, and one for what has no date, if wanted."""
    rows: list[Row] = [
        (one.cluster, _step(each), _date(each.starts_at, each), _date(each.done_at, each),
         _depends(each))
        for each in one.steps
    ]  # fmt: skip
    if one.unknown is not None:
        since = date_text(parse_instant(one.unknown.not_before))
        what = f"what channel {one.unknown.channel} offers"
        rows.append((one.cluster, "→ ?", f"{NOT_BEFORE} {since}", "", what))
    if one.no_date is not None and held:
        wanted = f"→ {one.no_date.version}" if one.no_date.version else "-"
        rows.append((one.cluster, wanted, "", NO_DATE, _held_text(one)))
    elif not rows and one.no_date is None:
        rows.append((one.cluster, "-", "", "-", f"on {one.reaches}, and nothing newer is offered"))
    return rows


def _held_text(one: ForecastRow | ClusterForecast) -> str:
    if one.no_date is None:
        return ""
    later = "later than the horizon: " if one.no_date.beyond else ""
    return f"{later}{one.no_date.why.message}"


def _step(step: ForecastStep) -> str:
    if step.do == StepKind.CHANNEL.value:
        return f"channel → {step.after}"
    pool = f"pool {step.pool} " if step.pool else ""
    return f"{pool}{step.before} → {step.after}"


def _date(at: str | None, step: ForecastStep) -> str:
    """A moment; with a `~` if it is an estimate."""
    if at is None:
        return ""
    return doubted(parse_instant(at), estimate=step.estimate)


def _depends(step: ForecastStep) -> str:
    if step.asked_at is None:
        return "its owner's own OCM policy" if step.by_owner else "under way"
    waits = ", then ".join(dict.fromkeys(step.waits_for[-_GATES_MAX:]))
    doubts = [each for each in step.doubts if each not in waits]
    return "; ".join(filter(None, (waits, ", ".join(doubts)))) or "nothing more"


def pace_line(pace: ForecastPace) -> str:
    """How long upgrades are assumed to take."""
    return (
        f"an upgrade takes {pace.cluster}, of a hosted control plane {pace.control_plane},"
        f" of a node pool {pace.pool} ({pace.known_from})"
    )
