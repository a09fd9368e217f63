"""What is recorded where no worker reads it must not look as if it worked."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.test_setting_brakes import staged, tidegate
from tests.cli.test_soak import BEFORE
from tests.engine.stage import PARTITION, Process
from tidegate.journal.lease import Look
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Duration
from tidegate.wiring import open_store

REASON = ("--reason", "r")
TIMES = ("--from", "2030-01-01T00:00:00Z", "--to", "2030-01-02T00:00:00Z")
EXEMPT = ("freeze", "exempt", "x", "--target", "a", "--until", "1h", *REASON)
ADDS = [
    ("hold", "add", "x", "--everything", *REASON),
    ("freeze", "add", "x", "--everything", *TIMES, *REASON),
    ("block", "add", "v2", *REASON),
    ("pin", "cluster/a", *REASON),
    ("upgrades", "expedite", "add", "4.1.2", "--everything", "--until", "1h", *REASON),
    ("upgrades", "soak", "import", "soak.json", "--yes", *REASON),
]  # fmt: skip
OTHERS = [
    ("hold", "remove", "x"),
    ("freeze", "remove", "x"),
    EXEMPT,
    ("block", "remove", "v2"),
    ("unpin", "a"),
    ("upgrades", "expedite", "remove", "4.1.2"),
    ("free", "mutex/db", *REASON),
    ("approve", "demo", "--group", "g"),
    ("reject", "demo", "--group", "g"),
    ("revoke", "demo", "--group", "g"),
    ("pause", "demo"),
    ("resume", "demo"),
    ("abort", "demo", "--yes"),
    ("retry", "demo"),
    ("journal", "compact", "--yes"),
    ("status",),
    ("get", "holds"),
    ("journal", "verify"),
]


@pytest.mark.parametrize("args", [*ADDS, *OTHERS], ids=" ".join)
def test_no_command_but_a_worker_makes_a_journal(tmp_path: Path, args: tuple[str, ...]) -> None:
    """It says where it looked, why there, and what to do; nothing is made."""
    (tmp_path / "soak.json").write_text(json.dumps({"prod/o": BEFORE}))
    done = tidegate(tmp_path, *args)
    assert done.returncode == 2, done.stdout
    assert f"{tmp_path}/tidegate.db: no such journal" in done.stderr
    assert "(tidegate.db: the default of --database)" in done.stderr
    assert "run it where the worker runs, or name its journal" in done.stderr
    assert ("--create makes a new one" in done.stderr) is (args in ADDS)
    assert not (tmp_path / "tidegate.db").exists()


@pytest.mark.parametrize(
    "origin", ["--database", "TIDEGATE_DATABASE", "tidegate.yaml:1:11"], ids=["flag", "env", "file"]
)
def test_it_says_which_setting_named_the_journal(
    tmp_path: Path, origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag, a variable, or a line of a file."""
    args = ["hold", "add", "x", "--everything", *REASON]
    if origin == "--database":
        args += ["--database", "other.db"]
    elif origin == "TIDEGATE_DATABASE":
        monkeypatch.setenv("TIDEGATE_DATABASE", "other.db")
    else:
        (tmp_path / "tidegate.yaml").write_text("database: other.db\n")
    done = tidegate(tmp_path, *args)
    assert f"{tmp_path}/other.db: no such journal (other.db: {origin})" in done.stderr


@pytest.mark.parametrize("args", ADDS[:5], ids=" ".join)
def test_a_journal_is_made_where_that_is_meant(tmp_path: Path, args: tuple[str, ...]) -> None:
    """A brake before the first worker starts: it is recorded, and no worker is bound yet."""
    done = tidegate(tmp_path, *args, "--create", "--yes")
    assert done.returncode == 0, done.stderr
    assert "no worker is running on this journal" in done.stdout
    assert " is on" not in done.stdout


def test_an_empty_file_is_no_journal(tmp_path: Path) -> None:
    """`touch` makes no journal either."""
    (tmp_path / "tidegate.db").touch()
    done = tidegate(tmp_path, *ADDS[0])
    assert done.returncode == 2
    assert "holds no journal" in done.stderr
    assert (tmp_path / "tidegate.db").stat().st_size == 0


def led(folder: Path, acts: bool = True, age_s: int = 2) -> None:
    """A worker leads the demo of a folder, and looked some time ago."""
    asyncio.run(Process(staged(folder)).round())
    store, now = open_store(str(folder / "tidegate.db")), SystemClock().now()
    held = store.leases()[PARTITION].lease
    store.release(held)
    look = Look(by="host/7", acts=acts, at=now - age_s * SECOND)  # type: ignore[arg-type]
    assert store.lease(PARTITION, "host/7", now, Duration(600 * SECOND), look) is not None
    store.close()


def test_a_brake_says_which_worker_it_binds(tmp_path: Path) -> None:
    """By name, with its mode and its last round."""
    led(tmp_path)
    done = tidegate(tmp_path, *ADDS[0])
    assert done.stdout.startswith("hold x is on: binds 1 rollout, led by worker host/7 (acts, last")


def test_a_brake_says_that_the_worker_only_observes(tmp_path: Path) -> None:
    """Nothing would start anyway."""
    led(tmp_path, acts=False)
    assert "(only observes, last round " in tidegate(tmp_path, *ADDS[0]).stdout


def test_a_brake_that_covers_nothing_led_says_so(tmp_path: Path) -> None:
    """The worker is there; what it leads is not covered."""
    led(tmp_path)
    done = tidegate(tmp_path, "hold", "add", "x", "--target", "zz", *REASON)
    assert "hold x is on; it covers no rollout yet (1 worker on this journal)" in done.stdout


@pytest.mark.parametrize(
    "args, name",
    [
        (("block", "add", "", *REASON), "REVISION"),
        (("block", "add", " ", "--name", "x", *REASON), "REVISION"),
        (("block", "add", "v2", "--name", "", *REASON), "--name"),
        (("hold", "add", "", "--everything", *REASON), "NAME"),
        (("hold", "add", "x", "--everything", "--reason", " "), "--reason"),
        (("hold", "add", "x", "--everything", "--expires", "", *REASON), "--expires"),
        (("hold", "add", "x", "--everything", "--owner", "", *REASON), "--owner"),
        (("hold", "add", "x", "--target", "", *REASON), "--target"),
        (("hold", "add", "x", "--kind", "", *REASON), "--kind"),
        (("hold", "add", "x", "-l", "", *REASON), "-l"),
        (("hold", "remove", ""), "NAMES"),
        ((*EXEMPT, "--revision", ""), "--revision"),
        (("upgrades", "expedite", "add", "", "--everything", "--until", "1h", *REASON), "VERSION"),
        (("pin", "", *REASON), "INTEGRATION | TARGET"),
        (("pin", "a", "--expires", "", *REASON), "--expires"),
        (("approve", "demo", "--group", ""), "--group"),
        (("approve", "demo", "--gate", "g", "--expires", ""), "--expires"),
        (("pause", ""), "NAME"),
        (("upgrades", "soak", "import", "x.json", "--reason", ""), "--reason"),
        (("free", "", *REASON), "NAME"),
    ],
)  # fmt: skip
def test_nothing_that_is_recorded_may_be_empty(
    tmp_path: Path, args: tuple[str, ...], name: str
) -> None:
    """A variable of a script that is not set means no scope, no name and no end."""
    asyncio.run(Process(staged(tmp_path)).round())
    done = tidegate(tmp_path, *args)
    assert done.returncode == 2, done.stdout
    assert name in done.stderr
    assert "empty" in done.stderr
    assert "brakes" not in tidegate(tmp_path, "journal", "verify").stdout
