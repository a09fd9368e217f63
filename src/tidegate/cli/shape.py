"""The shape every command shares: examples first, quick help, the nearest name, exit codes.

Commands are listed here by name and loaded when they are called, so that `--help` and completion
import nothing they do not show.
"""

import importlib
from typing import Any

import click


class Command(click.Command):
    """A command whose help starts with examples."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        self.examples = examples
        super().__init__(*args, **kwargs)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples, then usage, text and options."""
        _write_examples(formatter, self.examples)
        super().format_help(ctx, formatter)


class Worded(Command):
    """A command about a file, some of whose first words mean another command: `simulate ocm`.

    A file that is called like such a word is written `./ocm`.
    """

    def __init__(self, *args: Any, words: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        # Word to (where its command is, its one line of help).
        self.words = words
        super().__init__(*args, **kwargs)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """The context of what is meant."""
        if args and args[0] in self.words:
            word, *rest = args
            return self.command_of(word).make_context(f"{info_name} {word}", rest, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def command_of(self, word: str) -> click.Command:
        """The command a word means."""
        return _loaded(self.words[word][0])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options, then the words."""
        super().format_options(ctx, formatter)
        with formatter.section("Words in place of a file"):
            formatter.write_dl([(word, line) for word, (_, line) in self.words.items()])


class LazyGroup(click.Group):
    """A group that knows its commands by name and one line, and loads one when it is called."""

    def __init__(
        self,
        *args: Any,
        commands_by_name: dict[str, tuple[str, str]],
        examples: str = "",
        **kwargs: Any,
    ) -> None:
        # Name to (where the command is, its one line of help).
        self._lazy = commands_by_name
        self.examples = examples
        super().__init__(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order in which people need them."""
        return list(self._lazy)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Load one command."""
        if cmd_name not in self._lazy:
            return None
        return _loaded(self._lazy[cmd_name][0])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was meant."""
        name = args[0] if args else ""
        if name and name not in self._lazy and not name.startswith("-"):
            from tidegate.model.problem import nearest_or_all

            hint = nearest_or_all(name, self._lazy)
            raise click.UsageError(f'no command "{name}"; {hint}', ctx)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples, then usage, text, options and commands."""
        _write_examples(formatter, self.examples)
        super().format_help(ctx, formatter)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """The list of commands, from their one-liners alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._lazy.items()])


def _loaded(where: str) -> click.Command:
    module, _, attribute = where.partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    return command


def _write_examples(formatter: click.HelpFormatter, examples: str) -> None:
    if examples:
        with formatter.section("Examples"):
            for line in examples.strip().splitlines():
                formatter.write(f"  {line.strip()}\n")
        formatter.write_paragraph()
