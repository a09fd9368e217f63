"""What a terminal gets: colour, but nothing else of a text of others that it would obey."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import tidegate
from tests.patience import PATIENCE_S
from tidegate.cli.render.terminal import visible

EVIL = "\x1b]0;mine\x07\x1b[2Jgone\x1b[31mred\u202e"


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain, café ✓\tand\r\n", "plain, café ✓\tand\r\n"),
        ("\x1b[31mred\x1b[0m\x1b[1;32m", "\x1b[31mred\x1b[0m\x1b[1;32m"),
        ("\r\x1b[K3 of 4", "\r\x1b[K3 of 4"),
        ("\x1b]0;mine\x07", "␛]0;mine␇"),
        ("\x1b[2J\x1b[1;1H\x1bc\x1b", "␛[2J␛[1;1H␛c␛"),
        ("\x7f\x9b2J\u202e\x00", "␡�2J�␀"),
    ],
)
def test_a_terminal_finds_nothing_to_obey_but_colour(text: str, shown: str) -> None:
    """Any other control character is its picture."""
    assert visible(text) == shown


def test_a_reason_does_not_rule_the_terminal_of_its_reader(tmp_path: Path) -> None:
    """Of a hold that another person set."""
    base = ["--database", str(tmp_path / "journal.db")]
    hold = ("hold", "add", "x", "--everything", "--reason", EVIL, "--yes", "--create", *base)
    assert tidegate(*hold).returncode == 0
    read = ["get", "holds", *base]
    reader, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tidegate", *read], stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    try:
        text = b""
        while part := _read(reader):
            text += part
        assert process.wait(PATIENCE_S) == 0, text
    finally:
        process.kill()
        os.close(reader)
    said = text.decode()
    assert "␛]0;mine␇␛[2Jgone" in said
    assert "\x1b[31mred�" in said
    assert "Exception" not in said


def _read(terminal: int) -> bytes:
    """What was written to it; empty once no process has it open."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
