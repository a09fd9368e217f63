"""The page on handing over is played, worker and all, and prints what it says."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command import typed
from tests.forked import TIDEGATE, Forked
from tests.patience import LOOK_S, PATIENCE_S

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/guides/hand-over.md"
_BLOCK = re.compile(r"^```(sh|session)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_AGE = re.compile(r"\b\d+(ms|s|m\d+s|m|h\d+m)\b|\d{4}-\d\d-\d\dT[\d:.]+Z")
STOP_S = 60.0
# A command takes a tenth of this: asked much more often, it would be what takes the time.
POLL_S = 0.3


class Player:
    """A folder with a person's commands, and what they left running."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {
            "PATH": path,
            "HOME": str(folder),
            "PYTHONUTF8": "1",
            "NO_COLOR": "1",
            "KUBECONFIG": "rehearsal",
            "TIDEGATE_LISTEN": "127.0.0.1:0",
            # A change in Git is found by the next round; with the default, half a minute later.
            "TIDEGATE_RESYNC": "2s",
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def paste(self, line: str) -> None:
        """A command of an `sh` block: what never ends is left running, one of each."""
        if line.startswith("cp "):
            shutil.copytree(ROOT / "examples/app-interface", self.folder / "bundle")
        elif line.startswith("tidegate clusters simulate"):
            self._start("clusters", line.removesuffix(" &"))
            self._wait(lambda: (self.folder / "rehearsal").exists(), line)
        elif line.startswith("tidegate serve"):
            self.stop("serve")
            self._start("serve", line)
        elif line.startswith(("tidegate ", "rm ")):
            if "release" in line:
                self.stop("serve")
            done = typed(line, self.folder, self.env)
            assert done.returncode == 0, done.stdout
        else:
            assert line.startswith("export "), line

    def _start(self, name: str, line: str) -> None:
        quiet, words = subprocess.DEVNULL, shlex.split(line)[1:]
        self._running[name] = Forked(
            [*TIDEGATE, *words], cwd=self.folder, env=self.env, stdout=quiet, stderr=quiet
        )

    def stop(self, name: str) -> None:
        """End what was left running."""
        running = self._running.pop(name, None)
        if running is not None:
            running.terminate()
            running.communicate(timeout=STOP_S)

    def _wait(self, so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not so():
            assert time.monotonic() < deadline, f"it never happened: {what}"
            time.sleep(LOOK_S)

    def session(self, block: str, rewrite: bool) -> str:
        """What the commands of a block print; one is repeated until it prints what is expected."""
        printed = ""
        for command, expected in _commands(block):
            deadline = time.monotonic() + (25.0 if rewrite else PATIENCE_S)
            changes = command.startswith("sed ") or "--yes" in command
            found = self._type(command)
            while not changes and (rewrite or plain(found) != plain(expected)):
                if time.monotonic() > deadline:
                    break
                time.sleep(POLL_S)
                found = self._type(command)
            printed += f"$ {command}\n{found}"
        return printed

    def _type(self, command: str) -> str:
        return typed(command, self.folder, self.env).stdout


def _commands(block: str) -> list[tuple[str, str]]:
    """Each command of a session, and what it is to print."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].rstrip("\n"), ""))
        else:
            found[-1] = found[-1][0], found[-1][1] + line
    return found


def plain(text: str) -> str:
    """A text without what differs from day to day."""
    return re.sub(r" +", " ", _AGE.sub("…", text))


@contextmanager
def player(folder: Path) -> Iterator[Player]:
    """Whatever it leaves running is ended."""
    one = Player(folder)
    try:
        yield one
    finally:
        one.stop("serve")
        one.stop("clusters")


def test_the_page_on_handing_over_prints_what_it_says(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Observed, shadowed, adopted without a restart, acted on, and given back."""
    rewrite = bool(request.config.getoption("--rewrite", default=False))
    text = PAGE.read_text(encoding="utf-8")
    with player(tmp_path) as one:

        def played(found: re.Match[str]) -> str:
            if found[1] == "session":
                return f"```session\n{one.session(found[2], rewrite)}```"
            for line in found[2].splitlines():
                one.paste(line)
            return found[0]

        whole = _BLOCK.sub(played, text)
    if rewrite:
        PAGE.write_text(whole, encoding="utf-8")
        return
    assert plain(whole) == plain(text)
