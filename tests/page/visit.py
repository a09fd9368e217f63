"""A person at a Chromium, for every module of browser tests."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.patience import PATIENCE_S

AXE = Path(os.environ.get("AXE_CORE", Path(__file__).parents[2] / "build" / "axe.min.js"))


def until(found: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> float:
    """Wait until something is so; how long it took."""
    begun = time.monotonic()
    while not found():
        assert time.monotonic() - begun < patience_s, f"not in {patience_s} s: {what}"
        time.sleep(0.05)
    return time.monotonic() - begun


class Visitor:
    """A person at a browser, and all that went wrong in it."""

    def __init__(self, browser: Browser, url: str, token: str, **context: object) -> None:
        self.context = browser.new_context(**context)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_S * 1000)
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self._console(said.type, said.text))
        self.url = url
        self.page.goto(f"{url}/")
        self.page.fill("#token", token)
        self.page.click("button.primary")
        self.page.wait_for_selector("#top")

    def _console(self, kind: str, text: str) -> None:
        # Chromium itself logs an answer that is an error, and a stream that ends.
        if kind == "error" and "Failed to load resource" not in text:
            self.wrong.append(text)

    def open(self, path: str) -> Page:
        """Another address."""
        self.page.goto(f"{self.url}{path}")
        return self.page

    def is_live(self) -> bool:
        """Whether the page says so."""
        return self.page.get_attribute("#live", "data-state") == "live"

    def said(self, where: str) -> str:
        """The text of a part."""
        return " ".join(self.page.inner_text(where).split())

    def fits(self, width: int) -> bool:
        """Whether nothing is wider than the screen."""
        return int(self.page.evaluate("document.documentElement.scrollWidth")) <= width


def violations(page: Page) -> list[str]:
    """What axe finds; where it is not there, CI fails."""
    if not AXE.is_file():
        if os.environ.get("CI") == "true":
            pytest.fail("no axe-core here: `bash .ci/axe` fetches it", pytrace=False)
        return []
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary']}"
        for each in found["violations"]
    ]
