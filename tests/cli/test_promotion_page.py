"""The page on promotions is played on the repositories that it says to make, and prints just that.

Ages and commits of the day it is played on are no part of what is compared.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import typed

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/guides/promotions.md"
_SESSION = re.compile(r"^```session\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OF_THE_DAY = re.compile(r"\b\d+d(\d+h)?\b|\b\d+h(\d+m)?\b|(?<=commit )[0-9a-f]{10}")


def test_the_page_prints_what_it_says(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """All commands of the page, one after the other, in the same clone."""
    play = tmp_path / "play"
    subprocess.run([sys.executable, str(ROOT / "examples/promotion.py"), str(play)], check=True)
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONUTF8": "1",
        "NO_COLOR": "1",
    }

    def played(found: re.Match[str]) -> str:
        lines = [line for line in found[1].splitlines() if line.startswith("$ ")]
        printed = "".join(
            f"{line}\n{typed(line[2:], play / 'app-interface', env).stdout}" for line in lines
        )
        return f"```session\n{printed.replace(str(tmp_path), '')}```"

    text = PAGE.read_text(encoding="utf-8")
    told = _SESSION.sub(played, text)
    if request.config.getoption("--rewrite", default=False):
        PAGE.write_text(told, encoding="utf-8")
        return
    assert _plain(told) == _plain(text)


def _plain(text: str) -> str:
    # Columns are as wide as their widest cell.
    return re.sub(r" +", " ", _OF_THE_DAY.sub("…", text))
