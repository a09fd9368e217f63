"""One world an organisation, with the source it was read from and what could not be read.

Nothing is ever written. What could not be read is part of a reading: answers carry it.
"""

from collections.abc import Iterator, Sequence

import msgspec

from tidegate.app.documents import NotedDocument
from tidegate.explain.view import RequestRow
from tidegate.kinds.upgrades.core.legacy_plan import theirs
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import (
    OcmEnvironment,
    Registration,
    RuleSet,
    UpgradeService,
)
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.time import Instant


class FleetDocument(NotedDocument, frozen=True, kw_only=True):
    """An answer about clusters, with all that could not be read for it."""


class WorldReading(msgspec.Struct, frozen=True, kw_only=True):
    """One world, where it comes from, and how complete it is."""

    world: UpgradeWorld
    # The organisations that are managed, and by which rules.
    service: UpgradeService
    # The source, for people: an address, a file, a database.
    where: str
    # Earlier than the moment in question if it comes from a journal.
    read_at: Instant
    notes: tuple[str, ...] = ()
    # Labels that people requested and that are not written yet.
    requests: tuple[RequestRow, ...] = ()
    # Organisations that are taken to publish to it, because their labels cannot be seen.
    assumed: tuple[str, ...] = ()

    @property
    def now(self) -> Instant:
        """The moment in question."""
        return self.world.now

    def unread(self) -> Iterator[str]:
        """Clusters and organisations that were not read completely; the rules respect it, too."""
        world = self.world
        served = {each.id for each in world.orgs if each.registered}
        for each in world.clusters:
            if each.uuid in world.unread and each.org in served:
                yield f"cluster {each.name} could not be read: {world.unread[each.uuid]}"
        for org in world.orgs:
            if org.partial and org.registered:
                yield f"organisation {org.id} was not read completely: {org.partial}"

    @property
    def rules(self) -> RuleSet:
        """The rules its organisation is managed by."""
        return next((each.rules for each in self.service.organizations), RuleSet.STRICT)

    def plan(self, rules: RuleSet = RuleSet.STRICT) -> UpgradePlan:
        """What these rules decide."""
        plan = decide(self.world, self.world.now)
        if rules is RuleSet.STRICT:
            return plan
        return theirs(self.world, self.world.now, plan, self.agreement_plan()).plan

    def agreement_plan(self) -> UpgradePlan:
        """Which version gates are agreed to, by our rules."""
        return decide(msgspec.structs.replace(self.world, approver=True), self.world.now)


class FleetReading(msgspec.Struct, frozen=True):
    """Every world that was read, and why others could not be."""

    readings: tuple[WorldReading, ...]
    troubles: tuple[str, ...] = ()

    def only(self, *readings: WorldReading) -> "FleetReading":
        """The same, reduced to the worlds that an answer is about."""
        wanted = {id(each) for each in readings}
        return FleetReading(tuple(e for e in self.readings if id(e) in wanted), self.troubles)

    def errors(self) -> tuple[str, ...]:
        """All that could not be read."""
        return (*self.troubles, *(gap for each in self.readings for gap in each.unread()))

    def notes(self) -> tuple[str, ...]:
        """What else a reader should know, each note once."""
        return tuple(dict.fromkeys(note for each in self.readings for note in each.notes))

    def has_cluster(self, name: str) -> bool:
        """Whether a cluster has this name, external id or id; nothing is decided for that."""
        return any(
            name in (each.name, each.uuid, each.ident)
            for reading in self.readings
            for each in reading.world.clusters
        )


def legacy_notes(fleet: FleetReading) -> tuple[str, ...]:
    """Organisations that are managed by the predecessor's rules, though an answer shows ours."""
    return tuple(
        f"{each.id} is served by the rules of AUS; this is by ours"
        for reading in fleet.readings
        for each in reading.service.organizations
        if each.rules is RuleSet.COMPAT
    )


def narrowed(world: UpgradeWorld, orgs: Sequence[str]) -> UpgradeWorld:
    """The same world in which only some organisations are decided on; by id or name."""
    if not orgs:
        return world
    chosen = {_organisation_called(world, each) for each in orgs}
    return msgspec.structs.replace(
        world,
        orgs=tuple(
            each if each.id in chosen else msgspec.structs.replace(each, registered=False)
            for each in world.orgs
        ),
    )


def _organisation_called(world: UpgradeWorld, name: str) -> str:
    known = [each for each in world.orgs if each.registered]
    for each in known:
        if name in (each.id, each.name):
            return each.id
    raise unknown_organisation(name, [each.id for each in known])


def unknown_organisation(
    name: str, known: Sequence[str], none: str = "none", what: str = ""
) -> UserError:
    """The error for `--org` with a name that is not there."""
    message = f'no organisation "{name}"{what}'
    return UserError((Problem("--org", message, nearest_or_all(name, known, none)),))


def service_in(world: UpgradeWorld) -> UpgradeService:
    """The organisations that a world itself says are managed, where no list of them is kept."""
    served = [each for each in world.orgs if each.registered]
    names = dict.fromkeys(each.env for each in served)
    return UpgradeService(
        environments=tuple(OcmEnvironment(name=each, url="") for each in names),
        organizations=tuple(
            Registration(
                id=each.id,
                name=each.name,
                environment=each.env,
                health_checks=each.health_checks,
                disabled=each.disabled,
                quarantine_after=each.quarantine_after,
            )
            for each in served
        ),
    )
