"""`tidegate version`."""

import platform

import click

from tidegate import __version__
from tidegate.app.configuration import VersionReport
from tidegate.cli.output import FORMATS, emit
from tidegate.cli.shape import Command


@click.command(cls=Command, examples="tidegate version -o json")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def version(output: str) -> None:
    """Print the version."""
    if output == "table":
        click.echo(f"tidegate {__version__}")
    else:
        emit(VersionReport(version=__version__, python=platform.python_version()), output)
