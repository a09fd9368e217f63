"""`tidegate serve` as a process: real sockets, real signals, real exit codes."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S, ended
from tidegate.machine.system_clock import SystemClock
from tidegate.model.time import SECOND, Duration
from tidegate.store.client.database_address import open_archive

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "demo.yaml"


class Served:
    """A running `tidegate serve`, and the lines it has written so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self.address = ""

    def until(self, what: str, **keys: object) -> dict[str, Any]:
        """The next line of a sort; every line must be JSON."""
        assert self.process.stderr is not None
        for text in self.process.stderr:
            line = self._read(text)
            if line.get("what") == what and all(line.get(k) == v for k, v in keys.items()):
                return line
        raise AssertionError(f"it ended without {what}: {self.lines}")

    def get(self, path: str) -> tuple[int, str]:
        """The code and the text of an answer."""
        try:
            with urllib.request.urlopen(
                f"http://{self.address}{path}", timeout=PATIENCE_S
            ) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop, and wait for it."""
        self.process.send_signal(by)
        # As above: `communicate` would begin behind what was read ahead for the last line.
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._read(line)
        return self.process.wait(PATIENCE_S)

    def _read(self, text: str) -> dict[str, Any]:
        assert text.startswith("{"), f"a line that is no JSON: {text}"
        line: dict[str, Any] = json.loads(text)
        self.lines.append(line)
        return line


@contextmanager
def serving(
    folder: Path, *args: str, program: Sequence[str] = TIDEGATE, **env: str
) -> Iterator[Served]:
    """Serve the demo on a free port, in a folder of its own."""
    clean = {name: value for name, value in os.environ.items() if "TIDEGATE" not in name}
    clean |= {"XDG_CONFIG_HOME": str(folder)}
    forked = program == TIDEGATE and "PYTHONPATH" not in env
    start: type[subprocess.Popen[str]] = Forked if forked else subprocess.Popen
    process = start(
        [*program, "serve", "--listen", "127.0.0.1:0", "--scenario", str(DEMO), *args],
        cwd=folder,
        env={**clean, **env},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    served = Served(process)
    try:
        served.address = served.until("serving")["listen"]
        yield served
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def test_it_observes_answers_and_stops(tmp_path: Path) -> None:
    """Probes, numbers and lines of a fleet that is only observed; SIGTERM, exit 0."""
    with serving(tmp_path) as served:
        line = served.until("decision", target="quay")
        assert line["reason"] == "EarlierGroupUnfinished"
        assert line["msg"] == "canary: 0 of 1 done, waiting for ter-int-dev"
        assert served.get("/livez") == (200, '{"alive":true,"ill":[]}\n')
        assert served.get("/readyz") == (200, '{"ready":true,"missing":[]}\n')
        assert json.loads(served.get("/version")[1])["version"]
        numbers = served.get("/metrics")[1]
        of = 'kind="simulated",rollout="simulated/demo"'
        assert f'tidegate_targets{{{of},state="waiting"}} 25.0' in numbers
        assert f"tidegate_leader{{{of}}} 1.0" in numbers
        assert served.stop() == 0
    would = [line["msg"] for line in served.lines if line.get("target") == "ter-int-dev"]
    assert would == ["would apply superdangerous"]
    assert "acted" not in {line.get("what") for line in served.lines}
    assert served.lines[-1]["what"] == "stopped"


def test_it_acts_where_it_is_asked_to(tmp_path: Path) -> None:
    """The outcome of every act is a line, after the decision it comes from, and a number."""
    with serving(tmp_path, TIDEGATE_ACT="simulated/*") as served:
        line = served.until("acted")
        assert (line["target"], line["outcome"]) == ("ter-int-dev", "done")
        told = [each["what"] for each in served.lines if each.get("target") == "ter-int-dev"]
        assert told == ["decision", "acted"]
        numbers = served.get("/metrics")[1]
        assert 'tidegate_actions_total{kind="simulated",outcome="done"} 1.0' in numbers
        assert served.stop(signal.SIGINT) == 0


def test_leases_are_given_back(tmp_path: Path) -> None:
    """The next worker leads at once, long before the lease would have run out."""
    with serving(tmp_path, "--lease", "1h") as served:
        served.until("decision")
        assert served.stop() == 0
    store = open_archive(str(tmp_path / "tidegate.db"), writes=True)
    now = SystemClock().now()
    try:
        assert store.lease("simulated/demo", "next", now, Duration(SECOND)) is not None
    finally:
        store.close()


def test_two_share_and_one_takes_over(tmp_path: Path) -> None:
    """The second waits while the first leads, says so in its numbers, and takes over."""
    with serving(tmp_path) as first:
        first.until("leader", leads=True)
        with serving(tmp_path, "--lease", "1s") as second:
            while second.get("/readyz")[0] != 200:
                pass
            of = 'kind="simulated",rollout="simulated/demo"'
            assert f"tidegate_leader{{{of}}} 0.0" in second.get("/metrics")[1]
            assert "tidegate_targets{" not in second.get("/metrics")[1]
            assert first.stop() == 0
            second.until("leader", leads=True)
            assert second.stop() == 0
    # What the first had said of every target is in the journal: it is not said again.
    assert "decision" not in {line.get("what") for line in second.lines}


def altered(folder: Path, observe: str) -> dict[str, str]:
    """An environment in which the simulated fleet is looked at in another way."""
    code = f"""
import asyncio, os
import tidegate.kinds.rollouts.simulated.port as port
usual = port.SimulatedFleet.observe
async def observe(self, partition):
    {observe}
    return await usual(self, partition)
port.SimulatedFleet.observe = observe
"""
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return {"PYTHONPATH": str(folder)}


def test_what_is_under_way_ends_while_it_is_no_longer_ready(tmp_path: Path) -> None:
    """SIGTERM during a slow round: /readyz says 503 and why, the round ends, exit 0."""
    env = altered(tmp_path, "while not os.path.exists('go-on'): await asyncio.sleep(0.02)")
    with serving(tmp_path, "--grace", "10m", **env) as served:
        served.until("leader")
        served.process.send_signal(signal.SIGTERM)
        served.until("stopping")
        code, body = served.get("/readyz")
        assert code == 503
        assert "stopping" in json.loads(body)["missing"]
        assert served.get("/livez")[0] == 200
        (tmp_path / "go-on").touch()
        served.until("decision")
        served.until("stopped")
        assert served.process.wait(PATIENCE_S) == 0


def test_what_takes_longer_than_the_grace_is_given_up(tmp_path: Path) -> None:
    """A round that hangs does not keep the process: exit 0, and the lease is given back."""
    env = altered(tmp_path, "await asyncio.sleep(3600)")
    with serving(tmp_path, "--grace", "100ms", **env) as served:
        served.until("leader", leads=True)
        assert served.stop() == 0
    assert served.lines[-1]["what"] == "stopped"
    assert {"leads": False}.items() <= served.lines[-2].items()


def test_a_bug_in_a_round_ends_the_process(tmp_path: Path) -> None:
    """A supervisor sees a failure, and the log says what it was."""
    env = altered(tmp_path, "1 / 0")
    with serving(tmp_path, **env) as served:
        line = served.until("crash")
        assert "ZeroDivisionError" in line["error"]
        assert served.process.wait(PATIENCE_S) == 1


class Chat(ThreadingHTTPServer):
    """A chat that takes posts, on a free port."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.got: Queue[str] = Queue()

    @property
    def url(self) -> str:
        """Where to post; the path is the secret."""
        return f"http://127.0.0.1:{self.server_address[1]}/s3cret"


class _Post(BaseHTTPRequestHandler):
    """One post."""

    def do_POST(self) -> None:
        """Take it."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Chat)
        self.server.got.put(json.loads(body)["text"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def chat() -> Iterator[Chat]:
    """A chat that listens for as long as a test takes."""
    server = Chat()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    ended(thread)
    server.server_close()


def test_people_are_notified_once_even_by_two_processes(tmp_path: Path, chat: Chat) -> None:
    """The start is reported, counted and written down; the next process sends it to no one."""
    settings = "notify:\n  webhook: env:HOOK\n  template: '${name} ${what}, go ${revision}'\n"
    (tmp_path / "tidegate.yaml").write_text(settings, encoding="utf-8")
    env = {"HOOK": chat.url, "TIDEGATE_ACT": "*"}
    with serving(tmp_path, **env) as first:
        assert first.until("notice")["outcome"] == "sent"
        assert chat.got.get(timeout=PATIENCE_S) == "demo started, go superdangerous"
        sent = 'tidegate_notices_total{event="start",outcome="sent"} 1.0'
        assert sent in first.get("/metrics")[1]
        while "told" not in kinds(tmp_path):
            pass
        assert first.stop() == 0
    with serving(tmp_path, **env) as second:
        while 'tidegate_round_seconds_count{kind="simulated"}' not in second.get("/metrics")[1]:
            pass
        assert second.stop() == 0
    assert chat.got.empty()
    assert "s3cret" not in json.dumps(first.lines + second.lines)


def kinds(folder: Path) -> set[str]:
    """Which facts the journal has."""
    store = open_archive(str(folder / "tidegate.db"), writes=False)
    try:
        return {entry.kind for entry in store.read("simulated/demo")}
    finally:
        store.close()


def test_a_webhook_that_is_nowhere_is_said_before_anything_runs(tmp_path: Path) -> None:
    """The reference is named, exit 2."""
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", "serve", "--notify-webhook", "env:NOWHERE"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "notify.webhook: Environment variable NOWHERE is not set" in done.stderr


def test_an_address_in_use_is_one_line_and_exit_1(tmp_path: Path) -> None:
    """Nothing is half started."""
    with serving(tmp_path) as served:
        done = subprocess.run(
            [sys.executable, "-m", "tidegate", "serve", "--listen", served.address],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"Error: {served.address}: address already in use; choose another")
        assert served.stop() == 0


def test_a_pipe_that_is_not_read_stops_nothing(tmp_path: Path) -> None:
    """With its log stuck, it goes on answering, and still stops with exit 0."""
    text = DEMO.read_text(encoding="utf-8").replace("count: 16", "count: 3000")
    (tmp_path / "large.yaml").write_text(text, encoding="utf-8")
    with serving(tmp_path, "--scenario", "large.yaml") as served:
        while 'rollout="simulated/large",state="waiting"} 3009' not in served.get("/metrics")[1]:
            pass
        assert served.get("/livez")[0] == 200
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENCE_S) == 0
