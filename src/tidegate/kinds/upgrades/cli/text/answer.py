"""What every answer about clusters ends with: errors and notes on stderr, and the exit code."""

import click

from tidegate.cli.main import FAILURE
from tidegate.kinds.upgrades.app.read.world import FleetDocument


def report_gaps(document: FleetDocument) -> None:
    """Print what could not be read, and what else a reader should know, on stderr."""
    for error in document.errors:
        click.echo(f"Error: {error}", err=True)
    for note in document.notes:
        click.echo(f"note: {note}", err=True)


def finish(document: FleetDocument) -> None:
    """Print gaps and notes; exit 1 if something could not be read."""
    report_gaps(document)
    if document.errors:
        raise click.exceptions.Exit(FAILURE)
