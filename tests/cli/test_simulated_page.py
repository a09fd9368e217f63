"""`tidegate simulate page`: the real service over simulated fleets, as a process."""

import asyncio
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.command import tidegate
from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S, until
from tidegate.api.login.one_time import is_loopback
from tidegate.kinds.rollouts.simulated.life import living_scenarios
from tidegate.kinds.rollouts.start import read_scenario_file
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import UserError
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.fast_loop import SimulatedClock, run_fast

ROOT = Path(__file__).parents[2]
PAYMENTS = ROOT / "examples" / "demo" / "payments.yaml"


@contextmanager
def simulating(folder: Path, *args: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A page over the first scenario of the demo, and the link that it prints."""
    process = Forked[str](
        [*TIDEGATE, "simulate", "page", "--scenario", str(PAYMENTS), *args],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        link = next(line.strip() for line in process.stdout if "/enter/" in line)
        yield process, link
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def test_the_link_logs_in_once_the_fleet_lives_and_nothing_is_kept(tmp_path: Path) -> None:
    """A second browser with the same link has to log in; SIGINT ends it with 0."""
    with simulating(tmp_path, "--speed", "36000") as (process, link):
        first = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert (
            "Simulated: nothing here is real, and 10h passes per second"
            in first.open(link).read().decode()
        )
        other = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert other.open(link).geturl().endswith("/login?next=%2F")
        home = link.partition("/enter")[0]

        def failed() -> bool:
            return "pay-canary-2 Failed" in _said(first, f"{home}/journal?target=pay-canary-2")

        until(failed, "the canary fails")
        assert list(tmp_path.glob("tidegate-*/journal.db"))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert list(tmp_path.iterdir()) == []


def _said(opener: urllib.request.OpenerDirector, url: str) -> str:
    try:
        page = opener.open(url).read().decode()
    except HTTPError as error:
        page = error.read().decode()
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize(
    "host, is_here",
    [
        *((each, True) for each in ("127.0.0.1", "127.9.9.9", "::1", "localhost")),
        *((each, False) for each in ("0.0.0.0", "::", "10.0.0.1", "example.com", "")),
    ],
)
def test_a_link_is_made_for_this_machine_alone(host: str, is_here: bool) -> None:
    """Other addresses are refused."""
    assert is_loopback(host) is is_here


def test_an_address_that_others_reach_is_refused() -> None:
    """Before anything is simulated."""
    done = tidegate("simulate", "page", "--scenario", str(PAYMENTS), "--listen", "0.0.0.0:0")
    assert done.returncode == 2
    assert "can be reached from other machines" in done.stderr


def test_without_a_fleet_there_is_nothing_to_show() -> None:
    """It says what to write."""
    done = tidegate("simulate", "page")
    assert done.returncode == 2
    assert "write --scenario FILE" in done.stderr


def test_what_only_people_do_is_not_played(tmp_path: Path) -> None:
    """A scenario that pauses itself is refused, for the page is there to do it."""
    path = tmp_path / "paused.yaml"
    path.write_text(PAYMENTS.read_text() + "  - {at: 200h, pause: true}\n")
    found = read_scenario_file(str(path))
    with pytest.raises(UserError, match="pause is left to people here"):
        living_scenarios({"paused": found}, SystemClock(), 1.0)


def test_a_fast_loop_and_its_clock_agree() -> None:
    """An hour of sleep is an hour for both; how long it took us is not asked."""
    start = Instant(1_800_000_000 * SECOND)

    async def sleep() -> tuple[float, float]:
        clock, loop = SimulatedClock(SystemClock(), start, 36_000), asyncio.get_running_loop()
        before = loop.time()
        await asyncio.sleep(3600)
        return loop.time() - before, (clock.now() - start) / SECOND

    for passed in run_fast(sleep, 36_000):
        assert passed >= 3590
