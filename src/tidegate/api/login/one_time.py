"""A link that logs one browser in, once: for a service on this machine that its owner just started.

The secret is 256 random bits, kept in memory and forgotten with its first use. It is only made for
an address of the loopback, which no other machine can reach.
"""

import ipaddress
import secrets

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tidegate.api.login.browser import BrowserLogin
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

PATH = "/enter/{secret}"
_BYTES = 32


class OneTimeLink:
    """A path that begins a session for a token, the first time it is asked for."""

    def __init__(self, login: BrowserLogin, token: str, host: str) -> None:
        check_loopback(host)
        self._login = login
        self._token = token
        self._secret = secrets.token_urlsafe(_BYTES)

    @property
    def path(self) -> str:
        """What to open."""
        return PATH.format(secret=self._secret)

    def route(self) -> Route:
        """For Starlette."""
        return Route(PATH, self._enter)

    async def _enter(self, request: Request) -> Response:
        """A session; a link that was used leads to the page, which asks for a login."""
        given = request.path_params["secret"]
        if not self._secret or not secrets.compare_digest(given.encode(), self._secret.encode()):
            return RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
        self._secret = ""
        answer = await self._login.begin_session(request, self._token, "/")
        answer.headers["Cache-Control"] = "no-store"
        answer.headers["Referrer-Policy"] = "no-referrer"
        return answer


def check_loopback(host: str) -> None:
    """UserError if other machines reach an address."""
    if not is_loopback(host):
        problem = f"{host} can be reached from other machines; a link that logs in must not be"
        raise UserError((Problem("--listen", problem, "write 127.0.0.1:8080"),))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
