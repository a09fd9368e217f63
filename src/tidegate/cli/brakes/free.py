"""`tidegate free`: take a place of a budget or mutex back from a rollout that is gone."""

import click

from tidegate.cli.answers.place import AnswerPlace, answering, answers_option
from tidegate.cli.live import confirmed
from tidegate.cli.prompt import ALWAYS, FREE
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.cli.shape import Act
from tidegate.model.counted import counted
from tidegate.model.time import format_age, parse_instant


@click.command(
    cls=Act,
    examples="""
    tidegate get claims
    tidegate free mutex/db --reason "its rollout was deleted"
    tidegate free budget/eu-cap/eu --target prod-eu-1 --reason "taken out of service"
    """,
)
@click.argument("name")
@click.option("--target", help="Only the place that this target holds.")
@click.option("--reason", required=True, help="Why; kept in the journal.")
@click.option("--force", is_flag=True, help="Release it even if a rollout still uses it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answers_option
def free(
    name: str, target: str | None, reason: str, force: bool, yes: bool, place: AnswerPlace
) -> None:
    """Release budgets and mutexes of a removed rollout; other rollouts release their own.

    Refused while the target has changed and not yet soaked, according to the journal.
    """
    with answering(place, writes=True) as answers:
        ready = answers.prepare_free(name, target, reason, force=force)
        release = ready.release
        for each in release.items:
            age = format_age(answers.now - parse_instant(each.since))
            click.echo(f"{each.name}: {each.target} of {each.rollout}, for {age}", err=True)
        used = sum(each.in_use for each in release.items)
        what = f"frees {counted(len(release.items), 'place')} of {name}: others may start"
        if used:
            what += f", though {counted(used, 'target')} may still be changing"
        confirmed(what, len(release.items), yes, ALWAYS if used else FREE)
        ready.record()
        click.echo(f"freed {name}")
        tell_unattended(answers.workers())
