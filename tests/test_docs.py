"""Documentation is tested: commands print what the pages say, code runs, links lead somewhere."""

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from tests.command import typed
from tests.pasted import calls, lines_of, mistake
from tidegate.cli.main import cli
from tidegate.cli.shape import context_below
from tidegate.kind_table import reasons
from tidegate.model.reason import Gate, Outcome

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "tests/**/*.md", "bench/**/*.md")
    for page in ROOT.glob(pattern)
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Blocks in which commands are typed; a block without a language may be output alone.
_SHELL = ("sh", "console", "session", "")
# Files that a command reads; what it writes follows --save, --svg, --to, > and the like.
_INPUT = re.compile(r"(?<!> )(?<!--save )(?<!--svg )(?<![\w/])[\w./-]+\.(?:yaml|yml|jsonl|ics)\b")
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def fences(language: str) -> Iterator[tuple[Path, str]]:
    """Every fenced block of a language, with its page."""
    for page in PAGES:
        for found in _FENCE.finditer(page.read_text(encoding="utf-8")):
            if found[1] == language:
                yield page, found[2]


def run(command: str) -> str:
    """What a command prints, as a person with our tools on the PATH sees it."""
    bin_dir = Path(sys.executable).parent
    path = f"{bin_dir}{os.pathsep}{os.environ['PATH']}"
    clean = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    env = {**clean, "PATH": path, "NO_COLOR": "1", "PYTHONUTF8": "1"}
    done = typed(command, ROOT, env, merged=False)
    return done.stdout + done.stderr


# What one block of a page makes the next goes on with, so a page is read by one process, in order.
CONSOLES = [
    pytest.param(page, block, id=f"{page.name}-{at}", marks=pytest.mark.xdist_group(page.name))
    for at, (page, block) in enumerate(fences("console"))
]


@pytest.mark.parametrize("page, block", CONSOLES)
def test_commands_print_what_the_page_says(
    page: Path, block: str, request: pytest.FixtureRequest
) -> None:
    """Every `$ command` of a page prints exactly the lines below it."""
    shown = [part for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    printed = "".join(f"$ {part.splitlines()[0]}\n{run(part.splitlines()[0])}" for part in shown)
    wanted = request.config.getoption("--rewrite", default=False)
    if wanted or os.environ.get("TIDEGATE_REWRITE"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(block, printed), encoding="utf-8")
    else:
        assert printed == block, f"{page.name}: run the tests with --rewrite and read the change"


@pytest.mark.parametrize("block", [block for _, block in fences("python")])
def test_python_of_the_pages_runs(block: str) -> None:
    """Every Python block runs as it stands, its assertions included."""
    exec(compile(block, "page", "exec"), {})


def test_every_command_on_a_page_can_be_pasted() -> None:
    """Commands in blocks exist, with their options; what they read is there or made on the page."""
    wrong = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if page.name == "cli.md":
            continue  # Generated; the examples in it have a test of their own.
        blocks = [found[2] for found in _FENCE.finditer(text) if found[1] in _SHELL]
        blocks += re.findall(r"^    .*(?:\n    .*)*", _FENCE.sub("", text), re.MULTILINE)
        for line in (line for block in blocks for line in lines_of(block)):
            where = f"{page.relative_to(ROOT)}: {line}"
            wrong += [f"{where}: {mistake(args)}" for args in calls(line) if mistake(list(args))]
            read = [name for name in _INPUT.findall(line) if not (ROOT / name).exists()]
            wrong += [f"{where}: no file {name}" for name in read if text.count(name) < 2]
    assert not wrong, "\n".join(wrong)


def test_every_command_in_a_sentence_exists() -> None:
    """`tidegate hold add` in prose is spelt as it is typed, and so is `hold add inc-42`."""
    wrong = []
    known = "|".join(cli.list_commands(click.Context(cli)))
    for page in PAGES:
        prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
        if page.is_relative_to(ROOT / "docs") and page.parent.name != "decisions":
            prose = re.sub(rf"`((?:{known}) [^`=:,({{]+)`", r"`tidegate \1`", prose)
        for code in re.findall(r"`(tidegate [^`]+)`", prose.replace("\n", " ")):
            if not re.search(r"[|\[\]…]|tidegate [A-Z]", code):
                found = [mistake(list(args)) for args in calls(code)]
                found = [each for each in found if "requires an argument" not in each]
                wrong += [f"{page.relative_to(ROOT)}: {code}: {each}" for each in found if each]
    assert not wrong, "\n".join(wrong)


def options_of(context: click.Context) -> Iterator[str]:
    """Every option of a command, and of those below it."""
    command = context.command
    for param in command.get_params(context):
        yield from (*param.opts, *param.secondary_opts)
    names = command.list_commands(context) if isinstance(command, click.Group) else []
    for name in (*names, *getattr(command, "words", ())):
        below = context_below(context, name)
        assert below is not None, name
        yield from options_of(below)


def test_every_option_in_a_sentence_exists() -> None:
    """`--act` in the prose of a guide is an option of some command."""
    known = set(options_of(click.Context(cli, **cli.context_settings)))
    wrong = []
    for page in PAGES:
        if page.parent.name in ("guides", "concepts", "gates", "tutorial"):
            prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
            named = re.findall(r"`(--[a-z][a-z-]*)", prose)
            wrong += [f"{page.name}: {each}" for each in named if each not in known]
    assert not wrong


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_what_the_maps_name_is_there(name: str) -> None:
    """A reader who opens a module or looks for a class by the map finds it."""
    text = _FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    rooms = [ROOT, *(ROOT / "src/tidegate").glob("**/"), *(ROOT / "tests").glob("**/")]
    files = re.findall(r"`([a-z_/*]+\.(?:py|md|txt|js|toml))`", text.replace("NAME", "*"))
    gone = [each for each in files if not any(any(room.glob(each)) for room in rooms)]
    # Words of Open Cluster Management, of policies and of charts are no classes of ours.
    classes = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)*)`", text)) - _THEIR_WORDS
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("src", "tests/toy", "tests/sim/story")
        for path in (ROOT / folder).rglob("*.py")
    )
    gone += [
        each for each in sorted(classes) if not re.search(rf"^class {each}\b", code, re.MULTILINE)
    ]
    assert not gone, f"{name} names {', '.join(gone)}"
    assert files


_THEIR_WORDS = {"Containerfile", "Lease"}


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them: lower case, hyphens, numbered."""
    found: set[str] = set()
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE):
        words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        twin = sum(
            each == slug or re.fullmatch(f"{slug}-[0-9]+", each) is not None for each in found
        )
        found.add(f"{slug}-{twin}" if twin else slug)
    return found


def lost(base: Path, link: str) -> bool:
    """Whether a link from a folder names a file, or an anchor, that is not there."""
    path, _, anchor = link.strip().partition("#")
    target = (base / path).resolve()
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that exists, and a heading in it."""
    links = _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    own = [link if not link.startswith("#") else page.name + link for link in links]
    gone = [link for link in own if "://" not in link and lost(page.parent, link)]
    assert not gone, f"{page.relative_to(ROOT)} links to {gone}"


def test_pages_named_by_code_exist() -> None:
    """Messages, docstrings, alerts and tests name pages by their path; each is there."""
    named = re.compile(r"(?<![\w/.-])docs/[a-z0-9/_-]+\.(?:md|svg)(?:#[\w-]+)?")
    gone = []
    folders = ("src", "deploy", "tests", "examples", "bench", "dev")
    files = [ROOT / "Makefile", ROOT / "pyproject.toml"]
    files += [each for folder in folders for each in (ROOT / folder).rglob("*") if each.is_file()]
    for file in files:
        if file.suffix not in (".py", ".yaml", ".yml", ".toml", ".sh", ".md", ".json", ""):
            continue
        if file in (Path(__file__), ROOT / "tests" / "test_tidy.py", ROOT / "tests/promoted.py"):
            continue  # Pages that these name are made up.
        text = file.read_text(encoding="utf-8", errors="replace")
        gone += [
            f"{file.relative_to(ROOT)}: {each}" for each in named.findall(text) if lost(ROOT, each)
        ]
    assert not gone


def test_modules_named_by_code_exist() -> None:
    """A docstring or a comment that names a module leads to one."""
    code = [
        path
        for folder in ("src", "tests", "examples", "bench", "dev")
        for path in (ROOT / folder).rglob("*.py")
    ]
    known = {f"/{path.relative_to(ROOT)}" for path in code}
    gone = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in code
        for name in re.findall(r"`([\w/]+\.py)`", path.read_text(encoding="utf-8"))
        if not any(each.endswith(f"/{name}") for each in known)
    ]
    assert not gone


def test_the_index_leads_to_every_page() -> None:
    """One page lists all others; a page that is not there cannot be found.

    Decisions and runbooks have a list of their own.
    """
    index = ROOT / "docs" / "index.md"
    listed = {
        (index.parent / link.partition("#")[0]).resolve()
        for link in _LINK.findall(index.read_text(encoding="utf-8"))
    }
    pages = {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - {index}
    apart = {page for page in pages if page.parent.name in ("decisions", "runbooks")}
    unlisted = pages - listed - {page for page in apart if page.name != "index.md"}
    assert not {str(page.relative_to(ROOT)) for page in unlisted}
    assert ROOT / "docs" / "decisions" in listed


def generator() -> ModuleType:
    """docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATED = ["reasons.md", "cli.md", "settings.md", "metrics.md", "lint.md", "documents.md"]


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_fresh(name: str) -> None:
    """The pages that follow from the code are the ones `make docs` would write."""
    page = generator().PAGES[name]()
    assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == page, "make docs"


def test_every_gate_that_can_shut_has_a_runbook() -> None:
    """A reader finds what to do: each gate that can wait or stop has its section."""
    book = (ROOT / "docs" / "guides" / "runbook.md").read_text(encoding="utf-8")
    shut = {each.entry.gate for each in reasons() if each.entry.outcome is not Outcome.PASS}
    assert not [gate.value for gate in Gate if gate in shut and f"## {gate.value}:" not in book]


def test_every_stop_says_what_would_open_it() -> None:
    """A gate that stays shut until a person acts says how; a finished target needs nothing."""
    finished = {"Done", "Skipped"}
    silent = [
        reason.value
        for reason, entry in ((each, each.entry) for each in reasons())
        if entry.outcome is not Outcome.PASS and not entry.opens and reason.value not in finished
    ]
    assert not silent


def test_the_picture_of_the_readme_is_fresh(tmp_path: Path) -> None:
    """The picture is what `tidegate simulate --svg` draws today."""
    run(f"tidegate simulate examples/demo.yaml --svg {tmp_path / 'rollout.svg'}")
    drawn = (tmp_path / "rollout.svg").read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "images" / "rollout.svg").read_text(encoding="utf-8")
