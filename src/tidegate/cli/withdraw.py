"""`tidegate withdraw`: a change that was requested of a service is not wanted any more."""

import click

from tidegate.app.text.request_text import withdrawal_lines, withdrawn_line
from tidegate.cli.answers.place import AnswerPlace, answering, answers_option
from tidegate.cli.live import confirmed
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.cli.shape import Act


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
        *what, follows = withdrawal_lines(report)
        for line in what:
            click.echo(line, err=True)
        confirmed(follows, report.leads_to.moved, yes)
        ready.record()
    click.echo(withdrawn_line(report))
    tell_unattended([report.worker])
