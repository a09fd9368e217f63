"""A real Dex on this machine, and a person who logs in at its pages."""

import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urljoin

from tests.patience import PATIENCE_S
from tests.real import built
from tests.real.kube import Guard, Process
from tests.real.prometheus import free_port

EMAIL, PASSWORD = "ann@example.com", "password"
CLIENT, COMMAND_LINE, SECRET = "tidegate", "tidegate-cli", "of-the-page"
# bcrypt of the password above.
_HASH = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"


def needed_dex() -> Path:
    """The program; where it is missing, the test fails or is skipped, and says why."""
    return built("dex", "Dex", "DEX") / "dex"


class Dex:
    """An issuer with two people; one of them is of the group payments."""

    def __init__(self, program: Path, folder: Path, service: str, guard: Guard) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/dex"
        person = {"hash": _HASH, "emailVerified": True}
        config = {
            "issuer": self.url,
            "storage": {"type": "memory"},
            "web": {"http": f"127.0.0.1:{port}"},
            "logger": {"level": "info"},
            "oauth2": {"skipApprovalScreen": True},
            # So short that a command line renews its token each time.
            "expiry": {"idTokens": "30s"},
            "enablePasswordDB": True,
            "staticPasswords": [
                {
                    **person,
                    "email": EMAIL,
                    "username": "ann",
                    "userID": "u-1",
                    "groups": ["payments"],
                },
                {**person, "email": "bob@example.com", "username": "bob", "userID": "u-2"},
            ],
            "staticClients": [
                {
                    "id": CLIENT,
                    "secret": SECRET,
                    "name": "page",
                    "redirectURIs": [f"{service}/auth/callback"],
                },
                {"id": COMMAND_LINE, "name": "command line", "public": True},
            ],
        }
        path = folder / "dex.json"
        path.write_text(json.dumps(config))
        self.process = Process("dex", [str(program), "serve", str(path)], folder, guard)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process.start()
        self.process.wait(self._answers)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def running_dex(program: Path, folder: Path, service: str) -> Iterator[Dex]:
    """A Dex for a service at an address, until the end."""
    guard = Guard()
    made = Dex(program, folder, service, guard)
    made.start()
    try:
        yield made
    finally:
        made.process.stop()
        guard.dismiss()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Followed by hand."""


class Person:
    """Someone with a browser: cookies, redirects, and forms that are filled in."""

    def __init__(self, email: str = EMAIL, password: str = PASSWORD) -> None:
        self._email = email
        self._password = password
        jar = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(_Stay, jar)
        # Where it has been, and what it sends of itself as browsers do.
        self.visited: list[str] = []

    def goes(self, url: str, form: dict[str, str] | None = None, **headers: str) -> tuple[str, str]:
        """Where an address leads in the end, and the text there; a login page is filled in."""
        for _ in range(20):
            self.visited.append(url)
            status, text, following = self._asked(url, form, headers)
            form = None
            if following:
                url = urljoin(url, following)
            elif 'name="password"' in text:
                url = urljoin(url, _action(text))
                form = {"login": self._email, "password": self._password}
            elif 'name="user_code"' in text:
                code = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["user_code"][0]
                url, form = urljoin(url, _action(text)), {"user_code": code}
            else:
                return url, f"{status} {text}"
        raise AssertionError(f"it leads on and on: {self.visited}")

    def _asked(
        self, url: str, form: dict[str, str] | None, headers: dict[str, str]
    ) -> tuple[int, str, str]:
        data = None if form is None else urllib.parse.urlencode(form).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(url, data, named)
        try:
            with self._opener.open(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode(), ""
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(), error.headers.get("Location", "")


def _action(text: str) -> str:
    found = re.search(r'<form[^>]*action="([^"]*)"', text)
    return "" if found is None else found[1].replace("&amp;", "&")


if (
    __name__ == "__main__"
):  # as the browser of a command line: BROWSER="python -m tests.real.dex %s"
    where, said = Person().goes(sys.argv[1])
    sys.exit(0 if "Logged in" in said else f"{where}: {said}")
