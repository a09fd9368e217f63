"""The application and the command line keep to their own work: a test for what no import says.

The application answers and records, with types; the command line parses, calls and renders.
"""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

import tidegate
from tests.test_tidy import Check, Source, dotted, hold, imports, local_names, python_in, within
from tidegate.cli.output import emit, emit_item
from tidegate.model.document import Document, Part

# What an application function must not know: a terminal, flags, and what only wiring knows.
TERMINAL = (
    "click", "rich", "getpass", "tidegate.cli", "tidegate.api", "tidegate.wiring",
    "tidegate.kind_table",
)  # fmt: skip
OUTSIDE_CALLS = frozenset(
    ("asyncio.run", "sys.stdout", "sys.stderr", "sys.stdin", "sys.exit", "time.sleep", "os.environ")
)
# Modules of commands that write JSON which is no answer of the application, and what it is.
OTHER_FORMATS = {
    "src/tidegate/cli/output.py": "the one place that encodes documents",
    "src/tidegate/cli/answers/contexts.py": "a file of services and tokens",
    "src/tidegate/cli/decide.py": "lines of the decide filters",
    "src/tidegate/cli/render/findings.py": "SARIF",
    "src/tidegate/kinds/integrations/cli/clusters/simulate.py": "a kubeconfig",
    "src/tidegate/kinds/upgrades/cli/simulate_upgrades.py": "a saved world",
    "src/tidegate/kinds/upgrades/cli/soak.py": "files of AUS",
    "src/tidegate/kinds/upgrades/cli/text/report_page.py": "data inside a page",
}


def is_app(source: Source) -> bool:
    """Whether a module is of the application."""
    return "app" in PurePosixPath(source.path).parts[:-1]


def is_cli(source: Source) -> bool:
    """Whether a module is of the command line."""
    return "cli" in PurePosixPath(source.path).parts[:-1]


def terminals(source: Source) -> Iterator[str]:
    """Imports of the application that only the command line may have."""
    if not is_app(source):
        return
    for line, name in imports(source):
        if within(name, TERMINAL) or ".cli." in f"{name}.":
            yield source.finding(line, f"imports {name}", "take the value as an argument")


def outside_calls(source: Source) -> Iterator[str]:
    """Uses of a loop, a stream or the environment in the application."""
    if not is_app(source):
        return
    names = local_names(source)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name | ast.Attribute) and dotted(node, names) in OUTSIDE_CALLS:
            what = f"uses {dotted(node, names)}"
            yield source.finding(node.lineno, what, "leave it to the command line")


def facts_written(source: Source) -> Iterator[str]:
    """Facts made, or signed, by a command."""
    if not is_cli(source):
        return
    names = local_names(source)
    for line, name in imports(source):
        if name == "tidegate.journal.chain.JournalNote":
            yield source.finding(line, "signs facts", "let a function of the application do it")
    for node in ast.walk(source.tree):
        called = dotted(node.func, names) if isinstance(node, ast.Call) else None
        module, _, made = (called or "").rpartition(".")
        if module.endswith("journal.facts") and made[:1].isupper():
            what = f"makes a fact ({made})"
            line = getattr(node, "lineno", 1)
            yield source.finding(line, what, "let a function of the application do it")


def encoders(source: Source) -> Iterator[str]:
    """JSON that a command makes by itself."""
    if not is_cli(source) or source.path in OTHER_FORMATS:
        return
    names = local_names(source)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and (name := dotted(node, names)):
            if name in ("msgspec.json.encode", "msgspec.json.Encoder", "json.dumps"):
                yield source.finding(node.lineno, f"uses {name}", "emit() a document")


def documents_made(source: Source) -> Iterator[str]:
    """Documents that a command defines: nothing else could return them."""
    if not is_cli(source):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            if bases & {"Document", "Part"}:
                yield source.finding(node.lineno, f"defines {node.name}", "define it in app/")


def test_the_application_knows_no_terminal() -> None:
    """An API can call it: no flags, no prompts, no printing."""
    hold(terminals, python_in("src/tidegate"))


def test_the_application_starts_no_loop_and_reads_no_environment() -> None:
    """It is called inside a loop, with values."""
    hold(outside_calls, python_in("src/tidegate"))


def test_no_command_makes_a_fact() -> None:
    """What is recorded is recorded by the application, for every caller alike."""
    hold(facts_written, python_in("src/tidegate"))


def test_commands_print_documents_and_nothing_else_as_data() -> None:
    """`-o json` is a type with a name and a version; mypy holds what `emit` is given."""
    hold(encoders, python_in("src/tidegate"))
    assert inspect.get_annotations(emit)["document"] is Document
    assert inspect.get_annotations(emit_item)["item"] is Part


def test_documents_are_of_the_application() -> None:
    """A type that an API returns is not defined in a command."""
    hold(documents_made, python_in("src/tidegate"))


def test_the_list_of_other_formats_only_gets_shorter() -> None:
    """An exception that is gone is taken out."""
    gone = OTHER_FORMATS.keys() - {
        source.path
        for source in python_in("src/tidegate")
        if "json.encode" in source.text or "json.Encoder" in source.text
    }
    assert not gone, f"OTHER_FORMATS names modules that encode nothing: {sorted(gone)}"


def test_every_document_begins_with_its_kind_and_version() -> None:
    """As Kubernetes users expect it: `kind`, `apiVersion`, then its fields."""
    for module in pkgutil.walk_packages(tidegate.__path__, "tidegate."):
        if ".app" in module.name or ".simulated" in module.name:
            importlib.import_module(module.name)
    found, rest = [], Document.__subclasses__()
    while rest:
        one = rest.pop()
        found.append(one)
        rest += one.__subclasses__()
    assert len(found) > 50
    late = [each.__name__ for each in found if each.__struct_fields__[0] != "api_version"]
    assert not late, f"kw_only=True is missing: {late}"


APP, CLI = "src/tidegate/app/brakes.py", "src/tidegate/kinds/upgrades/cli/soak_text.py"

BAD: list[tuple[Check, str, str, int]] = [
    (terminals, APP, "import os\nimport click\n", 2),
    (terminals, APP, "def f():\n    from tidegate.wiring import clock\n", 2),
    (terminals, "src/tidegate/kinds/x/app/a.py", "from tidegate.kinds.x.cli import b\n", 1),
    (outside_calls, APP, "import asyncio\nasyncio.run(f())\n", 2),
    (outside_calls, APP, "import sys\nsys.stdout.write('x')\n", 2),
    (facts_written, CLI, "from tidegate.journal.chain import JournalNote\n", 1),
    (
        facts_written,
        CLI,
        "from tidegate.journal.facts import Braked as B\nx = B(brake='hold')\n",
        2,
    ),
    (
        facts_written,
        CLI,
        "from tidegate.kinds.upgrades.core.journal.facts import Imported\nImported()\n",
        2,
    ),
    (encoders, CLI, "import msgspec\nx = msgspec.json.encode({})\n", 2),
    (documents_made, CLI, "class Answer(Document, frozen=True):\n    x: int\n", 1),
]

GOOD: list[tuple[Check, str, str]] = [
    (terminals, APP, "from tidegate.model.document import Document\n"),
    (terminals, CLI, "import click\n"),
    (outside_calls, APP, "import asyncio\nasync def f():\n    await asyncio.gather()\n"),
    (outside_calls, CLI, "import asyncio\nasyncio.run(f())\n"),
    (facts_written, CLI, "from tidegate.journal.facts import Verb\nx = Verb.PAUSE\n"),
    (facts_written, APP, "from tidegate.journal.facts import Braked\nx = Braked()\n"),
    (encoders, CLI, "from tidegate.cli.output import emit\nemit(found, 'json')\n"),
    (encoders, next(iter(OTHER_FORMATS)), "import msgspec\nmsgspec.json.encode({})\n"),
    (documents_made, CLI, "class Table:\n    pass\n"),
    (documents_made, APP, "class Answer(Document, frozen=True):\n    x: int\n"),
]


@pytest.mark.parametrize("check, path, text, line", BAD)
def test_each_check_can_fail(check: Check, path: str, text: str, line: int) -> None:
    """A check finds what it is for, and points at its line."""
    assert [f.split(": ")[0] for f in check(Source(path, text))] == [f"{path}:{line}"]


@pytest.mark.parametrize("check, path, text", GOOD)
def test_each_check_lets_good_code_pass(check: Check, path: str, text: str) -> None:
    """A check is silent about code that keeps its rule."""
    assert list(check(Source(path, text))) == []
