"""Somebody at a terminal is asked; a no is an answer, and no interruption."""

import click

from tidegate.cli.main import FAILURE


def agreed(question: str) -> None:
    """Go on only after a yes."""
    if not click.confirm(question, err=True):
        click.echo("nothing was changed", err=True)
        raise click.exceptions.Exit(FAILURE)
