"""Tests on real servers: in CI they must be there, elsewhere they are asked for by `make e2e`."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from tests.sim import IN_CI

ROOT = Path(__file__).parents[2]
WANTED = IN_CI or os.environ.get("TIDEGATE_REAL", "") == "required"


def needed(program: str, variable: str, package: str) -> str:
    """The path of a program; where it is missing, the test fails or is skipped, and says why."""
    found = os.environ.get(variable) or shutil.which(program)
    if found:
        return found
    how = f"apt-get install {package}, or {variable}=<its path>"
    if WANTED:
        pytest.fail(f"no {program} here: {how}", pytrace=False)
    pytest.skip(f"no {program} here; `make e2e` needs it: {how}")


def built(part: str, name: str, variable: str) -> Path:
    """The folder of what `dev/PART/build` makes; where it is missing, as above."""
    look = ["bash", str(ROOT / "dev" / part / "build"), "look"]
    looked = subprocess.run(look, capture_output=True, text=True, check=False)
    if looked.returncode:
        absent(name, f"`make e2e` builds one (dev/{part}/build), or set {variable}")
    return Path(looked.stdout.strip())


def absent(name: str, how: str) -> NoReturn:
    """What a test needs is not here: it fails, or is skipped."""
    if WANTED:
        pytest.fail(f"no {name} here: {how}", pytrace=False)
    pytest.skip(f"no {name} here: {how}")
