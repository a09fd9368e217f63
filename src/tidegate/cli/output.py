"""What goes to stdout: data as JSON or YAML, tables cut to the terminal, colour where wanted."""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

import click
import msgspec

from tidegate.model.document import Document, Part
from tidegate.model.json_text import decode_json

FORMATS = ("table", "json", "yaml")

_BY_WORD = {
    "Waiting": "bright_black",
    "Updating": "blue",
    "Progressing": "blue",
    "Soaking": "yellow",
    "Paused": "yellow",
    "Done": "green",
    "Succeeded": "green",
    "Failed": "red",
    "Aborted": "red",
    "No answer": "red",
    "▶": "blue",
    "◔": "yellow",
    "↩": "magenta",
    "■": "red",
    "✓": "green",
    "…": "yellow",
    "✗": "red",
}


def emit(document: Document, output: str) -> None:
    """Write a document as JSON or YAML: exactly what the API returns."""
    _write(msgspec.json.encode(document), output)


def emit_item(item: Part, output: str) -> None:
    """Write one item of a document that comes bit by bit: a line of JSON, or a YAML document."""
    encoded = msgspec.json.encode(item)
    if output == "json":
        click.echo(encoded)
        return
    click.echo("---")
    click.echo(as_yaml(decode_json(encoded)), nl=False)


def emit_file(data: Mapping[str, Any], output: str) -> None:
    """Write a file of another format, to be read again as it is: settings, soak of AUS."""
    _write(msgspec.json.encode(data), output)


def _write(encoded: bytes, output: str) -> None:
    if output == "json":
        click.echo(msgspec.json.format(encoded, indent=2))
    else:
        click.echo(as_yaml(decode_json(encoded)), nl=False)


def as_yaml(plain: Any) -> str:
    """Plain data as YAML that we read again as the same: a text that looks like more is quoted."""
    import yaml

    from tidegate.documents.strict_yaml import meaning

    class Dumper(yaml.SafeDumper):
        """Quotes what readers of YAML do not agree on, as a short commit like 12e4567."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = None if value and meaning(value) == (value, "", "") else "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


def again(watch: bool, every_s: float) -> Iterator[None]:
    """Once; or, with --watch, again and again."""
    yield
    while watch:
        time.sleep(every_s)
        yield


def wants_colour(choice: str, out: TextIO | None = None) -> bool:
    """Whether stdout, or another stream, gets colour: the flag, NO_COLOR, FORCE_COLOR, terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0" or os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return _is_terminal(out or sys.stdout)


def terminal_width() -> int | None:
    """How wide the terminal is; None where there is none, and nothing needs to be cut."""
    if not _is_terminal(sys.stdout) and "COLUMNS" not in os.environ:
        return None
    return shutil.get_terminal_size().columns


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; None where the caller closed it."""
    return stream is not None and stream.isatty()


def say(line: str, colour: bool) -> None:
    """Print a line with its state words and marks in colour; the words stay, colour only helps."""
    if colour:
        for word, name in _BY_WORD.items():
            line = line.replace(word, click.style(word, fg=name))
    click.echo(line, color=colour)


def hung(text: str, indent: int, width: int | None) -> Iterator[str]:
    """A line whose further lines begin where its last column does; nothing is cut."""
    if width is None or len(text) <= width:
        yield text.rstrip()
        return
    from textwrap import wrap

    head, rest = text[:indent], text[indent:]
    for at, line in enumerate(wrap(rest, width - indent, break_on_hyphens=False)):
        yield f"{head if not at else ' ' * indent}{line}"
