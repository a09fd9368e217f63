"""`make demo`, from beginning to end, and every command it offers, word for word."""

import json
import os
import pty
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.patience import until

ROOT = Path(__file__).parents[2]
VENV = Path(sys.executable).parents[1]
LASTS_S = 300
DEMO = ("make", "--no-print-directory", "demo", f"VENV={VENV.relative_to(ROOT)}")


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    """A command where the demo is shown."""
    env = {**os.environ, "NO_COLOR": "1", "PYTHONUTF8": "1", "COLUMNS": "80"}
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LASTS_S, check=False
    )


@pytest.mark.e2e
def test_the_demo_tells_both_halves_and_what_it_offers_works() -> None:
    """Four commands at its end."""
    done = run(*DEMO, "ARGS=--headless")
    assert done.returncode == 0, done.stderr
    for told in ("✓ 25 of 25 on ed21267", "maps-8 excluded", "freeze weekend is over"):
        assert told in done.stdout
    shown = (done.stderr + done.stdout.rpartition("canary\n")[2]).replace("\\\n", " ")
    offered = [line.strip() for line in shown.splitlines() if line.startswith("  ")]
    assert len(offered) == 4, shown
    for command in offered:
        result = run("sh", "-c", command)
        assert result.returncode == 0, (command, result.stderr)
        assert result.stdout, command


@pytest.mark.e2e
def test_at_a_terminal_the_demo_is_the_page() -> None:
    """The link logs a browser in, every kind is there, and Ctrl-C ends it."""
    terminal, inside = pty.openpty()
    process = subprocess.Popen(DEMO, cwd=ROOT, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    try:
        told = b""
        while b"Ctrl-C" not in told:
            told += os.read(terminal, 4096)
        link = next(each for each in told.decode().split() if each.startswith("http"))
        keeps = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert "Simulated" in keeps.open(link).read().decode()
        cells = f"{link.partition('/enter')[0]}/api/v1/cells"
        kinds = {"simulated", "upgrades", "policies", "integrations", "promotions"}

        def found() -> set[str]:
            every = json.load(keeps.open(cells))["items"]
            return {each["rollout"].partition("/")[0] for each in every}

        until(lambda: found() == kinds, "every kind is on the page")
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(LASTS_S) in (0, -signal.SIGINT), told
        assert b"nothing is kept" in os.read(terminal, 4096)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        os.close(terminal)
