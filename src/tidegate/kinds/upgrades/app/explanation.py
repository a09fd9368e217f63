"""`why` of clusters that upgrade by their labels: one in full, or every one of an organisation."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from tidegate.app.documents import RequestDoc, request_doc
from tidegate.explain.verdict_part import VerdictPart, VerdictParts
from tidegate.kinds.upgrades.app.clusters import ClusterPart, PoolBehind, cluster_part
from tidegate.kinds.upgrades.app.read.starts import ClusterStarts, NextStart
from tidegate.kinds.upgrades.app.read.view import (
    UpgradeView,
    find_cluster,
    find_organisation,
    rules_notes,
    views_of,
)
from tidegate.kinds.upgrades.app.read.world import FleetDocument, FleetReading
from tidegate.kinds.upgrades.core.explain.option_words import (
    next_words,
    option_state,
    option_title,
)
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.service import ORGANISATION
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.model.document import Part, fields_of, instant_text
from tidegate.model.plan import Option
from tidegate.model.time import Instant, format_instant
from tidegate.model.verdict import all_pass


class UpgradeOption(Part, frozen=True, kw_only=True):
    """One thing that could be done with a cluster, and what every gate says of it."""

    go: bool
    do: str | UnsetType = UNSET
    version: str | UnsetType | None = UNSET
    pool: str | UnsetType = UNSET
    addon: str | UnsetType = UNSET
    starts_at: str | UnsetType = UNSET
    # What it is, and what becomes of it, in words; unset: it does nothing.
    title: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    verdicts: tuple[VerdictPart, ...]


class ExplainedCluster(ClusterPart, frozen=True, kw_only=True):
    """One cluster of an organisation, with all its options."""

    # The name, with the external id where several clusters have it.
    called: str
    # What comes next, or why nothing does, in a few words.
    headline: str
    options: tuple[UpgradeOption, ...]


class ClusterExplanation(FleetDocument, frozen=True, kw_only=True):
    """One cluster, with all its options and what every gate says of them."""

    now: str
    cluster: str
    called: str
    uuid: str
    org: str
    environment: str
    version: str
    oldest_version: str
    behind: tuple[PoolBehind, ...]
    since: str | None
    next: str | None
    soak_left_days: float | None
    window_at: str | None
    expected: NextStart | None
    phase: str
    headline: str
    summary: str
    problems: tuple[str, ...]
    options: tuple[UpgradeOption, ...]
    # Labels of it that people requested and that are not written yet.
    requests: tuple[RequestDoc, ...] = ()


class ExplainedOrganisation(Part, frozen=True, kw_only=True):
    """One organisation with its clusters."""

    org: str
    name: str
    environment: str
    # What is wrong with its own labels.
    problems: tuple[str, ...]
    targets: tuple[ExplainedCluster, ...]
    # Labels that people requested and that are not written yet, the oldest first.
    requests: tuple[RequestDoc, ...] = ()


class OrganisationExplanationList(FleetDocument, frozen=True, kw_only=True):
    """Every cluster of some organisations, and what each waits for."""

    # The moment in question; null: there is no cluster.
    now: str | None
    # The first moment at which time alone may change something; null: there is none.
    recheck_at: str | None
    items: tuple[ExplainedOrganisation, ...]


def explain_cluster(fleet: FleetReading, name: str, mode: str | None = None) -> ClusterExplanation:
    """One cluster by name, external id or id; UserError if there is not exactly one."""
    view, summary = find_cluster(views_of(fleet, mode), name)
    fleet = fleet.only(view.reading)
    return ClusterExplanation(
        errors=fleet.errors(),
        notes=(*fleet.notes(), *rules_notes(fleet, mode)),
        now=format_instant(view.reading.now),
        requests=tuple(
            request_doc(each)
            for each in view.reading.requests
            if summary.member.called in each.targets
        ),
        **fields_of(_explained(view, summary, VerdictParts(), ClusterStarts())),
    )


def explain_organisations(
    fleet: FleetReading, name: str = "", mode: str | None = None
) -> OrganisationExplanationList:
    """Every cluster of one organisation (upgrades/ENV/ORG), or of all of them."""
    some = views_of(fleet, mode)
    if name:
        shown = [find_organisation(some, name)]
        fleet = fleet.only(shown[0][0].reading)
    else:
        shown = [(view, *pair) for view in some for pair in view.by_fleet()]
    starts = ClusterStarts()
    rechecks = [(view.reading.now, view.plan.recheck_at) for view, _, _ in shown]
    return OrganisationExplanationList(
        errors=fleet.errors(),
        notes=(*fleet.notes(), *rules_notes(fleet, mode)),
        now=next((format_instant(view.reading.now) for view, _, _ in shown), None),
        recheck_at=instant_text(_first(rechecks)),
        items=tuple(_organisation(*each, starts) for each in shown),
    )


def is_organisation(name: str) -> bool:
    """Whether a name is that of an organisation: upgrades/prod/o-payments."""
    return name.startswith(ORGANISATION)


def _first(rechecks: Sequence[tuple[Instant, Instant | None]]) -> Instant | None:
    """The moment that is nearest, seen from the moment in question of its own world."""
    known = [(at - now, at) for now, at in rechecks if at is not None]
    return min(known)[1] if known else None


def _organisation(
    view: UpgradeView,
    fleet: OrganisationFleet,
    mine: list[ClusterSummary],
    starts: ClusterStarts,
) -> ExplainedOrganisation:
    verdicts = VerdictParts()
    return ExplainedOrganisation(
        org=fleet.org.id,
        name=fleet.org.name,
        environment=fleet.org.env,
        problems=tuple(each.text() for each in fleet.label_errors),
        targets=tuple(_explained(view, each, verdicts, starts) for each in mine),
        requests=tuple(map(request_doc, view.reading.requests)),
    )


def _explained(
    view: UpgradeView, summary: ClusterSummary, verdicts: VerdictParts, starts: ClusterStarts
) -> ExplainedCluster:
    return ExplainedCluster(
        **fields_of(cluster_part(view, summary, starts)),
        called=summary.member.called,
        headline=next_words(summary),
        options=tuple(_option(each, verdicts) for each in summary.options),
    )


def _option(option: Option, verdicts: VerdictParts) -> UpgradeOption:
    step, go = option.change, all_pass(option.verdicts)
    said = verdicts.of(option.verdicts)
    if not isinstance(step, UpgradeStep):
        return UpgradeOption(go=go, verdicts=said)
    starts_at = step.starts_at if go else None
    return UpgradeOption(
        go=go,
        do=step.doing.value,
        version=step.revision,
        pool=step.pool or UNSET,
        addon=step.addon or UNSET,
        starts_at=UNSET if starts_at is None else format_instant(starts_at),
        title=option_title(step),
        state=option_state(option),
        verdicts=said,
    )
