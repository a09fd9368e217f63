"""The clusters that a brake covers, and those that an expedite lets start earlier."""

from collections.abc import Iterator, Mapping

import msgspec

from tidegate.engine.brake_book import BrakeBook
from tidegate.explain.sentence import sentence
from tidegate.gates.block import is_like
from tidegate.gates.brakes import Brakes, Coverages
from tidegate.gates.expedite import Expedite
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.upgrades.app.read.journal import UpgradeJournal
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, cluster_summaries
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.kinds.upgrades.core.rules.progress import can_be_taken_back
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.document import Document, Part
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.store.port import Store

_EXPEDITED = frozenset((VersionReason.SoakExpedited, UpgradeReason.WindowExpedited))


class BrakedOrganisation(Part, frozen=True, kw_only=True):
    """The clusters of one organisation that a brake covers."""

    partition: str
    waiting: tuple[str, ...]
    moving: tuple[str, ...]
    # Clusters for which nothing is to be done.
    others: int
    # Upgrades that were asked for and have not begun, by cluster.
    ahead: Mapping[str, str]


class BrakeReach(Document, frozen=True, kw_only=True):
    """What a brake covers among clusters that upgrade by their labels."""

    items: tuple[BrakedOrganisation, ...]
    # All clusters that are known, covered or not.
    clusters: tuple[str, ...]


class ExpeditedOrganisation(Part, frozen=True, kw_only=True):
    """What an expedite changes in one organisation."""

    partition: str
    # Versions that start at once and did not before, by cluster.
    starting: Mapping[str, str]
    # What clusters still wait for, in words, by cluster.
    waiting: Mapping[str, str]


class ExpediteEffect(Document, frozen=True, kw_only=True):
    """What an expedite changes, organisation by organisation."""

    items: tuple[ExpeditedOrganisation, ...]


def brake_reach(store: Store, field: str, brakes: Brakes, now: Instant) -> BrakeReach:
    """The clusters that a brake covers; `field` is where `Brakes` has brakes of its kind."""
    brakes = msgspec.structs.replace(brakes, kind=KindOfChange.UPGRADES)
    found: list[BrakedOrganisation] = []
    names: set[str] = set()
    for partition, world in _worlds(store, now):
        org = world.orgs[0]
        coverages = Coverages(
            brakes, {each.name: brake_labels(org, each) for each in world.clusters}
        )
        covered: list[ClusterSummary] = []
        for summary in cluster_summaries(decide(world, now)):
            name = summary.member.cluster.name
            names.add(name)
            coverage = coverages.of(name)
            if getattr(coverage.surely, field) or getattr(coverage.perhaps, field):
                covered.append(summary)
        if covered:
            found.append(_braked(partition, covered))
    return BrakeReach(items=tuple(found), clusters=tuple(sorted(names)))


def _braked(partition: str, covered: list[ClusterSummary]) -> BrakedOrganisation:
    moving = [each for each in covered if each.member.progress.occupies]
    waiting = [each for each in covered if not each.member.progress.occupies and each.next]
    return BrakedOrganisation(
        partition=partition,
        waiting=tuple(each.member.called for each in waiting),
        moving=tuple(each.member.called for each in moving),
        others=len(covered) - len(waiting) - len(moving),
        ahead={
            each.member.called: upgrade.version
            for each in covered
            for upgrade, _ in each.member.progress.under_way
            if can_be_taken_back(upgrade)
        },
    )


def _worlds(store: Store, now: Instant) -> Iterator[tuple[str, UpgradeWorld]]:
    """Every organisation as of its last recorded survey."""
    journal = UpgradeJournal(store, BrakeBook(store))
    for partition in journal.partitions():
        world = journal.world(partition, now)
        if world is not None:
            yield partition, world


def expedite_effect(store: Store, brakes: Brakes, now: Instant) -> ExpediteEffect:
    """What the expedites among these brakes change."""
    found = (
        _expedited(partition, world, brakes.expedites, now)
        for partition, world in _worlds(store, now)
    )
    return ExpediteEffect(items=tuple(each for each in found if each.starting or each.waiting))


def _expedited(
    partition: str, world: UpgradeWorld, more: tuple[Expedite, ...], now: Instant
) -> ExpeditedOrganisation:
    known = world.brakes
    every = msgspec.structs.replace(known, expedites=(*known.expedites, *more))
    before = {each.target for each in decide(world, now).actions}
    plan = decide(msgspec.structs.replace(world, brakes=every), now)
    starting: dict[str, str] = {}
    waiting: dict[str, str] = {}
    for option in plan.options:
        step, member = option.change, plan.members[option.target]
        reasons = {each.reason for each in option.verdicts}
        if not isinstance(step, UpgradeStep) or not reasons & _EXPEDITED:
            continue
        version = step.revision or ""
        if not any(is_like(version, each.version) for each in more):
            continue
        shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
        if not shut and member.cluster.uuid not in before:
            starting[member.called] = version
        elif shut and not member.progress.occupies:
            waiting.setdefault(member.called, sentence(shut[0]))
    for name in starting:
        waiting.pop(name, None)
    return ExpeditedOrganisation(partition=partition, starting=starting, waiting=waiting)
