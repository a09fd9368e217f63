"""The house rules that a machine can check, each shown able to fail.

A rule that only stands in docs/style.md is broken by the tenth change. So each one that can be read
off the source is a test here; its docstring is the claim, its failure names file:line and what to
write instead. A check that cannot fail proves nothing: at the end of this file every check is run
on a small bad source, where it must speak, and on a good one, where it must not.
"""

import ast
import gc
import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

import pytest

# Sources are parsed once for all checks, in one process.
pytestmark = pytest.mark.xdist_group("tidy")

ROOT = Path(__file__).resolve().parent.parent

COLUMNS_MAX = 100
MODULE_LINES_MAX = 400
# About fifteen, beside `__init__.py`.
FOLDER_MODULES_MAX = 16

LONG_MODULES: dict[str, str] = {}
"""Modules allowed over MODULE_LINES_MAX: path from the root -> why it is still one thing."""

# fmt: off
CORE_IMPORTS = (
    "__future__", "bisect", "collections", "dataclasses", "datetime", "difflib", "enum",
    "fractions", "functools", "hashlib", "heapq", "html", "itertools", "math", "operator", "re",
    "typing", "unicodedata", "zoneinfo",
    "msgspec", "re2", "semver",
)
# fmt: on
"""Values and calculations only: nothing here opens, waits, draws lots or looks at a clock."""

CORE_FORBIDDEN_BUILTINS = frozenset(
    {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}
)
"""I/O and dynamic code that need no import, so that an import allowlist does not see them."""

WALL_CLOCK_MODULE = "src/tidegate/machine/system_clock.py"
WALL_CLOCK = re.compile(
    r"time\.(time|time_ns|localtime|gmtime|ctime)|"
    r"datetime\.(datetime\.(now|utcnow)|date(time)?\.today)"
)

VAGUE_MODULES = frozenset({"util", "utils", "common", "helper", "helpers", "misc"})
VAGUE_CLASS = re.compile(r"(Manager|Handler|Helpers?|Utils?|Base|Impl)$")
MOCK_LIBRARIES = ("mock", "unittest.mock", "pytest_mock", "flexmock", "mockito")

# Spelt in two halves so that this file does not contain what it looks for.
MACHINE_PATH = re.compile(
    r"(?<![\w./-])(?:/ro" + r"ot/|/wo" + r"rk/|/(?:ho" + r"me|Us" + r"ers)/\w+/|/opt/wh" + r"eels)"
)
REGISTRY_HOST = re.compile(
    r"\b(?:py" + r"pi\.org|python" + r"hosted\.org|npm" + r"js\.(?:org|com)|crates" + r"\.io|"
    r"proxy\.go" + r"lang\.org|sum\.go" + r"lang\.org|repo1?\.ma" + r"ven|deb\.deb" + r"ian\.org)"
)


Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Nodes:
    """The parts of a module that checks ask for, collected in one walk."""

    imports: list[ast.Import | ast.ImportFrom]
    named: list[Named]
    calls: list[ast.Call]
    dotted: list[ast.Name | ast.Attribute]
    # Where texts are: first line, column in bytes, last line, column in bytes.
    texts: list[tuple[int, int, int, int]]


@dataclass
class Source:
    """One file by its path from the root, parsed when first asked for."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> Nodes:
        found = Nodes([], [], [], [], [])
        for node in ast.walk(self.tree):
            match node:
                # Most nodes are these.
                case ast.Name() | ast.Attribute():
                    found.dotted.append(node)
                case ast.expr_context() | ast.operator() | ast.arg():
                    pass
                case ast.Import() | ast.ImportFrom():
                    found.imports.append(node)
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    found.named.append(node)
                case ast.Call():
                    found.calls.append(node)
                case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
                    found.texts.append(
                        (
                            node.lineno,
                            node.col_offset,
                            node.end_lineno or node.lineno,
                            node.end_col_offset or node.col_offset,
                        )
                    )
                case _:
                    pass
        return found

    def inside(self, folder: str) -> bool:
        return self.path.startswith(f"{folder}/")

    def finding(self, line: int, what: str, remedy: str) -> str:
        return f"{self.path}:{line}: {what}: {remedy}"


Check = Callable[[Source], Iterator[str]]


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Every imported name with its line, absolute and dotted: `from a import b` is `a.b`."""
    package = PurePosixPath(source.path.removeprefix("src/")).parent.parts
    for node in source.nodes.imports:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        else:
            climbed = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*climbed, *((node.module,) if node.module else ())))
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def within(name: str, packages: Iterable[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def local_names(source: Source) -> dict[str, str]:
    """What a name bound by an import stands for: `import time as t` gives t -> time."""
    names = {}
    for node in source.nodes.imports:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """`t.time` as `time.time` where t is time; None for what is not a plain dotted name."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and (left := dotted(node.value, names)):
        return f"{left}.{node.attr}"
    return None


PURE = re.compile(
    r"src/tidegate/(model|gates|journal|explain|kinds/\w+/core)/|"
    r"src/tidegate/(registry/image|git/history)\.py$"
)
"""What is pure: the shared core, the core of every kind, and two modules of values."""
PURE_MODULES = re.compile(
    r"tidegate\.(model|gates|journal|explain|kinds\.\w+\.core|registry\.image|git\.history)(\.|$)"
)


def core_imports(source: Source) -> Iterator[str]:
    if not PURE.match(source.path):
        return
    for line, name in imports(source):
        if not (PURE_MODULES.match(name) or within(name, CORE_IMPORTS)):
            yield source.finding(
                line,
                f"the core imports {name}",
                "take the value as an argument, or move the code to a layer above the core",
            )


def core_builtins(source: Source) -> Iterator[str]:
    if not PURE.match(source.path):
        return
    for line, name in calls(source, CORE_FORBIDDEN_BUILTINS):
        yield source.finding(
            line, f"the core calls {name}()", "return data and let the layer above do it"
        )


def calls(source: Source, names: frozenset[str]) -> Iterator[tuple[int, str]]:
    for node in source.nodes.calls:
        if isinstance(node.func, ast.Name) and node.func.id in names:
            yield node.lineno, node.func.id


def wall_clock(source: Source) -> Iterator[str]:
    if source.path == WALL_CLOCK_MODULE:
        return
    names = local_names(source)
    if not any(within(name, ("time", "datetime")) for name in names.values()):
        return
    for node in source.nodes.dotted:
        if (name := dotted(node, names)) and WALL_CLOCK.fullmatch(name):
            yield source.finding(
                node.lineno,
                f"reads the wall clock ({name})",
                "take `now` as an argument, or the Clock port where there is none yet",
            )


def vague_modules(source: Source) -> Iterator[str]:
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if part in VAGUE_MODULES:
            yield source.finding(1, f"a module called {part}", "name it by what it holds")


def vague_classes(source: Source) -> Iterator[str]:
    for node in source.nodes.named:
        if isinstance(node, ast.ClassDef) and (suffix := VAGUE_CLASS.search(node.name)):
            yield source.finding(
                node.lineno,
                f"class {node.name} ends in {suffix[0]}",
                "name it by what it is, or make it functions",
            )


def long_modules(source: Source) -> Iterator[str]:
    lines = source.text.count("\n")
    if lines > MODULE_LINES_MAX and source.path not in LONG_MODULES:
        yield source.finding(
            MODULE_LINES_MAX + 1,
            f"{lines} lines, at most {MODULE_LINES_MAX}",
            "find the second noun inside and give it a module, or add a reason to LONG_MODULES",
        )
    if lines <= MODULE_LINES_MAX and source.path in LONG_MODULES:
        yield source.finding(lines, "no longer too long", "take it out of LONG_MODULES")


def module_docstrings(source: Source) -> Iterator[str]:
    if not (ast.get_docstring(source.tree) or "").strip():
        yield source.finding(1, "no module docstring", "open with a claim of what it is for")


def prints(source: Source) -> Iterator[str]:
    if source.inside("src/tidegate/cli") or "/cli/" in source.path:
        return
    for line, _ in calls(source, frozenset({"print"})):
        yield source.finding(line, "prints", "return the text; only tidegate.cli speaks to people")


def wide_lines(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.split("\n"), start=1):
        if len(line) > COLUMNS_MAX:
            yield source.finding(
                number, f"{len(line)} columns", f"break the line, at most {COLUMNS_MAX}"
            )


def addresses(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.split("\n"), start=1):
        if found := MACHINE_PATH.search(line):
            yield source.finding(
                number, f"names a path of one machine ({found[0]})", "make it relative"
            )
        if found := REGISTRY_HOST.search(line):
            yield source.finding(
                number, f"names a package registry's host ({found[0]})", "name the package only"
            )


def mocks(source: Source) -> Iterator[str]:
    for line, name in imports(source):
        if within(name, MOCK_LIBRARIES):
            yield source.finding(
                line, f"imports {name}", "pass a fake that keeps the port's contract"
            )


@cache
def sources_in(folder: str) -> tuple[Source, ...]:
    """The Python files of a folder: read once, and parsed once, for all checks."""
    return tuple(
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    )


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Trees of all sources are large: they are not kept for what runs afterwards.

    Nor are they searched for garbage: a tree has none.
    """
    gc.disable()
    yield
    sources_in.cache_clear()
    gc.enable()


def python_in(*folders: str) -> list[Source]:
    found = [source for folder in folders for source in sources_in(folder)]
    assert found, f"no Python found in {folders}: the check would pass on nothing"
    return found


def tracked_text() -> list[Source]:
    """Every text file that is committed or would be; data that is not UTF-8 is no prose."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout, so nothing says which files belong to it")
    sources = []
    for name in sorted(filter(None, listed.stdout.split("\0"))):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            with suppress(UnicodeDecodeError):
                sources.append(Source(name, path.read_text(encoding="utf-8")))
    assert sources, "no tracked file found: the check would pass on nothing"
    return sources


def hold(check: Check, sources: list[Source]) -> None:
    findings = [finding for source in sources for finding in check(source)]
    if findings:
        pytest.fail("\n".join(findings), pytrace=False)


def test_the_core_imports_only_values() -> None:
    """The core can do no I/O, read no clock and draw no lot: it imports nothing that can."""
    hold(core_imports, python_in("src/tidegate"))


def test_the_core_calls_no_builtin_that_does_io() -> None:
    """What needs no import, like open(), is kept out of the core too."""
    hold(core_builtins, python_in("src/tidegate"))


def test_one_module_reads_the_wall_clock() -> None:
    """Only the system clock adapter knows what time it is; everyone else is told."""
    hold(wall_clock, python_in("src/tidegate"))


def test_no_module_is_a_drawer() -> None:
    """Every module is named by what it holds, so there is no place for things without a place."""
    hold(vague_modules, python_in("src/tidegate", "tests"))


def test_no_class_name_is_padding() -> None:
    """No class is called by a word that would fit every class."""
    hold(vague_classes, python_in("src/tidegate", "tests"))


def test_modules_fit_a_sitting() -> None:
    """A module can be read in one sitting, or LONG_MODULES says why not."""
    sources = python_in("src/tidegate")
    gone = LONG_MODULES.keys() - {source.path for source in sources}
    assert not gone, f"LONG_MODULES names modules that are gone: {sorted(gone)}"
    hold(long_modules, sources)


def test_folders_fit_a_screen() -> None:
    """A folder has few enough modules to be known by heart."""
    folders = Counter(PurePosixPath(source.path).parent for source in python_in("src/tidegate"))
    crowded = {str(folder): n for folder, n in folders.items() if n - 1 > FOLDER_MODULES_MAX}
    assert not crowded, f"more than {FOLDER_MODULES_MAX} modules: give some a folder: {crowded}"


def test_every_module_opens_with_a_claim() -> None:
    """A module says first what it is for."""
    hold(module_docstrings, python_in("src/tidegate"))


def test_only_the_command_line_prints() -> None:
    """Output has one door, so that stdout stays data."""
    hold(prints, python_in("src/tidegate"))


def test_lines_fit_two_panes() -> None:
    """Two files fit side by side on a screen, whatever the formatter could not break."""
    hold(wide_lines, python_in("src/tidegate", "tests"))


def test_no_file_names_a_machine_or_a_registry() -> None:
    """A checkout says nothing of where it was made or where packages are fetched from."""
    hold(addresses, tracked_text())


def test_no_test_uses_a_mock_library() -> None:
    """Tests pass fakes that keep a contract, not mocks that agree with whatever they are told."""
    hold(mocks, python_in("tests"))


CORE = "src/tidegate/kinds/rollouts/core/soak.py"
CLI = "src/tidegate/cli/main.py"
TEST = "tests/test_soak.py"

BAD: list[tuple[Check, str, str, int]] = [
    (core_imports, CORE, "import math\nimport os\n", 2),
    (core_imports, CORE, "from asyncio import sleep\n", 1),
    (core_imports, CORE, "from tidegate.documents import reader\n", 1),
    (core_imports, CORE, "from tidegate import documents\n", 1),
    (core_imports, CORE, "from ..wire import lines\n", 1),
    (core_imports, CORE, "from .. import wire\n", 1),
    (core_imports, CORE, "def f():\n    import random\n", 2),
    (core_builtins, CORE, "def read(p):\n    return open(p).read()\n", 2),
    (wall_clock, CLI, "import time\nt0 = time.time()\n", 2),
    (wall_clock, CLI, "import time as t\nt0 = t.time_ns()\n", 2),
    (wall_clock, CLI, "from time import time\nclock = time\n", 2),
    (wall_clock, CLI, "import datetime\nx = datetime.datetime.now(tz)\n", 2),
    (wall_clock, CLI, "from datetime import datetime as dt\nx = dt.utcnow()\n", 2),
    (wall_clock, CLI, "from datetime import date\nx = date.today()\n", 2),
    (vague_modules, "src/tidegate/model/utils.py", "", 1),
    (vague_modules, "src/tidegate/common/soak.py", "", 1),
    (vague_classes, CORE, "\nclass SoakManager: ...\n", 2),
    (long_modules, CORE, "x = 1\n" * (MODULE_LINES_MAX + 1), MODULE_LINES_MAX + 1),
    (module_docstrings, CORE, "x = 1\n", 1),
    (module_docstrings, CORE, '"""  """\n', 1),
    (prints, CORE, "x = 1\nprint(x)\n", 2),
    (wide_lines, CORE, f"x = 1\n# {'x' * COLUMNS_MAX}\n", 2),
    (addresses, "Makefile", "all:\n\tcd /ro" + "ot/tidegate\n", 2),
    (addresses, "docs/start.md", "open /ho" + "me/ada/tidegate\n", 1),
    (addresses, "requirements/dev.txt", "--index-url https://py" + "pi.org/simple\n", 1),
    (mocks, TEST, "from unittest import mock\n", 1),
    (mocks, TEST, "import pytest_mock\n", 1),
]

GOOD: list[tuple[Check, str, str]] = [
    (core_imports, CORE, "from collections.abc import Iterable\nfrom tidegate.model import plan\n"),
    (core_imports, CORE, "from . import world\nfrom .world import World\nimport tidegate.model\n"),
    (core_imports, "src/tidegate/gates/hold.py", "from ..model import Plan\n"),
    (core_imports, CLI, "import os\n"),
    (core_builtins, CORE, "def f(w):\n    return w.open()\n"),
    (wall_clock, WALL_CLOCK_MODULE, "import time\nnow = time.time()\n"),
    (wall_clock, CLI, "import time\nt0 = time.monotonic()\nnow = clock.now()\n"),
    (wall_clock, CORE, "from datetime import datetime\nx = datetime.fromisoformat(s)\n"),
    (vague_modules, "src/tidegate/model/commons.py", ""),
    (vague_classes, CORE, "class Database: ...\nclass Handled: ...\n"),
    (long_modules, CORE, "x = 1\n" * MODULE_LINES_MAX),
    (module_docstrings, CORE, '"""Soak is a fold over facts."""\n'),
    (prints, CLI, "print(1)\n"),
    (wide_lines, CORE, "x" * COLUMNS_MAX + "\n"),
    (addresses, "docs/api.md", "apis/wo" + "rk/v1/manifestworks\n"),
    (mocks, TEST, "import unittest\nfrom tests.fakes import Mockingbird\n"),
]


@pytest.mark.parametrize("check, path, text, line", BAD)
def test_each_check_can_fail(check: Check, path: str, text: str, line: int) -> None:
    """A check finds what it is for, and points at its line."""
    assert [f.split(": ")[0] for f in check(Source(path, text))] == [f"{path}:{line}"]


@pytest.mark.parametrize("check, path, text", GOOD)
def test_each_check_lets_good_code_pass(check: Check, path: str, text: str) -> None:
    """A check is silent about code that keeps its rule."""
    assert list(check(Source(path, text))) == []


def test_every_check_has_been_seen_to_fail_and_to_pass() -> None:
    """No check is used here without a bad source that it catches and a good one that it spares."""
    used = {
        node.args[0].id
        for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hold"
        if isinstance(node.args[0], ast.Name)
    }
    assert used == {check.__name__ for check, *_ in BAD} == {check.__name__ for check, *_ in GOOD}


# fmt: off
PARTICIPLES = frozenset((
    "finding", "pending",
))
# fmt: on
"""Names of modules that are participles today. A module is a noun: this list only gets shorter."""

STUMBLING = re.compile(
    r"\b(?:whoever|whomever|nobody|somebody|anybody|everybody|whom|heed(?:s|ed|ing)?|"
    r"mend(?:s|ed|ing)?|c[ao]mes? to|aside|stands? nowhere|fares?|told|liv(?:e|es|ed|ing) through|"
    r"look(?:s|ed|ing)? after|tend(?:s|ed|ing)?)\b",
    re.IGNORECASE,
)
"""Words that readers stumble over; docs/style.md says what to write instead."""
STUMBLING_PER_1000_MAX = 1.0

SUBJECT_MAX = 72
SUBJECTS_AFTER = "189fe72"
"""Commits up to this one were written before subjects had a limit."""

GENERATED_PAGES = ("cli.md", "reasons.md", "settings.md", "metrics.md", "lint.md", "documents.md")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def participle_modules(paths: Iterable[str]) -> list[str]:
    """Modules whose name is a participle and not on the list."""
    stems = {path: PurePosixPath(path).stem for path in paths}
    return [p for p, stem in stems.items() if stem.endswith("ing") and stem not in PARTICIPLES]


def stumbling(texts: Iterable[str]) -> tuple[float, list[str]]:
    """How many of a thousand words readers stumble over, and which; code is not counted."""
    found: list[str] = []
    words = 0
    for text in texts:
        plain = CODE.sub("", text)
        found += STUMBLING.findall(plain)
        words += len(plain.split())
    return 1000 * len(found) / max(words, 1), found


def pages() -> list[Path]:
    found = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return found + sorted((ROOT / "docs").rglob("*.md"))


def prose(source: Source) -> Iterator[str]:
    """What people wrote for people in a module: docstrings, comments, names of tests."""
    yield ast.get_docstring(source.tree) or ""
    for node in source.nodes.named:
        yield ast.get_docstring(node) or ""
        if node.name.startswith("test_"):
            yield node.name.replace("_", " ")
    yield from comments(source)


def comments(source: Source) -> Iterator[str]:
    """What follows the first # of a line that is in no text; to ask `tokenize` takes long."""
    texts = source.nodes.texts
    for number, line in enumerate(source.text.split("\n"), start=1):
        at = line.find("#")
        if at < 0:
            continue
        # A line has few texts, and all but a few lines none that began before it.
        here = [text for text in texts if text[0] <= number <= text[2]]
        while at >= 0:
            column = len(line[:at].encode())
            if not any(first <= (number, column) < last for first, last in map(_ends, here)):
                yield line[at:]
                break
            at = line.find("#", at + 1)


def _ends(text: tuple[int, int, int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    return text[:2], text[2:]


def long_subjects(subjects: Iterable[str]) -> list[str]:
    return [each for each in subjects if len(each) > SUBJECT_MAX]


def test_no_new_module_is_a_participle() -> None:
    """Modules are nouns: what they hold, not what happens in them."""
    new = participle_modules(source.path for source in python_in("src/tidegate"))
    assert not new, "name it by a noun, as soak.py or plan.py"


def test_the_list_of_participles_only_gets_shorter() -> None:
    """A name that is gone is taken off the list, so that it cannot return."""
    stems = {PurePosixPath(source.path).stem for source in python_in("src/tidegate")}
    assert not PARTICIPLES - stems, "take these out of PARTICIPLES"


def test_pages_are_in_plain_words() -> None:
    """What people wrote for people: prose, without code and without what commands print."""
    written = [page for page in pages() if page.name not in GENERATED_PAGES]
    share, found = stumbling(FENCED.sub("", page.read_text(encoding="utf-8")) for page in written)
    assert share < STUMBLING_PER_1000_MAX, f"{share:.2f} of 1,000 words: {found}"


def test_help_is_in_plain_words() -> None:
    """`--help` of every command, as the reference page has it."""
    share, found = stumbling([(ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")])
    assert share < STUMBLING_PER_1000_MAX, f"{share:.2f} of 1,000 words: {found}"


@pytest.mark.parametrize("folder", ["src/tidegate", "tests"])
def test_code_is_in_plain_words(folder: str) -> None:
    """Docstrings, comments and names of tests."""
    texts = (text for source in python_in(folder) for text in prose(source))
    share, found = stumbling(texts)
    assert share < STUMBLING_PER_1000_MAX, f"{share:.2f} of 1,000 words: {Counter(found)}"


def test_docs_as_a_whole_are_in_plain_words() -> None:
    """With generated pages and with what commands print."""
    share, found = stumbling(page.read_text(encoding="utf-8") for page in pages())
    assert share < STUMBLING_PER_1000_MAX, f"{share:.2f} of 1,000 words: {found}"


def test_subjects_of_commits_fit_a_line() -> None:
    """`git log --oneline` is read in a terminal."""
    command = ["git", "log", f"{SUBJECTS_AFTER}..HEAD", "--format=%s"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("the history is not here")
    assert not long_subjects(listed.stdout.splitlines())


def test_the_checks_of_words_can_fail() -> None:
    """Each is shown a bad text that it finds and a good one that it lets pass."""
    assert stumbling(["Whoever tends them is told."]) == (600.0, ["Whoever", "tends", "told"])
    assert stumbling(["The worker retries; `told` is a fact."])[1] == []
    written = Source(
        "tests/x.py", 'def test_nobody_waits():\n    """Whoever."""\n    x = 1  # told\n'
    )
    assert sorted(stumbling(prose(written))[1]) == ["Whoever", "nobody", "told"]
    assert participle_modules(["src/tidegate/cli/juggling.py"])
    assert not participle_modules(["src/tidegate/cli/soak.py", f"a/{min(PARTICIPLES)}.py"])
    assert long_subjects(["x" * (SUBJECT_MAX + 1)])
    assert not long_subjects(["x" * SUBJECT_MAX])


NASTY = """x = "#1"  # a "comment" # of one
y = f"{x}#2" '#3'
z = b'''
# in a text
'''  # é # after it
é = "é#"; w = r"\\#"  # last
"""


@pytest.mark.parametrize(
    "text", [NASTY, Path(__file__).read_text(encoding="utf-8")], ids=["nasty", "this file"]
)
def test_comments_are_what_the_tokenizer_says(text: str) -> None:
    """A # in a text is none."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    expected = [token.string for token in tokens if token.type == tokenize.COMMENT]
    assert len(expected) >= 3
    assert list(comments(Source("x.py", text))) == expected


# fmt: off
SHARED_NAMES: frozenset[str] = frozenset()
# fmt: on
"""Public classes that share their name with another today. This list only gets shorter."""


def shared_names(sources: Iterable[Source]) -> dict[str, list[str]]:
    """Names of public classes that more than one module defines, each with its modules."""
    found: dict[str, list[str]] = {}
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(source.path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_a_public_class_name_has_one_meaning() -> None:
    """A name that is read in one module means the same in every other."""
    new = {
        k: v for k, v in shared_names(python_in("src/tidegate")).items() if k not in SHARED_NAMES
    }
    assert not new, "name it by its noun, as PlacementCluster or JournalEntry"


def test_the_list_of_shared_names_only_gets_shorter() -> None:
    """A name that became unique is taken off the list, so that it stays so."""
    gone = SHARED_NAMES - shared_names(python_in("src/tidegate")).keys()
    assert not gone, "take these out of SHARED_NAMES"


def test_the_check_of_class_names_can_fail() -> None:
    """Two public classes of one name are found; private and single ones are not."""
    first, second = Source("a.py", "class A: ...\nclass _B: ..."), Source("b.py", "class A: ...")
    assert shared_names([first, second]) == {"A": ["a.py", "b.py"]}
    assert shared_names([first, Source("c.py", "class C: ...\nclass _B: ...")]) == {}
