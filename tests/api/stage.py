"""A journal with a rollout under way, the API over it, and a client that speaks ASGI to it."""

import asyncio
import contextvars
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
from starlette.applications import Starlette

from tests.patience import PATIENCE_S
from tidegate.access.policy_doc import AccessPolicy
from tidegate.access.roles import Role
from tidegate.api.dispatch import Api
from tidegate.api.live.live_journals import LiveJournals
from tidegate.api.login.login import Login
from tidegate.api.route import BASE
from tidegate.api.route_table import ACTS, QUESTIONS
from tidegate.app.access.tokens import TokenRequest, create_token
from tidegate.kind_table import rules_of
from tidegate.kubernetes.review_port import TokenReviews
from tidegate.machine.clock import Clock
from tidegate.machine.system_clock import SystemClock
from tidegate.oidc.issuer import Issuer
from tidegate.store.archive_port import Archive
from tidegate.wiring import open_store

ROLLOUT = Path(__file__).parents[2] / "examples" / "rollout.yaml"
PARTITION = "simulated/rollout"

T = TypeVar("T")

# What is beside the API.
_ROOTS = ("/openapi", "/auth")


class Replied(msgspec.Struct, frozen=True):
    """An answer: its status, headers and text."""

    status: int
    headers: dict[str, str]
    text: str
    # Every Set-Cookie, whole.
    cookies: tuple[str, ...] = ()

    @property
    def json(self) -> Any:
        """The document."""
        return json.loads(self.text)

    @property
    def tag(self) -> str:
        """The plan it shows."""
        return self.headers["etag"]


class Client:
    """Asks an application as one caller."""

    def __init__(
        self,
        app: Starlette,
        token: str = "",
        *,
        bare: bool = False,
        run: Callable[[Coroutine[Any, Any, Replied]], Replied] = asyncio.run,
    ) -> None:
        """`bare`: its paths are whole, and not below that of the API."""
        self._app = app
        self.token = token
        self._bare = bare
        self._run = run

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Replied:
        """The answer to a question."""
        return self.send("GET", path, b"", headers or {})

    def post(self, path: str, body: object, **headers: str) -> Replied:
        """The answer to an act; headers by their names with underscores."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", path, raw, {"content-type": "application/json", **sent})

    def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Replied:
        """One request."""
        return self._run(self._send(method, path, body, headers))

    async def _send(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> Replied:
        where, _, query = path.partition("?")
        login = {"authorization": f"Bearer {self.token}"} if self.token else {}
        raw = [(k.encode(), v.encode()) for k, v in {**login, **headers}.items()]
        scope = {
            "type": "http",
            "method": method,
            "path": where if self._bare or where.startswith(_ROOTS) else BASE + where,
            "raw_path": where.encode(),
            "query_string": query.encode(),
            "headers": raw,
            "http_version": "1.1",
            "scheme": "http",
            "server": ("test", 80),
            "client": ("test", 1),
            "root_path": "",
        }
        sent: list[Any] = []
        bodies = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return bodies.pop(0) if bodies else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start = sent[0]
        found = {k.decode(): v.decode() for k, v in start["headers"]}
        text = b"".join(each.get("body", b"") for each in sent[1:]).decode()
        kept = [v.decode() for k, v in start["headers"] if k == b"set-cookie"]
        return Replied(start["status"], found, text, tuple(kept))


class Service:
    """An API over a journal of its own."""

    def __init__(
        self,
        journal: Path,
        policy: AccessPolicy = AccessPolicy(),  # noqa: B008
        reviews: TokenReviews | None = None,
        clock: Clock = SystemClock(),  # noqa: B008
    ) -> None:
        self.archive: Archive = open_store(str(journal))
        live = LiveJournals(self.archive, rules_of, clock)
        issuer = None if policy.oidc is None else Issuer(policy.oidc.settings, clock)
        self.login = Login(self.archive, clock, policy, issuer, reviews)
        self.api = Api(live, self.login, QUESTIONS, ACTS, "test")
        self.app = Starlette(routes=self.api.routes())
        # None: every request has a loop of its own.
        self._runner: asyncio.Runner | None = None
        self._thread = threading.current_thread()

    def __enter__(self) -> Self:
        """One loop for all requests of this thread, as in a server: threads and connections stay.

        To make them anew took as long as half of the answers.
        """
        self._runner = asyncio.Runner()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, request: Coroutine[Any, Any, T]) -> T:
        """The answer to a request."""
        if self._runner is None or threading.current_thread() is not self._thread:
            return asyncio.run(request)
        return self._runner.run(request, context=contextvars.copy_context())

    def close(self) -> None:
        """End what reads the journal, then close it."""
        if self._runner is not None:
            self._runner.close()
        self.api.close()
        self.api._live.close()
        self.archive.close()

    def client(self, role: Role = Role.ADMIN, **limits: Any) -> Client:
        """A client with a token of its own; `limits` are those of `TokenRequest`."""
        name = f"{role.value}-{len(list(self.archive.read('access')))}"
        token = f"tidegate_{name}"
        request = TokenRequest(name=name, role=role, reason="a test", **limits)
        create_token(self.archive, request, token, SystemClock().now(), "test")
        return Client(self.app, token, run=self.run)


# The targets of a rollout, by group; each group is an environment, and of an organisation.
TARGETS = {
    "dev": ("dev-1", "dev-2"),
    "stage": ("stage-1", "stage-2"),
    "prod": tuple(f"prod-{i}" for i in range(1, 7)),
}
# The person who proposed what goes out.
AUTHOR = "ann@example.com"
_LABELS = (
    ("clusters: [dev-1, dev-2]}", "clusters: [dev-1, dev-2], labels: {env: dev, org: o-web}}"),
    (
        "clusters: [stage-1, stage-2]}",
        "clusters: [stage-1, stage-2], labels: {env: stage, org: o-web}}",
    ),
    ("labels: {region: eu}}", "labels: {region: eu, env: prod, org: o-pay}}"),
)


def rollout_journal(folder: Path, author: str = AUTHOR) -> Path:
    """A journal in which a rollout was decided once."""
    path, text = folder / "rollout.db", ROLLOUT.read_text(encoding="utf-8")
    for before, after in _LABELS:
        assert before in text
        text = text.replace(before, after)
    text += f"\nauthor: {author}\n" if author else ""
    scenario = folder / ROLLOUT.name
    scenario.write_text(text, encoding="utf-8")
    return decided_once(scenario, path)


def elsewhere(act: Callable[[], T]) -> T:
    """What is done in a thread: while a Chromium is open, that of its test has a running loop."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(act).result(PATIENCE_S)


def decided_once(scenario: Path, journal: Path) -> Path:
    """A journal in which a scenario was decided once.

    By a process: while a Chromium is open, the thread of its test has a running loop.
    """
    words = ["run", "--scenario", str(scenario), "--once", "--database", str(journal)]
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return journal


def copied(journal: Path, folder: Path) -> Path:
    """A journal of one's own."""
    return Path(shutil.copy(journal, folder / "journal.db"))
