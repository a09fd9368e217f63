"""The questions that every kind answers, by path."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, field

from tidegate.api.problem import bad_request
from tidegate.api.route import (
    MomentQuery,
    QuestionRoute,
    RouteAnswer,
    RouteQuery,
    RouteQuestion,
)
from tidegate.app import rollouts as app
from tidegate.app.access.callers import CallerReport, caller_report
from tidegate.app.brakes.brake_list import BlockList, ExpediteList, FreezeList, HoldList, brake_list
from tidegate.app.brakes.claims import ClaimList
from tidegate.app.brakes.sight import seen_claims
from tidegate.app.brakes.what_if import (
    DateAssumption,
    RolloutWhatIf,
    read_assumption,
    rollout_what_if,
)
from tidegate.app.cells import CellMap, FleetCells, cell_map, fleet_cells
from tidegate.app.documents import (
    RolloutDates,
    RolloutDetails,
    RolloutList,
    StatusReport,
    TargetDetails,
)
from tidegate.app.partitions.journals import Journals
from tidegate.app.targets import TargetItem, TargetList, TargetQuery, parse_fields, target_list
from tidegate.app.when import when
from tidegate.documents.scope_doc import selector_of
from tidegate.explain.pace import DAYS_AHEAD, DatePace
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.integrations.app.pins.pin_list import TargetPinList, journal_pins
from tidegate.kinds.upgrades.app.forecast import ClusterForecast, ClusterForecastList
from tidegate.model.document import Document
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all, shown
from tidegate.model.selector import EVERYTHING, Selector
from tidegate.model.time import Duration, parse_time_taken

T = TypeVar("T")
Limit = Annotated[int, Meta(ge=1, le=1000)]
"""How many items an answer has at most."""


class NoQuery(RouteQuery, frozen=True):
    """No parameters."""


class KindQuery(MomentQuery, frozen=True):
    """A list, of every kind or of one."""

    # Of one kind: integrations, policies, upgrades, promotions.
    kind: str = ""
    # The one of this name.
    name: str = ""
    limit: Limit = 500
    # Where the part before ended, from its Link header.
    after: str = field(name="continue", default="")


class WhyQuery(MomentQuery, frozen=True):
    """Which target, where the name is that of a rollout."""

    target: str | None = None


class CellsQuery(MomentQuery, frozen=True):
    """Which rollouts."""

    # Of one kind; empty: of every kind.
    kind: str = ""


class DatesQuery(RouteQuery, frozen=True):
    """What is known of the pace of changes."""

    # How long a change, and a node pool, takes: 20m; empty: as long as it usually took.
    apply_time: str = ""
    pool_time: str = ""
    # Of upgrades: how many days ahead.
    days: Annotated[int, Meta(ge=1, le=1000)] = DAYS_AHEAD


class DateAssumptionQuery(RouteQuery, frozen=True):
    """What is supposed to be otherwise."""

    # Settings of the strategy: minSuccessTime=30m, maxConcurrency=10%.
    set: tuple[str, ...] = ()
    # Times at which nothing starts: FROM/TO, each in RFC 3339.
    freeze: tuple[str, ...] = ()
    hold: bool = False
    # How long a change takes: 20m; empty: as long as it usually took.
    apply_time: str = ""

    def assumed(self) -> DateAssumption:
        """The same, as the application has it."""
        return read_assumption(self.set, self.freeze, self.hold)


class TargetListQuery(MomentQuery, frozen=True):
    """Which targets."""

    rollout: str = ""
    # As kubectl has them: env=prod,tier!=gold; state=Failed,group=prod.
    label_selector: str = ""
    field_selector: str = ""
    limit: Limit = 500
    after: str = field(name="continue", default="")


def status(ask: RouteQuestion[MomentQuery]) -> StatusReport:
    """Per kind how many targets move, wait and failed; what needs a person; which worker leads."""
    return app.status(ask.journals)


def rollouts(ask: RouteQuestion[KindQuery]) -> RouteAnswer:
    """What is going out, and how far it is."""
    found = app.rollout_list(
        ask.journals, ask.query.name, _known_kind(ask.journals, ask.query.kind)
    )
    items, after = part(found.items, lambda each: each.id, ask.query.limit, ask.query.after)
    return RouteAnswer(msgspec.structs.replace(found, items=items), after)


def rollout(ask: RouteQuestion[MomentQuery]) -> RouteAnswer:
    """One rollout in full: groups, targets, and what happened last."""
    return _planned(ask, app.rollout_details(ask.journals, ask.name))


def why(ask: RouteQuestion[WhyQuery]) -> RouteAnswer:
    """Why each target of a rollout starts or waits, or one target with every gate."""
    return _planned(ask, app.why(ask.journals, ask.name, ask.query.target))


def dates(ask: RouteQuestion[DatesQuery]) -> Document:
    """When a rollout or a target is expected to start and to be done."""
    query = ask.query
    pace = DatePace(
        apply_time=asked_duration("applyTime", query.apply_time),
        pool_time=asked_duration("poolTime", query.pool_time),
        days=query.days,
    )
    return when(ask.journals, ask.name, pace)


def what_if(ask: RouteQuestion[DateAssumptionQuery]) -> RolloutWhatIf:
    """The dates of a rollout with other settings or another brake, beside those it has."""
    pace = DatePace(apply_time=asked_duration("applyTime", ask.query.apply_time))
    assumed = ask.query.assumed()
    return rollout_what_if(ask.journals, ask.name, assumed, pace, ask.caller.actor)


def targets(ask: RouteQuestion[TargetListQuery]) -> RouteAnswer:
    """Targets of every kind, by labels and fields."""
    query = ask.query
    wanted = TargetQuery(
        rollout=query.rollout,
        labels=label_selector(query.label_selector),
        fields=parse_fields(query.field_selector),
    )
    found = target_list(ask.journals, wanted)
    items, after = part(found.items, _target_key, query.limit, query.after)
    return RouteAnswer(msgspec.structs.replace(found, items=items), after)


def cells(ask: RouteQuestion[MomentQuery]) -> RouteAnswer:
    """The targets of a rollout for a map: what they have in common once, and an index for each."""
    return _planned(ask, cell_map(ask.journals, ask.name))


def every_cell(ask: RouteQuestion[CellsQuery]) -> FleetCells:
    """The targets of every rollout for a map."""
    return fleet_cells(ask.journals, _known_kind(ask.journals, ask.query.kind))


def _known_kind(journals: Journals, kind: str) -> str:
    """A kind; NotFoundError for one that there is not, of which nothing would be listed."""
    known = sorted(each.value for each in KindOfChange)
    if kind and kind not in known and not journals.names(kind):
        raise NotFoundError("kind", kind, nearest_or_all(kind, known))
    return kind


def holds(ask: RouteQuestion[NoQuery]) -> Document:
    """Holds, until they are removed."""
    return brake_list(ask.journals, "hold")


def freezes(ask: RouteQuestion[NoQuery]) -> Document:
    """Times at which nothing starts."""
    return brake_list(ask.journals, "freeze")


def blocks(ask: RouteQuestion[NoQuery]) -> Document:
    """Revisions that start nowhere."""
    return brake_list(ask.journals, "block")


def expedites(ask: RouteQuestion[NoQuery]) -> Document:
    """Versions that skip soak and windows."""
    return brake_list(ask.journals, "expedite")


def pins(ask: RouteQuestion[NoQuery]) -> TargetPinList:
    """Pinned targets; shards that files pin are in Git."""
    return journal_pins(ask.journals)


def claims(ask: RouteQuestion[NoQuery]) -> ClaimList:
    """The places of budgets and mutexes that are taken."""
    return ClaimList(items=seen_claims(ask.journals))


def whoami(ask: RouteQuestion[NoQuery]) -> CallerReport:
    """The caller, how it is known, and its roles."""
    return caller_report(ask.caller)


def part(
    items: Sequence[T], key: Callable[[T], str], limit: int, after: str
) -> tuple[tuple[T, ...], str]:
    """The items behind a key, by their keys; and the last key, if there are more."""
    rest = sorted((each for each in items if key(each) > after), key=key)
    shown = tuple(rest[:limit])
    return shown, key(shown[-1]) if len(rest) > limit else ""


def _target_key(item: TargetItem) -> str:
    return f"{item.rollout} {item.target.name}"


def _planned(
    ask: RouteQuestion[object], document: RolloutDetails | TargetDetails | CellMap
) -> RouteAnswer:
    """An answer that shows a plan, with the plan."""
    name = document.id if isinstance(document, RolloutDetails) else document.rollout
    one = ask.journals.read(name)
    return RouteAnswer(document, rows=None if one is None else one.rows)


def label_selector(text: str) -> Selector:
    """A label selector as kubectl has it; RequestError 400 if it is none."""
    if not text:
        return EVERYTHING
    try:
        return selector_of(text)
    except ValueError as error:
        raise bad_request(str(error), "labelSelector") from None


def asked_duration(name: str, text: str) -> Duration | None:
    """How long something takes; RequestError 400 if it is none, None if there is none."""
    try:
        return parse_time_taken(text) if text else None
    except ValueError as error:
        raise bad_request(f"{shown(text)}: {error}; like 20m", name) from None


QUESTIONS: tuple[QuestionRoute, ...] = (
    QuestionRoute("/status", status, (StatusReport,)),
    QuestionRoute("/rollouts", rollouts, (RolloutList,)),
    QuestionRoute("/rollouts/{name}", rollout, (RolloutDetails,)),
    QuestionRoute("/why/{name}", why, (RolloutDetails, TargetDetails)),
    QuestionRoute(
        "/when/{name}", dates, (RolloutDates, ClusterForecast, ClusterForecastList), long=True
    ),
    QuestionRoute("/what-if/{name}", what_if, (RolloutWhatIf,), long=True),
    QuestionRoute("/targets", targets, (TargetList,)),
    QuestionRoute("/cells", every_cell, (FleetCells,)),
    QuestionRoute("/cells/{name}", cells, (CellMap,)),
    QuestionRoute("/holds", holds, (HoldList,)),
    QuestionRoute("/freezes", freezes, (FreezeList,)),
    QuestionRoute("/blocks", blocks, (BlockList,)),
    QuestionRoute("/expedites", expedites, (ExpediteList,)),
    QuestionRoute("/pins", pins, (TargetPinList,)),
    QuestionRoute("/claims", claims, (ClaimList,)),
    QuestionRoute("/whoami", whoami, (CallerReport,)),
)
