"""The pictures of the page in the docs: made by a script, small, and shown somewhere."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from docs.screenshots import BYTES_MAX, IMAGES, ROOT, SHOTS
from tests.real import needed


def _size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", png[16:24])
    return int(width), int(height)


@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.name)
def test_a_picture_is_as_its_script_makes_it(shot: object) -> None:
    """Of the size that is asked for, and small, for every clone has it."""
    name, size = shot.name, shot.size  # type: ignore[attr-defined]
    found = (IMAGES / f"{name}.png").read_bytes()
    assert _size(found) == size
    assert len(found) <= BYTES_MAX


def test_every_picture_of_the_page_is_made_by_the_script_and_shown() -> None:
    """None is left from before, and each is in the README or in a guide."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        name for each in pages for name in re.findall(r"images/([\w-]+\.png)\)", each.read_text())
    }
    there = {each.name for each in IMAGES.glob("*.png")}
    assert there == {f"{each.name}.png" for each in SHOTS} == shown


@pytest.mark.real
def test_the_script_takes_a_picture(tmp_path: Path) -> None:
    """Of the demo, as it is now."""
    needed("chromium", "CHROMIUM", "chromium")
    command = [sys.executable, str(ROOT / "docs" / "screenshots.py"), "--into", str(tmp_path)]
    done = subprocess.run(
        [*command, "--only", "page-phone"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert _size((tmp_path / "page-phone.png").read_bytes()) == (390, 760)
