"""Tests on real servers: in CI they must be there, elsewhere they are asked for by `make e2e`."""

import os
import shutil

import pytest

from tests.sim import IN_CI

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
