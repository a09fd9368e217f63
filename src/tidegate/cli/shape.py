"""The shape every command shares: the order of its help, quick start, the nearest name.

Help is usage, description, examples, options. Commands are listed by name and loaded when they are
called, so that `--help` and completion import nothing they do not show.
"""

import importlib
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

Table = dict[str, tuple[str, str]]
"""Name of a command to (where it is defined, its one line of help)."""

# What parts the command of an example from its explanation.
_GAP = re.compile(r"(?<=\S) {2,}(?=[^ #])")

# More names than this do not fit into the line of an error.
LISTED_MAX = 12


class Command(click.Command):
    """A command whose help has examples, and that suggests the nearest option."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        self.examples = examples
        super().__init__(*args, **kwargs)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The description, then the examples."""
        super().format_help_text(ctx, formatter)
        _write_examples(formatter, self.examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an unknown option is answered with the nearest one."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _unknown_option(error, ctx) from None


class Act(Command):
    """A command that records what a person asks for: nothing of it may be left empty.

    `--expires "$UNTIL"` with a variable that is not set must not mean "without an end".
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; UsageError for one that is given and empty."""
        rest = super().parse_args(ctx, args)
        for param in self.get_params(ctx):
            given = ctx.params.get(param.name or "")
            if ctx.get_parameter_source(param.name or "") is not ParameterSource.COMMANDLINE:
                continue
            for value in given if isinstance(given, tuple) else (given,):
                if isinstance(value, str) and not value.strip():
                    name = (
                        param.opts[0]
                        if isinstance(param, click.Option)
                        else param.human_readable_name
                    )
                    raise click.UsageError(f"{name}: is empty; write what is meant", ctx)
        return rest


class Worded(Command):
    """A command about a file, some of whose first words mean another command: `simulate ocm`.

    A file that is called like such a word is written `./ocm`.
    """

    def __init__(self, *args: Any, words: Table, **kwargs: Any) -> None:
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
    """A group that knows its commands by name and one line, and loads one when it is called.

    `sections` groups the names under headings. `aliases` are former spellings: they work, but are
    not listed; each maps to the words that replace it. `elsewhere` are the words of other tools:
    they do not work, and are answered with ours.
    """

    def __init__(
        self,
        *args: Any,
        commands_by_name: Table,
        sections: Mapping[str, Iterable[str]] | None = None,
        aliases: Mapping[str, tuple[str, ...]] | None = None,
        elsewhere: Mapping[str, str] | None = None,
        examples: str = "",
        **kwargs: Any,
    ) -> None:
        self._lazy = commands_by_name
        self.sections = {
            title: tuple(names)
            for title, names in (sections or {"Commands": commands_by_name}).items()
        }
        self.aliases = dict(aliases or {})
        self.elsewhere = dict(elsewhere or {})
        self.examples = examples
        super().__init__(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order of the sections."""
        return [name for names in self.sections.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command, by its name or its former spelling."""
        if cmd_name in self._lazy:
            return _loaded(self._lazy[cmd_name][0])
        if cmd_name in self.aliases:
            *groups, name = self.aliases[cmd_name]
            group = self
            for each in groups:
                found = group.get_command(ctx, each)
                assert isinstance(found, LazyGroup)
                group = found
            return group.get_command(ctx, name)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the nearest one."""
        name = args[0] if args else ""
        if name and not self._knows(name) and not name.startswith("-"):
            raise click.UsageError(f'no command "{name}"; {self.suggestion(ctx, name)}', ctx)
        return super().resolve_command(ctx, args)

    def suggestion(self, ctx: click.Context, name: str) -> str:
        """What to type instead of an unknown name: what means it here, the nearest, or a list."""
        if name in self.elsewhere:
            return f'did you mean "{self.elsewhere[name]}"?'
        close = nearest_name(name, [*self._lazy, *self.aliases])
        if close:
            return f'did you mean "{" ".join(self.aliases.get(close, (close,)))}"?'
        if len(self._lazy) > LISTED_MAX:
            return f"`{ctx.command_path} --help` lists the commands"
        return f"there are {', '.join(self.list_commands(ctx))}"

    def _knows(self, name: str) -> bool:
        return name in self._lazy or name in self.aliases

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an unknown option is answered with the nearest one."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _unknown_option(error, ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names and options that begin like this; no command is loaded for it."""
        offered = [
            CompletionItem(name, help=self._lazy[name][1])
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return [*offered, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The description, then the examples."""
        super().format_help_text(ctx, formatter)
        _write_examples(formatter, self.examples)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """The commands by section, from their one-liners alone, in one column for all sections."""
        width = max(len(name) for name in self._lazy)
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), self._lazy[name][1]) for name in names])


def context_below(context: click.Context, word: str) -> click.Context | None:
    """The context of the command that a word means below this one; None where it means none."""
    command, parent, name = None, context, word
    if isinstance(context.command, Worded):
        command = context.command.command_of(word) if word in context.command.words else None
        parent, name = context.parent or context, f"{context.info_name} {word}"
    elif isinstance(context.command, click.Group):
        command = context.command.get_command(context, word)
    if command is None:
        return None
    return click.Context(command, parent, name, **command.context_settings)


def words_of(ctx: click.Context) -> str:
    """The words of a command behind the name of the program: `journal export`."""
    return ctx.command_path.removeprefix(ctx.find_root().command_path).strip()


def nearest_name(name: str, choices: Iterable[str]) -> str:
    """The choice that is spelt most like the name; empty where none is close."""
    from tidegate.model.problem import closest

    return closest(name, choices)


# The options of commands that ask a service.
SERVICE_OPTIONS = ("--server", "--server-token")


def _unknown_option(error: click.NoSuchOption, ctx: click.Context) -> click.UsageError:
    """The option that was typed, and the nearest one of this command."""
    if error.option_name in SERVICE_OPTIONS:
        from tidegate.cli.answers.local_table import local_reason

        if why := local_reason(words_of(ctx)):
            what = f"no option {error.option_name}: this command asks no service"
            return click.UsageError(f"{what}; it {why}", ctx)
    # Compared without their dashes, which every option has: two short ones would look alike.
    known = {
        name.lstrip("-"): name
        for param in ctx.command.get_params(ctx)
        if isinstance(param, click.Option) and not param.hidden
        for name in (*param.opts, *param.secondary_opts)
    }
    if close := nearest_name(error.option_name.lstrip("-"), known):
        remedy = f"did you mean {known[close]}?"
    elif isinstance(ctx.command, click.Group):
        remedy = "options of a command follow its name"
    else:
        remedy = f"`{ctx.command_path} --help` lists the options"
    return click.UsageError(f"no option {error.option_name}; {remedy}", ctx)


def _loaded(where: str) -> click.Command:
    module, _, attribute = where.partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    return command


def _write_examples(formatter: click.HelpFormatter, examples: str) -> None:
    if examples:
        with formatter.section("Examples"):
            for line in textwrap.dedent(examples.strip("\n")).rstrip().splitlines():
                formatter.write(f"  {_commented(line.rstrip())}\n")


def _commented(line: str) -> str:
    """An example whose explanation, after a gap, is a comment, so that it can be pasted."""
    return _GAP.sub(lambda gap: f"{gap[0][2:]}  # ", line, count=1)
