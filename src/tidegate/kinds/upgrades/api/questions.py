"""Questions about upgrades of clusters, over HTTP, from the last recorded surveys."""

from typing import Annotated, Literal

from msgspec import Meta

from tidegate.api.questions import asked_duration, label_selector
from tidegate.api.route import QuestionRoute, RouteQuery, RouteQuestion
from tidegate.explain.pace import DAYS_AHEAD, DatePace
from tidegate.kinds.upgrades.api.label_questions import LABEL_QUESTIONS
from tidegate.kinds.upgrades.app.clusters import ClusterList, list_clusters
from tidegate.kinds.upgrades.app.explanation import (
    ClusterExplanation,
    OrganisationExplanationList,
    explain_cluster,
    explain_organisations,
    is_organisation,
)
from tidegate.kinds.upgrades.app.lint import LintReport, lint_fleet
from tidegate.kinds.upgrades.app.owners.status import UpgradeStatus, upgrade_status
from tidegate.kinds.upgrades.app.plan import UpgradePlanList, plan_upgrades
from tidegate.kinds.upgrades.app.read.journal import UpgradeJournal, read_recorded
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.app.report import (
    FleetReport,
    VersionHistory,
    report_fleet,
    report_history,
)
from tidegate.kinds.upgrades.app.soak import SoakExport, export_soak
from tidegate.kinds.upgrades.app.what_if import WhatIfReport, compare_labels
from tidegate.kinds.upgrades.rules import UpgradeRules

_WHERE = "the journal of the service"
Rules = Literal["", "strict", "compat"]


class ClusterQuery(RouteQuery, frozen=True):
    """Which clusters."""

    # Only of these organisations.
    org: tuple[str, ...] = ()
    # By name, external id or id.
    name: str = ""
    # As kubectl has it, of labels without their prefix: sector=prod,soak-days!=0.
    label_selector: str = ""
    # By which rules; empty: those that an organisation is registered with.
    mode: Rules = ""


class RulesQuery(RouteQuery, frozen=True):
    """By which rules; empty: those that an organisation is registered with."""

    mode: Rules = ""


class OrganisationQuery(RouteQuery, frozen=True):
    """Which organisations."""

    org: tuple[str, ...] = ()


class ModeQuery(OrganisationQuery, frozen=True):
    """Which organisations, and by which rules."""

    mode: Rules = ""


class PlanQuery(OrganisationQuery, frozen=True):
    """Which organisations, and by which rules: those of both are possible."""

    mode: Literal["", "strict", "compat", "both"] = ""


class WhatIfQuery(RouteQuery, frozen=True):
    """Other labels, and how far ahead to look."""

    # CLUSTER/LABEL=VALUE, as `tidegate upgrades what-if --set` has it.
    set: tuple[str, ...] = ()
    org: tuple[str, ...] = ()
    # How long an upgrade, and a node pool, takes: 20m; empty: as long as it usually took.
    apply_time: str = ""
    pool_time: str = ""
    days: Annotated[int, Meta(ge=1, le=1000)] = DAYS_AHEAD


def clusters(ask: RouteQuestion[ClusterQuery]) -> ClusterList:
    """Clusters that upgrade by their labels: version, next version, soak left, and why."""
    query = ask.query
    return list_clusters(
        _fleet(ask, query.org),
        query.name or None,
        label_selector(query.label_selector),
        query.mode or None,
    )


def report(ask: RouteQuestion[OrganisationQuery]) -> FleetReport:
    """What each organisation runs, what soaks, and what comes next."""
    return report_fleet(_fleet(ask, ask.query.org))


def lint(ask: RouteQuestion[OrganisationQuery]) -> LintReport:
    """What is wrong, or has no effect, in the labels of organisations and clusters."""
    return lint_fleet(_fleet(ask, ask.query.org))


def soaked(ask: RouteQuestion[OrganisationQuery]) -> VersionHistory:
    """How long each version has run under each workload."""
    return report_history(_fleet(ask, ask.query.org))


def soak(ask: RouteQuestion[OrganisationQuery]) -> SoakExport:
    """Soak data in the format of AUS, as `tidegate upgrades soak export` writes it."""
    return export_soak(_journal(ask), ask.query.org, ask.journals.now)


def status(ask: RouteQuestion[ModeQuery]) -> UpgradeStatus:
    """Organisations, one screen each: blocks, inheritance, sectors, clusters."""
    return upgrade_status(_fleet(ask, ask.query.org), ask.query.mode or None)


def explained(
    ask: RouteQuestion[RulesQuery],
) -> ClusterExplanation | OrganisationExplanationList:
    """A cluster, or every cluster of an organisation, with what every gate says."""
    fleet, mode = _fleet(ask, ()), ask.query.mode or None
    if is_organisation(ask.name):
        return explain_organisations(fleet, ask.name, mode)
    return explain_cluster(fleet, ask.name, mode)


def plan(ask: RouteQuestion[PlanQuery]) -> UpgradePlanList:
    """What a run would write to OpenShift Cluster Manager now, and why."""
    return plan_upgrades(_fleet(ask, ask.query.org), ask.query.mode or None)


def what_if(ask: RouteQuestion[WhatIfQuery]) -> WhatIfReport:
    """What other labels would change, cluster by cluster."""
    query = ask.query
    pace = DatePace(
        apply_time=asked_duration("applyTime", query.apply_time),
        pool_time=asked_duration("poolTime", query.pool_time),
        days=query.days,
    )
    return compare_labels(_fleet(ask, query.org), query.set, pace)


def _fleet(ask: RouteQuestion[RouteQuery], orgs: tuple[str, ...]) -> FleetReading:
    """The organisations that the caller sees, as of their last recorded surveys."""
    return read_recorded(_journal(ask), orgs, ask.journals.now, _WHERE)


def _journal(ask: RouteQuestion[RouteQuery]) -> UpgradeJournal:
    """What is recorded of the organisations that the caller sees all of."""
    journals = ask.journals.only_whole()
    names = journals.names(UpgradeRules.word)
    return UpgradeJournal(journals.store, journals.book, names, journals.broken)


UPGRADE_QUESTIONS: tuple[QuestionRoute, ...] = (
    QuestionRoute("/clusters", clusters, (ClusterList,), long=True),
    QuestionRoute("/report", report, (FleetReport,), long=True),
    QuestionRoute("/soaked", soaked, (VersionHistory,), long=True),
    QuestionRoute("/soak", soak, (SoakExport,), long=True),
    QuestionRoute("/upgrades", status, (UpgradeStatus,), long=True),
    QuestionRoute(
        "/upgrades/{name}", explained, (ClusterExplanation, OrganisationExplanationList), long=True
    ),
    QuestionRoute("/plan", plan, (UpgradePlanList,), long=True),
    QuestionRoute("/lint", lint, (LintReport,), long=True),
    QuestionRoute("/what-if", what_if, (WhatIfReport,), long=True),
    *LABEL_QUESTIONS,
)
