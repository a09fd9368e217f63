"""Everyday commands are quick because they import little; how long that takes, `make bench` shows.

A time would depend on the machine. What is imported does not.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import tidegate

DEMO = Path(__file__).parents[2] / "examples" / "demo.yaml"
# All that an everyday command on a journal in a file needs besides Python and ourselves; msgspec
# imports typing_extensions where it is installed.
LIBRARIES = {"click", "msgspec", "typing_extensions"}
# Large parts of Python, for work that a command that reads or writes a few rows does not do.
STANDARD = {"asyncio", "email", "http", "logging", "multiprocessing", "ssl", "unittest"}
# Parts of ours that reach outside systems, or run a worker.
OURS = (
    "tidegate.api",
    "tidegate.bundle",
    "tidegate.engine.round",
    "tidegate.engine.worker",
    "tidegate.forge",
    "tidegate.kubernetes",
    "tidegate.net",
    "tidegate.prometheus.client",
    "tidegate.registry.client",
    "tidegate.simulation",
    "tidegate.store.client.postgres",
    "tidegate.telemetry",
)
RUN = """
import sys
sys.argv = ["tidegate", *sys.argv[1:]]
before = set(sys.modules)
from tidegate.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("\\n".join(set(sys.modules) - before), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with a rollout, decided once."""
    path = tmp_path_factory.mktemp("imports") / "journal.db"
    done = tidegate("run", "--scenario", str(DEMO), "--once", "--database", str(path))
    assert done.returncode == 0, done.stderr
    return path


def imported(*args: str) -> set[str]:
    """The modules that a command imports, in a process of its own."""
    command = [sys.executable, "-c", RUN, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {line for line in done.stderr.splitlines() if line.replace(".", "").isidentifier()}


@pytest.mark.parametrize(
    "args",
    [
        ("status",),
        ("get", "rollouts"),
        ("get", "holds"),
        ("get", "claims"),
        ("show", "rollout/simulated/demo"),
        ("why", "simulated/demo"),
        ("why", "simulated/demo", "hive"),
        ("why", "hive"),
        ("hold", "add", "inc-42", "--everything", "--reason", "incident 42", "--yes"),
        ("block", "add", "bad", "--everything", "--reason", "it breaks", "--yes"),
        ("pause", "simulated/demo"),
        ("journal", "show"),
    ],
    ids=" ".join,
)
def test_an_everyday_command_imports_little(journal: Path, args: tuple[str, ...]) -> None:
    """No database toolkit, no HTTP client, no YAML, no event loop, no outside system."""
    found = imported(*args, "--database", str(journal))
    tops = {name.partition(".")[0] for name in found}
    assert "tidegate.store.client.sqlite" in found, "it read no journal"
    others = {name for name in tops if name not in sys.stdlib_module_names and name[0] != "_"}
    assert others - {"tidegate"} <= LIBRARIES
    assert not tops & STANDARD
    reached = [name for name in found if name.startswith(OURS) or ".client.remote" in name]
    assert not reached


def test_making_a_journal_imports_no_migrations(tmp_path: Path) -> None:
    """The first start of a worker is no slower by what brings old journals up to date."""
    path = str(tmp_path / "new.db")
    hold = ("hold", "add", "inc-42", "--everything", "--reason", "incident 42", "--create")
    assert not {"sqlalchemy", "alembic"} & imported(*hold, "--yes", "--database", path)


def test_a_service_imports_a_client_only_for_what_it_asks() -> None:
    """No HTTP client and no cryptography where no issuer, cluster or hub is configured."""
    found = imported("serve", "--help")
    assert "tidegate.api.login.login" in found
    assert not {"aiohttp", "cryptography", "joserfc"} & found


def test_what_is_imported_is_seen(tmp_path: Path) -> None:
    """The checks above can fail: what a worker needs is seen where one runs."""
    found = imported("run", "--scenario", str(DEMO), "--once", "--database", str(tmp_path / "x.db"))
    assert {"asyncio", "tidegate.engine.worker"} <= found
