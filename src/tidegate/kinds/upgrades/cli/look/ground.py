"""What commands on upgrades share: one world an environment to look at, and where it comes from.

Nothing is ever written. What could not be read is told, and is part of the ground.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from tidegate.cli.main import FAILURE
from tidegate.documents.files import located
from tidegate.kinds.upgrades.cli.look.flags import Asked, moment
from tidegate.kinds.upgrades.core.legacy_plan import theirs
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import Environment, Registration, Rules, Service
from tidegate.kinds.upgrades.core.world import World
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.errors import UserError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant

if TYPE_CHECKING:
    from tidegate.documents.strict_yaml import Document


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """One world to look at, and how far it can be relied on."""

    world: World
    # Who is served by which rules; for a tenant or a file, what follows from those.
    service: Service
    # Where it comes from, for people.
    where: str
    # When it was read; older than its moment if it comes from a journal.
    read_at: Instant
    # What else there is to know of it, a line each.
    notes: tuple[str, ...] = ()

    @property
    def now(self) -> Instant:
        """The moment it is looked at."""
        return self.world.now

    @property
    def whole(self) -> bool:
        """Whether everything could be read."""
        return not any(True for _ in self.unread())

    def unread(self) -> Iterator[str]:
        """Clusters and organisations that were not read whole; the rules heed it, too."""
        world = self.world
        served = {each.id for each in world.orgs if each.registered}
        for each in world.clusters:
            if each.uuid in world.unread and each.org in served:
                yield f"cluster {each.name} could not be read: {world.unread[each.uuid]}"
        for org in world.orgs:
            if org.partial and org.registered:
                yield f"organisation {org.id} was not read as a whole: {org.partial}"

    @property
    def rules(self) -> Rules:
        """By which rules its organisation is served."""
        return next((each.rules for each in self.service.organizations), Rules.STRICT)

    def plan(self, rules: Rules = Rules.STRICT) -> UpgradePlan:
        """What is decided on it."""
        plan = decide(self.world, self.world.now)
        if rules is Rules.STRICT:
            return plan
        return theirs(self.world, self.world.now, plan, self.agreeing()).plan

    def agreeing(self) -> UpgradePlan:
        """Which version gates are agreed to, by our rules."""
        return decide(msgspec.structs.replace(self.world, approver=True), self.world.now)


class Looked(msgspec.Struct, frozen=True):
    """All there is to look at, one ground an organisation; and why some could not be read."""

    grounds: tuple[Ground, ...]
    troubles: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether everything could be read."""
        return not self.troubles and all(each.whole for each in self.grounds)

    def only(self, *grounds: Ground) -> "Looked":
        """The same, of which only some grounds matter."""
        wanted = {id(each) for each in grounds}
        return Looked(tuple(e for e in self.grounds if id(e) in wanted), self.troubles)

    def tell(self) -> None:
        """What could not be read, and what else there is to know; on stderr."""
        for trouble in self.troubles:
            click.echo(f"Error: {trouble}", err=True)
        for gap in (gap for each in self.grounds for gap in each.unread()):
            click.echo(f"Error: {gap}", err=True)
        for note in dict.fromkeys(note for each in self.grounds for note in each.notes):
            click.echo(f"note: {note}", err=True)

    def end(self) -> None:
        """Exit 1 if something could not be read."""
        if not self.whole:
            raise click.exceptions.Exit(FAILURE)


def of_document(document: "Document", asked: Asked) -> Ground:
    """The world in a document, as `tidegate decide upgrades` reads one."""
    try:
        read = read_upgrades(document.data)
    except UserError as error:
        raise located(document, error) from None
    now = moment(asked.at, read.world.now)
    read_at = min(read.world.now, now)
    world = msgspec.structs.replace(read.world, now=now, read_at=read_at)
    return Ground(
        world=narrowed(world, asked.orgs),
        service=_made_up(world),
        where=document.name,
        read_at=read_at,
        notes=read.warnings,
    )


def narrowed(world: World, orgs: Sequence[str]) -> World:
    """The same world in which only some organisations are decided on; by id or name."""
    if not orgs:
        return world
    chosen = {_org_called(world, each) for each in orgs}
    return msgspec.structs.replace(
        world,
        orgs=tuple(
            each if each.id in chosen else msgspec.structs.replace(each, registered=False)
            for each in world.orgs
        ),
    )


def _org_called(world: World, name: str) -> str:
    known = [each for each in world.orgs if each.registered]
    for each in known:
        if name in (each.id, each.name):
            return each.id
    hint = nearest_or_all(name, [each.id for each in known], "none")
    raise click.UsageError(f'--org: no organisation "{name}"; {hint}')


def _made_up(world: World) -> Service:
    """Who is served where nobody keeps a list: whoever the world says is registered."""
    served = [each for each in world.orgs if each.registered]
    names = dict.fromkeys(each.env for each in served)
    return Service(
        environments=tuple(Environment(name=each, url="") for each in names),
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
