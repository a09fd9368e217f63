"""A real Prometheus on this machine, and an exporter that says what a test tells it to say."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Protocol

from tests.patience import PATIENCE_S
from tests.serving import beside

START_TIMEOUT_S = PATIENCE_S

# Intervals as short as it bears; a story then takes seconds.
CONFIG = """\
global: {{scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}}
rule_files: [rules.yml]
scrape_configs:
  - job_name: exporter
    static_configs: [{{targets: ["{exporter}"]}}]
"""
RULES = """\
groups:
  - name: watch
    rules:
      - {alert: Broken, expr: app_broken > 0, for: 0s}
      - {alert: Slow, expr: app_slow > 0, for: 400ms}
      - {alert: Clashing, expr: app_broken * on(job) group_right() app_slow, for: 0s}
"""


class Exporter:
    """Metrics over HTTP; silent on request."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._metrics: dict[str, float] = {}
        # More metrics, as they are scraped.
        self.more: Callable[[], str] = str
        self.silent = False
        self.scrapes = 0
        exporter = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                exporter.scrapes += 1
                if exporter.silent:
                    self.send_error(503)
                    return
                body = exporter.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.address = f"127.0.0.1:{self.server.server_port}"

    def set(self, **metrics: float) -> None:
        """`shard_a__clean=3` sets app_runs_total of shard a; other names are as they are."""
        with self._lock:
            for name, value in metrics.items():
                self._metrics[_named(name)] = value

    def wait(self) -> None:
        """Until it was scraped anew, and once more: by then the first is kept."""
        until, wanted = time.monotonic() + START_TIMEOUT_S, self.scrapes + 3
        while self.scrapes < wanted:
            assert time.monotonic() < until, "nobody scrapes any more"
            time.sleep(0.02)

    def forget(self) -> None:
        """Nothing is exported any more."""
        with self._lock:
            self._metrics.clear()
            self.silent = False

    def text(self) -> str:
        """All metrics as they are scraped."""
        with self._lock:
            own = "".join(f"{name} {value:g}\n" for name, value in self._metrics.items())
        return own + self.more()


class Scraped(Protocol):
    """Whatever answers with metrics."""

    address: str


def _named(name: str) -> str:
    if "{" in name:
        return name
    shard, _, result = name.partition("__")
    return f'app_runs_total{{shard="{shard}",result="{result}",version="v2"}}' if result else name


def free_port() -> int:
    """A port nothing listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def exporting() -> Iterator[Exporter]:
    """An exporter that answers until the end."""
    exporter = Exporter()
    with beside(exporter.server):
        yield exporter


@contextmanager
def running(program: str, folder: Path, exporter: Scraped, rules: str = RULES) -> Iterator[str]:
    """A Prometheus that scrapes the exporter; its address."""
    (folder / "prometheus.yml").write_text(CONFIG.format(exporter=exporter.address))
    (folder / "rules.yml").write_text(rules)
    address = f"127.0.0.1:{free_port()}"
    command = [
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            _wait(f"http://{address}/-/ready", b"", process, log)
            # It looks for whom to scrape some seconds after it is ready.
            _wait(f"http://{address}/api/v1/query?query=up", b"exporter", process, log)
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(timeout=START_TIMEOUT_S)


def _wait(url: str, wanted: bytes, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                if wanted in answer.read():
                    return
        except (urllib.error.URLError, OSError):
            pass
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"Prometheus did not start: {log.read_text()[-2000:]}")
