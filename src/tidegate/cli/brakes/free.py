"""`tidegate free`: take a place of a budget or mutex back from a rollout that is gone."""

import click

from tidegate.app.journals import Journals
from tidegate.app.journals import target_of as target_row
from tidegate.cli.live import confirmed, journals, opened, signed
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.journal.brake_state import PARTITION
from tidegate.journal.facts import Lifted
from tidegate.journal.keys import target_of
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import format_age
from tidegate.store.port import Store, TakenPlace
from tidegate.wiring import clock

_IN_USE = frozenset(("Updating", "Soaking"))


@click.command(
    cls=Command,
    examples="""
    tidegate get claims
    tidegate free mutex/db --reason "its rollout was deleted"
    tidegate free budget/eu-cap/eu --target prod-eu-1 --reason "taken out of service"
    """,
)
@click.argument("name")
@click.option("--target", help="Only the place this target has.")
@click.option("--reason", required=True, help="Why; kept in the journal.")
@click.option("--force", is_flag=True, help="Even if a rollout still uses it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_option
def free(name: str, target: str | None, reason: str, force: bool, yes: bool, database: str) -> None:
    """Release budgets and mutexes of a removed rollout; other rollouts release their own.

    Refused while the target has changed and not yet soaked, according to the journal.
    """
    with opened(database, writes=True) as store:
        now = clock().now()
        found = _find(store, name, target)
        for claim in found:
            target, age = target_of(claim.partition, claim.key), format_age(now - claim.at)
            click.echo(f"{claim.name}: {target} of {claim.partition}, for {age}", err=True)
        known = journals(store, now)
        used = [claim for claim in found if _is_used(known, claim)]
        if used and not force:
            targets = ", ".join(target_of(claim.partition, claim.key) for claim in used)
            raise click.UsageError(f"still in use by {targets}; wait, or use --force if it is gone")
        confirmed(f"{len(found)} to be freed", len(found), yes)
        fact = Lifted(brake="claim", name=name, reason=reason)
        frees = sorted({claim.key for claim in found})
        store.append(PARTITION, [signed(fact, now)], frees=frees)
    click.echo(f"freed {name}")


def _find(store: Store, name: str, target: str | None) -> list[TakenPlace]:
    every = store.claims()
    found = [
        claim
        for claim in every
        if claim.name == name and target in (None, target_of(claim.partition, claim.key))
    ]
    if not found:
        names = sorted({claim.name for claim in every})
        raise click.UsageError(f'no claim on "{name}"; {nearest_or_all(name, names)}')
    return found


def _is_used(known: Journals, claim: TakenPlace) -> bool:
    """Whether the target of a claim is being changed, as far as the journal shows."""
    if claim.partition not in known.names():
        return False
    one = known.read(claim.partition)
    row = None if one is None else target_row(one.view, target_of(claim.partition, claim.key))
    return row is not None and row.state in _IN_USE
