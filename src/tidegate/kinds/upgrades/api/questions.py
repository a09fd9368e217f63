"""Questions about upgrades of clusters, over HTTP, from the last recorded surveys."""

from typing import Annotated

from msgspec import Meta

from tidegate.api.questions import label_selector
from tidegate.api.route import QuestionRoute, RouteQuery, RouteQuestion
from tidegate.explain.pace import DAYS_AHEAD, DatePace
from tidegate.kinds.upgrades.app.clusters import ClusterList, list_clusters
from tidegate.kinds.upgrades.app.lint import LintReport, lint_fleet
from tidegate.kinds.upgrades.app.plan import UpgradePlanList, plan_upgrades
from tidegate.kinds.upgrades.app.read.journal import UpgradeJournal, read_recorded
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.app.report import FleetReport, report_fleet
from tidegate.kinds.upgrades.app.what_if import WhatIfReport, compare_labels
from tidegate.kinds.upgrades.rules import UpgradeRules

_WHERE = "the journal of the service"


class ClusterQuery(RouteQuery, frozen=True):
    """Which clusters."""

    # Only of these organisations.
    org: tuple[str, ...] = ()
    # By name, external id or id.
    name: str = ""
    # As kubectl has it, of labels without their prefix: sector=prod,soak-days!=0.
    label_selector: str = ""


class OrganisationQuery(RouteQuery, frozen=True):
    """Which organisations."""

    org: tuple[str, ...] = ()


class WhatIfQuery(RouteQuery, frozen=True):
    """Other labels, and how far ahead to look."""

    # CLUSTER/LABEL=VALUE, as `tidegate upgrades what-if --set` has it.
    set: tuple[str, ...] = ()
    org: tuple[str, ...] = ()
    days: Annotated[int, Meta(ge=1, le=1000)] = DAYS_AHEAD


def clusters(ask: RouteQuestion[ClusterQuery]) -> ClusterList:
    """Clusters that upgrade by their labels: version, next version, soak left, and why."""
    query = ask.query
    return list_clusters(
        _fleet(ask, query.org), query.name or None, label_selector(query.label_selector)
    )


def report(ask: RouteQuestion[OrganisationQuery]) -> FleetReport:
    """What each organisation runs, what soaks, and what comes next."""
    return report_fleet(_fleet(ask, ask.query.org))


def lint(ask: RouteQuestion[OrganisationQuery]) -> LintReport:
    """What is wrong, or has no effect, in the labels of organisations and clusters."""
    return lint_fleet(_fleet(ask, ask.query.org))


def plan(ask: RouteQuestion[OrganisationQuery]) -> UpgradePlanList:
    """What a run would write to OpenShift Cluster Manager now, and why."""
    return plan_upgrades(_fleet(ask, ask.query.org))


def what_if(ask: RouteQuestion[WhatIfQuery]) -> WhatIfReport:
    """What other labels would change, cluster by cluster."""
    query = ask.query
    return compare_labels(_fleet(ask, query.org), query.set, DatePace(days=query.days))


def _fleet(ask: RouteQuestion[RouteQuery], orgs: tuple[str, ...]) -> FleetReading:
    """The organisations that the caller sees, as of their last recorded surveys."""
    journals = ask.journals
    journal = UpgradeJournal(journals.store, journals.book, journals.names(UpgradeRules.word))
    return read_recorded(journal, orgs, journals.now, _WHERE)


UPGRADE_QUESTIONS: tuple[QuestionRoute, ...] = (
    QuestionRoute("/clusters", clusters, (ClusterList,), long=True),
    QuestionRoute("/report", report, (FleetReport,), long=True),
    QuestionRoute("/plan", plan, (UpgradePlanList,), long=True),
    QuestionRoute("/lint", lint, (LintReport,), long=True),
    QuestionRoute("/what-if", what_if, (WhatIfReport,), long=True),
)
