"""`make demo`, from beginning to end, and every command it offers, word for word."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VENV = Path(sys.executable).parents[1]
LASTS_S = 300


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    """A command where the demo is shown."""
    env = {**os.environ, "NO_COLOR": "1", "PYTHONUTF8": "1", "COLUMNS": "80"}
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LASTS_S, check=False
    )


@pytest.mark.e2e
def test_the_demo_tells_both_halves_and_what_it_offers_works() -> None:
    """Four commands at its end."""
    done = run("make", "--no-print-directory", "demo", f"VENV={VENV.relative_to(ROOT)}")
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
