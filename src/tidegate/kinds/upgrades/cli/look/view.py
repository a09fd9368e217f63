"""What is looked at, decided on: where every cluster stands, to be found by any of its names."""

from collections.abc import Sequence

import click
import msgspec

from tidegate.kinds.upgrades.cli.look.ground import Ground, Looked
from tidegate.kinds.upgrades.core.explain.stand import Stand, stands
from tidegate.kinds.upgrades.core.explain.table import by_fleet
from tidegate.kinds.upgrades.core.rules.fleet import Fleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import PARTITION, Rules
from tidegate.model.problem import nearest, nearest_or_all
from tidegate.model.target import bare
from tidegate.model.time import Instant

# An answer names this many; more would not fit on a line.
NAMES_MAX = 8


class View(msgspec.Struct, frozen=True):
    """One ground and what is decided on it."""

    ground: Ground
    plan: UpgradePlan
    stands: tuple[Stand, ...]

    def since(self, stand: Stand) -> Instant | None:
        """Since when a cluster has its version, at least; None: nobody knows."""
        ledger = self.plan.ledgers.get(stand.fleet.key)
        sight = ledger.sights.get(stand.member.cluster.uuid) if ledger is not None else None
        return sight.since if sight is not None else None

    def by_fleet(self) -> list[tuple[Fleet, list[Stand]]]:
        """Its clusters by organisation."""
        return by_fleet(self.plan, self.stands)


def views(looked: Looked, mode: str | None = None) -> list[View]:
    """Every ground decided on: by the rules its organisation is served by, or by others."""
    found = []
    for ground in looked.grounds:
        plan = ground.plan(Rules(mode) if mode else ground.rules)
        found.append(View(ground, plan, tuple(stands(plan))))
    return found


def tell_rules(some: Sequence[View], mode: str | None) -> None:
    """Whose rules decided, where they are not ours and nobody asked for them."""
    for view in some if mode is None else ():
        if view.ground.rules is Rules.COMPAT:
            names = ", ".join(each.id for each in view.ground.service.organizations)
            what = f"{names}: served by the existing service's rules, which say little"
            click.echo(f"note: {what}; --mode strict shows what ours would say", err=True)


def called(some: Sequence[View], name: str) -> list[tuple[View, Stand]]:
    """The clusters of a name, an external id or an id."""
    wanted = bare(name)
    return [
        (view, stand)
        for view in some
        for stand in view.stands
        if wanted
        in (stand.member.cluster.name, stand.member.cluster.uuid, stand.member.cluster.ident)
    ]


def the_cluster(some: Sequence[View], name: str) -> tuple[View, Stand]:
    """The one cluster of a name; who else is meant is said where it is not one."""
    found = called(some, name)
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(
            f"{stand.member.cluster.uuid} ({stand.fleet.key})" for _, stand in found[:NAMES_MAX]
        )
        more = f" and {len(found) - NAMES_MAX} more" if len(found) > NAMES_MAX else ""
        what = f'{len(found)} clusters are called "{bare(name)}"'
        raise click.UsageError(f"{what}; name one by its external id: {ids}{more}")
    raise click.UsageError(f'no cluster "{bare(name)}"; {_hint(some, name)}')


def _hint(some: Sequence[View], name: str) -> str:
    names = {stand.member.cluster.name for view in some for stand in view.stands}
    if not names:
        return "nobody who is served has a cluster with labels"
    return nearest(bare(name), names) or f"`tidegate get clusters` lists all {len(names)}"


def the_organisation(some: Sequence[View], name: str) -> tuple[View, Fleet, list[Stand]]:
    """The organisation of a journal's name: upgrades/prod/o-payments."""
    wanted = name.removeprefix(f"{PARTITION}/")
    every = [(view, *pair) for view in some for pair in view.by_fleet()]
    for view, fleet, mine in every:
        if wanted in (fleet.key, fleet.org.id, fleet.org.name):
            return view, fleet, mine
    known = [f"{PARTITION}/{fleet.key}" for _, fleet, _ in every]
    raise click.UsageError(f'no organisation "{wanted}"; {nearest_or_all(name, known, "none")}')
