"""Help as a newcomer meets it: grouped commands, topics, and the nearest name for a typo."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from tests.pasted import calls, lines_of, mistake
from tidegate.cli.help import TOPICS, topic_text
from tidegate.cli.main import SECTIONS, cli
from tidegate.cli.shape import Command, LazyGroup, Worded, context_below

ROOT = Path(__file__).parents[2]
UPGRADES = [
    "policy",
    "sectors",
    "version-blocks",
    "inheritance",
    "gates",
    "report",
    "lint",
    "what-if",
    "expedite",
    "soak",
]


def tidegate(*args: str, width: int = 80) -> Result:
    """Run a command in this process, on a terminal of some width."""
    return CliRunner().invoke(cli, args, prog_name="tidegate", terminal_width=width)


def below(context: click.Context) -> Iterator[click.Context]:
    """A command and all below it."""
    yield context
    names: list[str] = []
    if isinstance(context.command, click.Group):
        names = context.command.list_commands(context)
    elif isinstance(context.command, Worded):
        names = list(context.command.words)
    for name in names:
        child = context_below(context, name)
        assert child is not None
        yield from below(child)


EVERY = list(below(click.Context(cli, info_name="tidegate", **cli.context_settings)))
"""Every command there is, in the context it is called in."""


def test_commands_are_grouped_by_what_people_want() -> None:
    """The first screen has sections, in order, and every command in one of them."""
    text = tidegate("--help").output
    at = [text.index(f"\n{title}:\n") for title in SECTIONS]
    assert at == sorted(at)
    names = [name for table in SECTIONS.values() for name in table]
    assert len(names) == len(set(names))
    assert all(f"\n  {name} " in text for name in names)


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_screen_fits(width: int) -> None:
    """No line is wider than the terminal, and no one-liner wraps."""
    lines = tidegate("--help", width=width).output.splitlines()
    assert max(map(len, lines)) <= width
    oneliners = [line for table in SECTIONS.values() for _, line in table.values()]
    assert all(any(line.endswith(each) for line in lines) for each in oneliners)


@pytest.mark.parametrize("context", EVERY, ids=lambda context: context.command_path)
def test_help_is_usage_description_examples_options(context: click.Context) -> None:
    """Every command has them, in this order; and suggests the nearest option."""
    assert isinstance(context.command, Command | LazyGroup)
    text = context.get_help()
    assert text.startswith(f"Usage: {context.command_path} ")
    usage, _, rest = text.partition("\n\n")
    assert usage
    described, examples, options = rest.partition("Examples:\n")
    assert described.strip()
    assert examples
    assert "\nOptions:\n" in options


@pytest.mark.parametrize("name", UPGRADES)
def test_former_spellings_still_work_and_are_not_listed(name: str) -> None:
    """`tidegate policy` is `tidegate upgrades policy`; the list has only the latter."""
    context = click.Context(cli, info_name="tidegate")
    roof = cli.get_command(context, "upgrades")
    assert isinstance(roof, LazyGroup)
    assert cli.get_command(context, name) is roof.get_command(context, name) is not None
    assert name not in cli.list_commands(context)
    assert name in roof.list_commands(context)
    assert tidegate(name, "--help").exit_code == 0


@pytest.mark.parametrize(
    "args, words",
    [
        (["wy"], 'no command "wy"; did you mean "why"?'),
        (["polcy"], 'no command "polcy"; did you mean "upgrades policy"?'),
        (["upgrades", "polcy"], 'no command "polcy"; did you mean "policy"?'),
        (["upgrades", "policy", "gett"], 'no command "gett"; did you mean "get"?'),
        (["upgrades", "zzz"], "there are policy, sectors"),
        (["zzz"], "`tidegate --help` lists the commands"),
        (["--versoin"], "no option --versoin; did you mean --version?"),
        (["--output", "json", "status"], "options of a command follow its name"),
        (["status", "--outptu", "json"], "no option --outptu; did you mean --output?"),
        (["get", "holds", "--outptu"], "no option --outptu; did you mean --output?"),
        (["promote", "--open-mir"], "no option --open-mir; did you mean --open-mr?"),
        (["why", "--targt"], "no option --targt; `tidegate why --help` lists the options"),
        (["upgrades", "policy", "set", "--soak-day"], "did you mean --soak-days?"),
        (["simulate", "upgrades", "--dyas", "3"], "no option --dyas; did you mean --days?"),
        (["version", "--zzz"], "`tidegate version --help` lists the options"),
        (["version", "-z"], "no option -z"),
        (["help", "braks"], 'no topic or command "braks"; did you mean "brakes"?'),
        (["help", "vreify"], 'did you mean "verify"?'),
        (["help", "upgrades", "polcy"], 'did you mean "policy"?'),
        (["help", "version", "more"], 'no command "more" below `tidegate version`'),
    ],
)
def test_a_typo_gets_the_nearest_name(args: list[str], words: str) -> None:
    """Commands, options and topics, at every level; exit 2."""
    done = tidegate(*args)
    assert done.exit_code == 2
    assert words in done.output


def test_help_lists_the_topics() -> None:
    """`tidegate help` names every topic, and so does the first screen."""
    text, first = tidegate("help").output, " ".join(tidegate("--help").output.split())
    for name, (title, _) in TOPICS.items():
        assert f"  {name}" in text
        assert title in text
        assert name in first.rpartition("a topic:")[2]


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_fits_a_screen_and_names_what_exists(name: str) -> None:
    """At most 80 columns and 30 lines; commands and pages in it are there."""
    assert tidegate("help", name).output == f"{topic_text(name)}\n"
    lines = topic_text(name).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    words = topic_text(name).replace(",", " ").split()
    assert all((ROOT / word).is_file() for word in words if word.startswith("docs/"))
    context = click.Context(cli, info_name="tidegate")
    called = [words[at + 1] for at, word in enumerate(words) if word == "tidegate"]
    assert all(cli.get_command(context, each) for each in called if each.isalpha())


@pytest.mark.parametrize("path", ["why", "upgrades policy set", "policy get", "simulate upgrades"])
def test_help_of_a_command_is_its_help(path: str) -> None:
    """`tidegate help why` prints what `tidegate why --help` prints."""
    words = path.split()
    assert tidegate("help", *words).output == tidegate(*words, "--help").output


def offered(line: str) -> list[str]:
    """What pressing tab at the end of a line offers."""
    *words, last = line.split(" ")
    completion = ShellComplete(cli, {}, "tidegate", "_TIDEGATE_COMPLETE")
    return [item.value for item in completion.get_completions(words, last)]


def test_tab_completes_commands_topics_and_options() -> None:
    """At every level; former spellings are not offered."""
    assert offered("w") == ["why", "when", "withdraw"]
    assert offered("poli") == ["policies"]
    assert offered("upgrades pol") == ["policy"]
    assert offered("upgrades policy g") == ["get"]
    assert offered("policy g") == ["get"]
    assert offered("help br") == ["brakes"]
    assert offered("status --outp") == ["--output"]


def test_tab_loads_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names come from the table, so that a shell does not wait for imports."""
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail(f"imports {name}"))
    assert "why" in offered("")


@pytest.mark.parametrize("context", EVERY, ids=lambda context: context.command_path)
def test_examples_can_be_pasted(context: click.Context) -> None:
    """Commands and options of examples exist; what explains one is a comment."""
    examples = context.get_help().partition("Examples:\n")[2].partition("\n\n")[0]
    found = [args for line in lines_of(examples) for args in calls(line)]
    assert found
    assert not [mistake(list(args)) for args in found if mistake(list(args))]


@pytest.mark.parametrize("name", ["", *TOPICS])
@pytest.mark.parametrize("width", [60, 80])
def test_a_topic_fits_a_narrow_terminal(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is longer, and no word is lost."""
    monkeypatch.setenv("COLUMNS", str(width))
    said = tidegate("help", *filter(None, [name])).stdout
    assert max(map(len, said.splitlines())) <= width
    monkeypatch.setenv("COLUMNS", "200")
    assert said.split() == tidegate("help", *filter(None, [name])).stdout.split()


def test_every_command_that_prints_json_prints_yaml() -> None:
    """The same document, for people who read one of them; lines of events are no document."""
    lacking = [
        context.command_path
        for context in below(click.Context(cli, info_name="tidegate"))
        for option in context.command.params
        if isinstance(option.type, click.Choice) and "--output" in option.opts
        if "json" in option.type.choices and "yaml" not in option.type.choices
    ]
    assert lacking == ["tidegate simulate upgrades"]
