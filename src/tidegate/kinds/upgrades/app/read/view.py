"""A reading with what is decided on it: every cluster, found by any of its names."""

from collections.abc import Sequence

import msgspec

from tidegate.kinds.upgrades.app.read.world import FleetReading, WorldReading
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, cluster_summaries
from tidegate.kinds.upgrades.core.explain.words import by_fleet
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import ORGANISATION, RuleSet
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest, nearest_or_all
from tidegate.model.target import bare
from tidegate.model.time import Instant

NAMES_MAX = 8
"""An answer lists at most this many names; more do not fit on a line."""
"""The prefixes of names: organisations whose clusters upgrade by labels, and such clusters."""


class UpgradeView(msgspec.Struct, frozen=True):
    """One reading and what is decided on it."""

    reading: WorldReading
    plan: UpgradePlan
    cluster_summaries: tuple[ClusterSummary, ...]
    # The rules it is decided by.
    rules: RuleSet = RuleSet.STRICT

    def since(self, summary: ClusterSummary) -> Instant | None:
        """The moment since which a cluster has had its version; None: not known."""
        ledger = self.plan.ledgers.get(summary.fleet.key)
        snapshot = ledger.sights.get(summary.member.cluster.uuid) if ledger is not None else None
        return snapshot.since if snapshot is not None else None

    def by_fleet(self) -> list[tuple[OrganisationFleet, list[ClusterSummary]]]:
        """Its clusters by organisation."""
        return by_fleet(self.plan, self.cluster_summaries)


def views_of(fleet: FleetReading, mode: str | None = None) -> list[UpgradeView]:
    """Every reading decided on: by the rules its organisation is managed by, or by others."""
    found = []
    for reading in fleet.readings:
        rules = RuleSet(mode) if mode else reading.rules
        plan = reading.plan(rules)
        found.append(UpgradeView(reading, plan, tuple(cluster_summaries(plan)), rules))
    return found


def rules_notes(fleet: FleetReading, mode: str | None) -> tuple[str, ...]:
    """Which organisations are decided on by the predecessor's rules without being asked for."""
    if mode is not None:
        return ()
    return tuple(
        f"{', '.join(each.id for each in reading.service.organizations)}: served by the rules"
        " of AUS, which explain little; --mode strict shows what ours would say"
        for reading in fleet.readings
        if reading.rules is RuleSet.COMPAT
    )


def clusters_called(
    some: Sequence[UpgradeView], name: str
) -> list[tuple[UpgradeView, ClusterSummary]]:
    """The clusters with a name, an external id or an id."""
    wanted = bare(name)
    return [
        (view, summary)
        for view in some
        for summary in view.cluster_summaries
        if wanted
        in (summary.member.cluster.name, summary.member.cluster.uuid, summary.member.cluster.ident)
    ]


def find_cluster(some: Sequence[UpgradeView], name: str) -> tuple[UpgradeView, ClusterSummary]:
    """The one cluster with a name; UserError lists the candidates if there is not exactly one."""
    found = clusters_called(some, name)
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(
            f"{summary.member.cluster.uuid} ({summary.fleet.key})"
            for _, summary in found[:NAMES_MAX]
        )
        more = f" and {len(found) - NAMES_MAX} more" if len(found) > NAMES_MAX else ""
        what = f'{len(found)} clusters are called "{bare(name)}"'
        raise UserError((Problem("", what, f"name one by its external id: {ids}{more}"),))
    raise NotFoundError("cluster", bare(name), _hint(some, name))


def _hint(some: Sequence[UpgradeView], name: str) -> str:
    names = {summary.member.cluster.name for view in some for summary in view.cluster_summaries}
    if not names:
        return "no organisation that is served has a cluster with labels"
    return nearest(bare(name), names) or f"`tidegate get clusters` lists all {len(names)}"


def find_organisation(
    some: Sequence[UpgradeView], name: str
) -> tuple[UpgradeView, OrganisationFleet, list[ClusterSummary]]:
    """The organisation with the name of its journal (upgrades/prod/o-payments), id or name."""
    wanted = name.removeprefix(ORGANISATION)
    every = [(view, *pair) for view in some for pair in view.by_fleet()]
    for view, fleet, mine in every:
        if wanted in (fleet.key, fleet.org.id, fleet.org.name):
            return view, fleet, mine
    known = [f"{ORGANISATION}{fleet.key}" for _, fleet, _ in every]
    raise NotFoundError("organisation", wanted, nearest_or_all(name, known, "none"))
