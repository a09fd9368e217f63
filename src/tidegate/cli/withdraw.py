"""`tidegate withdraw`: a change that was requested of a service is not wanted any more."""

import click

from tidegate.cli.answers.place import AnswerPlace, answering, answers_option
from tidegate.cli.live import confirmed
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.cli.shape import Act
from tidegate.explain.names import ranged


@click.command(
    cls=Act,
    examples="""
    tidegate show promotions/jenkins                what is requested of it
    tidegate withdraw promotions/jenkins r5f0c21a9 --reason "the fix is in main"
    tidegate withdraw upgrades/prod/o-payments r1b2c3d4
    """,
)
@click.argument("name")
@click.argument("request")
@click.option("--reason", default="", help="Why; kept in the journal.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answers_option
def withdraw(name: str, request: str, reason: str, yes: bool, place: AnswerPlace) -> None:
    """Withdraw a change that was requested, such as a version or a label.

    NAME is a rollout of any kind, and REQUEST an id that `show NAME` lists. What was done of it
    already stays.
    """
    with answering(place, writes=True) as answers:
        ready = answers.prepare_withdrawal(name, request, reason)
        report = ready.report
        wanted = report.request
        about = f" for {ranged(wanted.targets, None)}" if wanted.targets else ""
        click.echo(f"{wanted.id}: {wanted.change}{about}, requested by {wanted.by}", err=True)
        moved = report.leads_to.moved
        confirmed(f"withdraws {wanted.id}", moved, yes)
        ready.record()
    click.echo(f"withdrew {wanted.id} of {report.rollout}")
    tell_unattended([report.worker])
