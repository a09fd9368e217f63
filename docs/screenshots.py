"""Pictures of the page for the README and the guide, taken from the demo by a Chromium.

    make setup && .venv/bin/python docs/screenshots.py [--only NAME] [--into FOLDER]

They show whatever the page shows then, so they are taken again when the page changes. CHROMIUM
names another browser than `chromium`.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
# A picture is part of every clone.
BYTES_MAX = 150_000
PATIENCE_S = 120.0
DEMO = ROOT / "examples" / "demo"
POLICY = "policies/policies.baseline"


class Shot(NamedTuple):
    """One picture: of which address, how large, and what is done before it is taken."""

    name: str
    path: str
    size: tuple[int, int]
    scheme: str
    act: Callable[[Page], object] = lambda page: page.wait_for_selector("#top")


def _mapped(page: Page) -> None:
    _until(lambda: page.get_attribute("#map", "data-drawn"), "the map is drawn")


def _held(page: Page) -> None:
    _mapped(page)
    page.click("text=Hold everything…")
    page.wait_for_selector("#reach .sum")
    page.fill("#reason", "incident 42")
    _until(lambda: "incident 42" in page.inner_text("#act-command"), "the command has the reason")


SHOTS = (
    Shot("page-fleet", f"/?rollout={POLICY}&target=canary-2", (1280, 760), "light", _mapped),
    Shot("page-hold", "/", (1280, 760), "dark", _held),
    Shot("page-rollout", "/rollout/simulated/edge", (1280, 620), "light"),
    Shot("page-phone", "/", (390, 760), "dark", _mapped),
)


def main() -> None:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=[each.name for each in SHOTS])
    parser.add_argument("--into", type=Path, default=IMAGES)
    asked = parser.parse_args()
    wanted = [each for each in SHOTS if not asked.only or each.name in asked.only]
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if program is None:
        sys.exit("no chromium here; CHROMIUM names another browser")
    with _demo() as link, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        home, kept = link.partition("/enter")[0], browser.new_context()
        first = kept.new_page()
        first.goto(link)
        _until(lambda: _has_failed(first, home), "the canary failed")
        login = kept.storage_state()
        for each in wanted:
            width, height = each.size
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=each.scheme,  # type: ignore[arg-type]
                storage_state=login,
            )
            page = context.new_page()
            page.goto(home + each.path)
            each.act(page)
            _until(partial(_is_live, page), "it is live")
            path = asked.into / f"{each.name}.png"
            page.screenshot(path=path)
            context.close()
            print(f"{path}: {path.stat().st_size // 1000} kB")
            if path.stat().st_size > BYTES_MAX:
                sys.exit(f"{path} has more than {BYTES_MAX} bytes: show less")
        browser.close()


def _is_live(page: Page) -> bool:
    return page.get_attribute("#live", "data-state") == "live"


def _has_failed(page: Page, home: str) -> bool:
    """Whether the policy failed on its canary: there is something to see."""
    page.goto(f"{home}/journal?rollout={POLICY}&target=canary-2")
    return "Failed" in page.inner_text("#entries")


@contextmanager
def _demo() -> Iterator[str]:
    """The service of `make demo`, and the link that logs in."""
    with tempfile.TemporaryDirectory() as folder:
        play = Path(folder) / "play"
        made = [sys.executable, str(ROOT / "examples" / "promotion.py"), str(play)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        command = [sys.executable, "-m", "tidegate", "simulate", "page", "--promotions", str(play)]
        for name in ("payments", "search", "edge"):
            command += ["--scenario", str(DEMO / f"{name}.yaml")]
        command += ["--upgrades", str(ROOT / "examples" / "fortnight.yaml")]
        command += [
            "--policies",
            str(DEMO / "policies.yaml"),
            "--brakes",
            str(DEMO / "brakes.yaml"),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        try:
            assert process.stdout is not None
            yield next(line.strip() for line in process.stdout if "/enter/" in line)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)


def _until(found: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not found():
        if time.monotonic() > end:
            sys.exit(f"not within {PATIENCE_S:.0f} s: {what}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
