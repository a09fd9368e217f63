"""`tidegate config view`: every setting, its value, and where it comes from."""

import click

from tidegate.app.configuration import setting_list, settings_file
from tidegate.cli.output import FORMATS, emit, emit_file, terminal_width
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command, LazyGroup
from tidegate.explain.table import layout
from tidegate.settings.setting_forms import Written
from tidegate.settings.setting_table import TABLE
from tidegate.settings.settings import Merged, shown

# On a narrow terminal a value is cut, but not below this.
VALUE_LEAST = 12

_COMMANDS = {"view": ("tidegate.cli.config:view", "Show every setting and where it comes from")}


@click.command(
    cls=LazyGroup,
    commands_by_name=_COMMANDS,
    examples="tidegate config view --show-origin",
)
def config() -> None:
    """Show the settings: flag > TIDEGATE_* > project file > user file > default."""


@click.command(
    cls=Command,
    examples="""
    tidegate config view                                  what is set to what
    tidegate config view --show-origin                    and where each comes from
    tidegate config view --show-origin --lease 1m         as a command with that flag sees it
    """,
)
@click.option("--show-origin", is_flag=True, help="Say where each value comes from.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@settings_options(*TABLE)
def view(merged: Merged, show_origin: bool, output: str) -> None:
    """Show every setting; secrets are not shown."""
    for warning in merged.warnings:
        click.echo(f"Warning: {warning}", err=True)
    if output != "table":
        if show_origin:
            emit(setting_list(merged), output)
        else:
            emit_file(settings_file(merged), output)
        return
    width = terminal_width()
    # Beside a long value, its origin must still be seen.
    most = max(VALUE_LEAST, width // 3) if width is not None and show_origin else None
    head: tuple[str, ...] = ("NAME", "VALUE", "ORIGIN") if show_origin else ("NAME", "VALUE")
    rows = []
    for name, value in merged.values.items():
        text = _text(shown(name, value))
        cut = most is not None and len(text) > most
        row = (name, f"{text[: most - 1]}…" if cut and most is not None else text)
        rows.append((*row, merged.origins[name].text()) if show_origin else row)
    for line in layout(head, rows, width):
        click.echo(line)


def _text(value: Written) -> str:
    return (", ".join(value) if isinstance(value, tuple) else str(value)) or "-"
