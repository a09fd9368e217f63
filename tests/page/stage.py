"""A service with a page over a journal, a person that logs in, and a Chromium that looks at it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from tests.api.stage import Client, Replied, Service, decided_once
from tests.real import needed
from tidegate.access.roles import Role
from tidegate.api.route_table import ACTS
from tidegate.page.pages import ServicePages

SAME_SITE = {"sec-fetch-site": "same-origin"}
FORM = {"content-type": "application/x-www-form-urlencoded", **SAME_SITE}


class PageService(Service):
    """An API with its page, over a journal of its own."""

    def __init__(self, journal: Path) -> None:
        super().__init__(journal)
        live, login = self.api._live, self.api._login
        routes = [*self.api.routes(), *ServicePages(live, login, ACTS).routes()]
        squeeze = Middleware(GZipMiddleware, minimum_size=500)
        self.app = Starlette(routes=routes, middleware=[squeeze])

    def reader(self, role: Role = Role.ADMIN, **limits: Any) -> "Reader":
        """A person with a token of this role, who has not logged in."""
        return Reader(self, self.client(role, **limits).token)


class Reader:
    """A person with a browser that has no JavaScript."""

    def __init__(self, service: PageService, token: str) -> None:
        self.token = token
        self._client = Client(service.app, bare=True, run=service.run)
        self.cookie = ""

    def get(self, path: str, **headers: str) -> Replied:
        """A page."""
        return self._client.send("GET", path, b"", {**self._kept(), **headers})

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Replied:
        """The answer to a form."""
        sent = {**FORM, **self._kept(), **headers}
        return self._client.send("POST", path, urlencode(fields).encode(), sent)

    def log_in(self) -> "Reader":
        """A session by the token."""
        answer = self.post("/auth/token", {"token": self.token, "next": "/"})
        assert answer.status == 303, answer
        self.cookie = answer.cookies[0].partition(";")[0]
        return self

    def _kept(self) -> dict[str, str]:
        return {"cookie": self.cookie} if self.cookie else {}


def journal_of(folder: Path, scenario: Mapping[str, object]) -> Path:
    """A journal in which a scenario was decided once."""
    written, path = folder / "stage.json", folder / "stage.db"
    written.write_text(json.dumps(scenario))
    return decided_once(written, path)


@contextmanager
def browsing() -> Iterator[Browser]:
    """A Chromium; while it is open, this thread has a running loop."""
    program = needed("chromium", "CHROMIUM", "chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
