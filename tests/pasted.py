"""Command lines as people paste them from a page: split like a shell, checked against the commands.

Nothing is run: the words must lead to a command, its options must exist, and each has its value.
"""

import re
import shlex
from collections.abc import Iterator

import click

from tidegate.cli.main import cli
from tidegate.cli.shape import Worded, context_below

_SEPARATORS = frozenset({"|", "||", "&&", "&", ";", "(", ")", ">", ">>", "<", "<<<", "<("})
_ASSIGNMENT = re.compile(r"^[A-Z_]+=")


def calls(line: str) -> Iterator[list[str]]:
    """The arguments of every `tidegate` on a line; comments and other programs are left out."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    part: list[str] = []
    for word in (*lexer, ";"):
        if word not in _SEPARATORS:
            part.append(word)
            continue
        while part and _ASSIGNMENT.match(part[0]):
            part.pop(0)
        if part[:1] == ["tidegate"] or part[:1] == [".venv/bin/tidegate"]:
            yield part[1:]
        part = []


def mistake(args: list[str]) -> str:
    """What is wrong with the arguments of `tidegate`; empty where nothing is."""
    context = click.Context(cli, info_name="tidegate", **cli.context_settings)
    rest = args
    while True:
        command = context.command
        if isinstance(command, Worded) and rest and rest[0] in command.words:
            below = context_below(context, rest.pop(0))
            assert below is not None
            context = below
            continue
        try:
            _, rest, _ = command.make_parser(context).parse_args(list(rest))
        except click.UsageError as error:
            return f"{context.command_path}: {error.format_message()}"
        if not isinstance(command, click.Group) or not rest:
            break
        found = context_below(context, rest[0])
        if found is None:
            return f"{context.command_path}: no command {rest[0]}"
        context, rest = found, rest[1:]
    return f"{context.command_path}: too many words: {rest}" if rest else ""


def lines_of(block: str) -> Iterator[str]:
    """The command lines of a block, with continued lines joined."""
    for line in block.replace("\\\n", " ").splitlines():
        if re.match(r"^(\$ )?([A-Z_]+=\S+ )*(\.venv/bin/)?tidegate ", line.strip()):
            yield line.strip().removeprefix("$ ")
