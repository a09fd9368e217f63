"""`serve` answers in a process of its own, and neither of both outlives the other."""

import os
import signal
import socket
from pathlib import Path

from tests.cli.test_serve import Served, serving
from tests.patience import PATIENCE_S, until


def children(served: Served) -> list[int]:
    """The processes that it began."""
    pid = served.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_heard(address: str) -> bool:
    """Whether something listens there."""
    host, _, port = address.rpartition(":")
    with socket.socket() as caller:
        return caller.connect_ex((host, int(port))) == 0


def test_readers_have_a_process_of_their_own(tmp_path: Path) -> None:
    """It answers for both, and ends with the worker."""
    with serving(tmp_path) as served:
        served.until("leader")
        (answering,) = children(served)
        numbers = served.get("/metrics")[1]
        assert "tidegate_leader{" in numbers
        assert served.stop() == 0
        assert not Path(f"/proc/{answering}").exists()
    assert served.lines[-1]["what"] == "stopped"


def test_a_worker_that_is_killed_answers_no_more(tmp_path: Path) -> None:
    """Else a reader would take what is shown for what a worker still looks after."""
    with serving(tmp_path) as served:
        assert served.get("/livez")[0] == 200
        served.process.kill()
        served.process.wait(PATIENCE_S)
        until(lambda: not is_heard(served.address), "its address is free")


def test_a_worker_whose_readers_are_killed_ends(tmp_path: Path) -> None:
    """What started it starts it again, whole."""
    with serving(tmp_path) as served:
        assert served.get("/livez")[0] == 200
        os.kill(children(served)[0], signal.SIGKILL)
        line = served.until("crash")
        assert "the process that answers requests ended by itself (-9)" in line["error"]
        assert served.process.wait(PATIENCE_S) == 1


def test_a_journal_in_memory_is_read_where_it_is(tmp_path: Path) -> None:
    """No other process has it."""
    with serving(tmp_path, "--database", "memory:") as served:
        assert served.get("/livez")[0] == 200
        assert not children(served)
        assert served.stop() == 0
