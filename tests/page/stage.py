"""A service with a page over a journal, a person that logs in, and a Chromium that looks at it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import yaml
from click.testing import CliRunner
from playwright.sync_api import Browser, sync_playwright
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from tests.api.stage import Client, Replied, Service
from tests.real import needed
from tidegate.access.roles import Role
from tidegate.api.route_table import ACTS
from tidegate.cli.main import cli
from tidegate.page.pages import ServicePages

T = TypeVar("T")
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
        return Reader(self.app, self.client(role, **limits).token)


class Reader:
    """A person with a browser that has no JavaScript."""

    def __init__(self, app: Starlette, token: str) -> None:
        self.token = token
        self._client = Client(app, bare=True)
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
    written, path = folder / "stage.yaml", folder / "stage.db"
    written.write_text(yaml.safe_dump(dict(scenario), allow_unicode=True))
    done = CliRunner().invoke(
        cli, ["run", "--scenario", str(written), "--once", "--database", str(path)]
    )
    assert done.exit_code == 0, done.output
    return path


def elsewhere(act: Callable[[], T]) -> T:
    """What another person does meanwhile: in a thread, for a browser has the loop of this one."""
    found: list[T] = []
    thread = threading.Thread(target=lambda: found.append(act()))
    thread.start()
    thread.join(30)
    assert found, "it failed in its thread"
    return found[0]


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
