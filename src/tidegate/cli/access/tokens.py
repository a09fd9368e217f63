"""`tidegate token`: API tokens of a service, created, listed and revoked."""

import click

from tidegate.access.roles import Role
from tidegate.app.access.tokens import TokenRequest
from tidegate.cli.access.answers import access_answers
from tidegate.cli.answers.place import AnswerPlace, answers_option
from tidegate.cli.moment import ahead
from tidegate.cli.output import emit, terminal_width
from tidegate.cli.shape import Act, Command, LazyGroup
from tidegate.explain.table import layout
from tidegate.wiring import clock

FORMATS = ("table", "json", "yaml")


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "create": ("tidegate.cli.access.tokens:create", "Create a token; it is shown once"),
        "list": ("tidegate.cli.access.tokens:list_tokens", "List tokens, and what they may"),
        "revoke": ("tidegate.cli.access.tokens:revoke", "Revoke a token"),
    },
    examples="""
    tidegate token create ci --role viewer --expires 90d --reason "dashboards"
    tidegate token list
    tidegate token revoke ci --reason "leaked"
    """,
)
def token() -> None:
    """Create, list and revoke the API tokens of a service."""


@click.command(
    cls=Act,
    examples="""
    tidegate token create ci --role viewer --expires 90d --reason "dashboards"
    tidegate token create pay --role operator --org o-payments --env prod --reason "owners"
    """,
)
@click.argument("name")
@click.option(
    "--role",
    required=True,
    type=click.Choice([each.value for each in Role]),
    help="What the token may do.",
)
@click.option("--kind", "kinds", multiple=True, help="Only of this kind; repeatable.")
@click.option("--rollout", "rollouts", multiple=True, help="Only rollouts like this; repeatable.")
@click.option("--org", "organisations", multiple=True, help="Only this organisation; repeatable.")
@click.option("--env", "environments", multiple=True, help="Only this environment; repeatable.")
@click.option("--group", "groups", multiple=True, help="Only groups like this; repeatable.")
@click.option("-l", "--selector", default="", help="Only targets with these labels: sector=eu.")
@click.option("--expires", metavar="WHEN", help="When the token expires: 90d, or a time.")
@click.option("--reason", required=True, help="What it is for; kept in the journal.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@answers_option
def create(
    name: str,
    role: str,
    kinds: tuple[str, ...],
    rollouts: tuple[str, ...],
    organisations: tuple[str, ...],
    environments: tuple[str, ...],
    groups: tuple[str, ...],
    selector: str,
    expires: str | None,
    reason: str,
    output: str,
    place: AnswerPlace,
) -> None:
    """Create a token; it is printed once, and only its hash is kept."""
    request = TokenRequest(
        name=name,
        role=Role(role),
        kinds=kinds,
        rollouts=rollouts,
        organisations=organisations,
        environments=environments,
        groups=groups,
        selector=selector,
        expires_at=ahead("--expires", expires, clock().now()) if expires else None,
        reason=reason,
    )
    with access_answers(place, writes=True) as answers:
        found = answers.create_token(request)
    if output == "table":
        click.echo(found.token)
        click.echo("it is not shown again; only its hash is kept", err=True)
    else:
        emit(found, output)


@click.command(cls=Command, examples="tidegate token list")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@answers_option
def list_tokens(output: str, place: AnswerPlace) -> None:
    """List tokens, what they may, and until when."""
    with access_answers(place) as answers:
        found = answers.tokens()
    if output != "table":
        emit(found, output)
        return
    rows = []
    for each in found.items:
        state = "revoked" if each.revoked_at else "works" if each.works else "expired"
        limits = (*each.kinds, *each.rollouts, *each.organisations, *each.environments)
        scope = ", ".join(filter(None, (*limits, *each.groups, each.selector))) or "everything"
        row = (each.name, each.role, scope, state, each.expires_at or "-", each.created_by)
        rows.append(row)
    head = ("NAME", "ROLE", "FOR", "STATE", "EXPIRES", "CREATED BY")
    for line in layout(head, rows, terminal_width()):
        click.echo(line)


@click.command(cls=Act, examples='tidegate token revoke ci --reason "leaked"')
@click.argument("name")
@click.option("--reason", required=True, help="Why; kept in the journal.")
@answers_option
def revoke(name: str, reason: str, place: AnswerPlace) -> None:
    """Revoke a token: from now on it is refused."""
    with access_answers(place, writes=True) as answers:
        answers.revoke_token(name, reason)
    click.echo(f"revoked token {name}")
