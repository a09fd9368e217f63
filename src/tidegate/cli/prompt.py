"""Questions at a terminal; "no" is an answer, not an interruption."""

import sys

import click

from tidegate.cli.main import FAILURE

# What reaches so many is done without a question.
FREE = 5


def agreed(question: str) -> None:
    """Continue only after a yes."""
    if not click.confirm(question, err=True):
        click.echo("nothing was changed", err=True)
        raise click.exceptions.Exit(FAILURE)


def asked_about(question: str, reach: int, yes: bool, free: int = FREE) -> bool:
    """Whether the user was asked and agreed; not asked for few targets or without a terminal."""
    if reach <= free or yes or not sys.stdin.isatty():
        return False
    agreed(question)
    return True
