"""Questions at a terminal; "no" is an answer, not an interruption."""

import sys

import click

from tidegate.cli.main import FAILURE

# What reaches so many is done without a question.
FREE = 5
# What is asked about, however little it reaches.
ALWAYS = -1


def agreed(question: str) -> None:
    """Continue only after a yes."""
    if not click.confirm(question, err=True):
        click.echo("nothing was changed", err=True)
        raise click.exceptions.Exit(FAILURE)


def is_interactive() -> bool:
    """Whether a person can answer."""
    return sys.stdin.isatty()


def sure(question: str, yes: bool) -> None:
    """Ask before going on; without a terminal, `--yes` is required."""
    if yes:
        return
    if not is_interactive():
        raise click.UsageError(f"{question} There is no terminal to ask; write --yes")
    agreed(question)


def asked_about(
    question: str, reach: int, yes: bool, free: int = FREE, *, stops: bool = False
) -> bool:
    """Whether the user was asked and agreed; for few targets nothing is asked.

    Without a terminal `--yes` is required, but by what `stops` things: a brake that a script sets
    in an emergency must not fail for want of an answer.
    """
    if reach <= free or yes or (stops and not is_interactive()):
        return False
    sure(question, yes)
    return True
