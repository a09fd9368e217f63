"""Sessions on pages are played on what is simulated, and print what the pages say."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command import typed
from tests.forked import TIDEGATE, Forked
from tests.managed import example, managed
from tests.pasted import lines_of

ROOT = Path(__file__).parents[2]
BUNDLE = "examples/app-interface"
PAGES = [ROOT / "docs/guides/integrations.md"]
OWNERS = ROOT / "docs/guides/upgrades-for-owners.md"
# That integrations of the example run on.
CLUSTERS = 2
STOP_S = 60.0
_SESSION = re.compile(r"^```session\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@contextmanager
def clusters(config: Path) -> Iterator[None]:
    """The clusters of the example, for as long as a page is played."""
    command = [*TIDEGATE, "clusters", "simulate", BUNDLE]
    served = Forked[str](
        [*command, "--kubeconfig", str(config)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert served.stdout is not None
    try:
        # A line for each cluster, once it is there.
        assert all(served.stdout.readline() for _ in range(CLUSTERS)), "no clusters to play on"
        yield
    finally:
        served.terminate()
        served.communicate(timeout=STOP_S)


def played_on(page: Path, env: dict[str, str], rewrite: bool) -> None:
    """All commands of a page, one after the other, each below what it is to print."""

    def played(found: re.Match[str]) -> str:
        lines = [line for line in found[1].splitlines() if line.startswith("$ ")]
        printed = "".join(f"{line}\n{typed(line[2:], ROOT, env).stdout}" for line in lines)
        printed = printed.replace(f"{env['HOME']}/", "")  # a folder of this run
        return f"```session\n{printed}```"

    text = page.read_text(encoding="utf-8")
    told = _SESSION.sub(played, text)
    if rewrite:
        page.write_text(told, encoding="utf-8")
        return
    assert told == text


def environment(folder: Path, **mine: str) -> dict[str, str]:
    """A person's, in a folder of their own, with our tools on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(folder), "PYTHONUTF8": "1", "NO_COLOR": "1", **mine}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_session_prints_what_its_page_says(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On the same clusters, from the first command to the last."""
    config = tmp_path / "kubeconfig"
    # What is applied by hand is written down: not in this checkout.
    kept = str(tmp_path / "tidegate.db")
    env = environment(
        tmp_path, KUBECONFIG=str(config), XDG_CACHE_HOME=str(tmp_path), TIDEGATE_DATABASE=kept
    )
    with clusters(config):
        played_on(page, env, request.config.getoption("--rewrite", default=False))


def test_what_owners_declare_is_as_their_page_says(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On the example's OpenShift Cluster Manager, with the variables that the page sets."""
    token = re.findall(r"OCM_TOKEN=([a-z-]+)", OWNERS.read_text(encoding="utf-8"))[0]
    with managed(example()) as at:
        env = environment(tmp_path, TIDEGATE_OCM_URL=at.url, OCM_TOKEN=token)
        played_on(OWNERS, env, request.config.getoption("--rewrite", default=False))


PLAYED = ["docs/tutorial/start.md", "docs/guides/brakes.md", "docs/guides/journal.md"]
"""Pages whose blocks of commands are played with the rollout that the tutorial starts."""


def test_blocks_of_pages_can_be_pasted(tmp_path: Path) -> None:
    """Every command succeeds as it stands, except those that never end or need another rollout."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    env = environment(tmp_path)
    start, *rest = [line for page in PLAYED for line in _typed(ROOT / page)]
    words = shlex.split(start)[1:]
    worker = Forked[str]([*TIDEGATE, *words], cwd=tmp_path, env=env, text=True)
    try:
        _wait_for("tidegate get rollouts -o name | grep simulated/demo", tmp_path, env)
        failed = [line for line in rest if typed(line, tmp_path, env).returncode]
    finally:
        worker.terminate()
        worker.communicate(timeout=STOP_S)
    assert len(rest) > 20
    assert not failed


def _typed(page: Path) -> list[str]:
    """The commands in the `sh` blocks of a page, but for those that never end or need another."""
    blocks = re.findall(
        r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = [line for block in blocks for line in lines_of(block)]
    return [line for line in lines if not re.search(r" -w\b|change-board", line)]


def _wait_for(command: str, folder: Path, env: dict[str, str]) -> None:
    deadline = time.monotonic() + STOP_S
    while typed(command, folder, env).returncode:
        assert time.monotonic() < deadline, f"still not so: {command}"
        time.sleep(0.2)
