"""promtool: what Prometheus itself has to say about metrics, rules and expressions."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.patience import PATIENCE_S
from tests.real import needed


def promtool(*words: str | Path, given: bytes | None = None) -> str:
    """What promtool says, well or not; the test is skipped where there is none, or fails in CI."""
    beside = Path(os.environ.get("PROMETHEUS", "prometheus")).with_name("promtool")
    program = shutil.which(beside) or needed("promtool", "PROMTOOL", "prometheus")
    done = subprocess.run(
        [program, *words], input=given, capture_output=True, check=False, timeout=PATIENCE_S
    )
    told = (done.stdout + done.stderr).decode()
    return told if done.returncode == 0 else f"exit {done.returncode}: {told}"
