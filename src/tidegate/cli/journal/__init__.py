"""`tidegate journal`: what is remembered, shown, verified, moved and kept small."""

import click

from tidegate.cli.shape import LazyGroup

_COMMANDS = {
    "show": ("tidegate.cli.journal.show:show", "Show entries: what, by which actor, when"),
    "verify": ("tidegate.cli.journal.verify:verify", "Check that nothing was changed or lost"),
    "export": ("tidegate.cli.journal.transfer:export", "Write the journal as JSON lines"),
    "import": ("tidegate.cli.journal.transfer:import_", "Read an export, or a backup"),
    "backup": ("tidegate.cli.journal.transfer:backup", "Copy the file of a journal in use"),
    "compact": ("tidegate.cli.journal.compact:compact", "Drop old entries, keep the state"),
}


@click.command(
    cls=LazyGroup,
    commands_by_name=_COMMANDS,
    examples="""
    tidegate journal show --since 2h --target prod-eu-1
    tidegate journal verify
    tidegate journal export > journal.jsonl
    """,
)
def journal() -> None:
    """The journal: everything that was declared, observed, asked, decided and done."""
