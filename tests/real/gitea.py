"""A real Gitea on this machine, started for the tests, with projects and people of its own."""

import asyncio
import itertools
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.forge.bare import bare_repository, commit, git
from tests.forge.hosted import QUICK
from tests.forge.world import JANE, US, User
from tests.patience import PATIENCE_S
from tests.real import WANTED
from tests.real.prometheus import free_port
from tidegate.forge.client.gitea import GiteaForge
from tidegate.forge.port import CheckStatus, StatusState

ROOT = Path(__file__).parents[2]
START_TIMEOUT_S = PATIENCE_S
# A real one takes its time, on a busy machine more of it.
PATIENT = replace(QUICK, timeout_s=60.0)
PASSWORD = "Open-Sesame-1"
CONFIG = """\
APP_NAME = tests
RUN_MODE = prod
WORK_PATH = {folder}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {static}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db
SQLITE_JOURNAL_MODE = WAL
[repository]
ROOT = {folder}/repositories
[security]
INSTALL_LOCK = true
SECRET_KEY = tests
PASSWORD_HASH_ALGO = bcrypt$4
[actions]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
[log]
MODE = console
LEVEL = warn
"""


def needed_gitea() -> Path:
    """The folder of a Gitea; where it is missing, the test fails or is skipped, and says why."""
    looked = subprocess.run(
        ["bash", str(ROOT / "dev/gitea/build"), "look"], capture_output=True, text=True, check=False
    )
    if looked.returncode == 0:
        return Path(looked.stdout.strip())
    how = "`make e2e` builds one (dev/gitea/build), or set GITEA"
    # CI on two cores has no time to build one, and says so (.ci/run).
    if WANTED and not os.environ.get("GITEA_LEFT_OUT"):
        pytest.fail(f"no Gitea here: {how}", pytrace=False)
    pytest.skip(f"no Gitea here: {how}")


class Gitea:
    """A server, and what its administrator can do."""

    def __init__(self, folder: Path, url: str, tokens: dict[str, str]) -> None:
        self.folder = folder
        self.url = url
        self.tokens = tokens
        self._numbers = itertools.count(1)

    def ask(self, user: User, method: str, path: str, body: object = None) -> Any:
        """The answer to a client."""
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"token {self.tokens[user.login]}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read() or b"null")

    def project(self, folder: Path) -> "GiteaProject":
        """A new project of one commit, and a clone to push from."""
        name = f"config-{next(self._numbers)}"
        self.ask(US, "POST", "/user/repos", {"name": name, "default_branch": "main"})
        clone = bare_repository(folder / name)
        found = GiteaProject(self, f"{US.login}/{name}", clone)
        found.push("main")
        end = time.monotonic() + START_TIMEOUT_S
        # It takes a moment to notice that there is something in it now.
        while self.ask(US, "GET", f"/repos/{US.login}/{name}")["empty"]:
            assert time.monotonic() < end, f"{name} stays empty"
            time.sleep(0.05)
        return found


class GiteaProject:
    """A project on a real Gitea, and who else is there."""

    def __init__(self, server: Gitea, path: str, clone: Path) -> None:
        self._server = server
        self._path = f"/repos/{path}"
        self._clone = clone
        self.repository = server.folder / "repositories" / f"{path}.git"
        self.access = (f"{server.url}/api/v1", path, server.tokens[US.login])
        self.forge = GiteaForge(*self.access, PATIENT)
        # With the password, as git wants it.
        login = f"://{US.login}:{PASSWORD}@"
        self.remote = f"{server.url}/{path}.git".replace("://", login)

    def push(self, branch: str) -> None:
        """Push a branch as it is, as git does it."""
        git(self._clone, "push", "-q", "--force", self.remote, branch)

    def commit(self, branch: str, files: dict[str, str]) -> str:
        """Push a branch of one commit on main."""
        git(self._clone, "fetch", "-q", self.remote, "+main:main")
        made = commit(self._clone, branch, files, onto="main")
        self.push(branch)
        return made

    def invite(self, user: User) -> None:
        """Another person may push and merge."""
        path = f"{self._path}/collaborators/{user.login}"
        self._server.ask(US, "PUT", path, {"permission": "write"})

    async def merge(self, number: int, by: User = US) -> None:
        """Once it has found out whether it can be merged."""
        path = f"{self._path}/pulls/{number}/merge"
        for _ in range(100):
            try:
                await asyncio.to_thread(self._server.ask, by, "POST", path, {"Do": "merge"})
                return
            except urllib.error.HTTPError as error:
                error.close()
                if error.code != 405:
                    raise
            await asyncio.sleep(0.1)
        raise AssertionError(f"{path} is not merged")

    async def decline(self, number: int) -> None:
        """Close it."""
        self._server.ask(US, "PATCH", f"{self._path}/pulls/{number}", {"state": "closed"})

    async def say(self, number: int, text: str) -> None:
        """By another person."""
        self._server.ask(JANE, "POST", f"{self._path}/issues/{number}/comments", {"body": text})

    async def comments(self, number: int) -> list[str]:
        """As anyone reads them."""
        found = self._server.ask(JANE, "GET", f"{self._path}/issues/{number}/comments")
        return [each["body"] for each in found]

    async def statuses(self, sha: str) -> list[CheckStatus]:
        """The last word of each."""
        found = self._server.ask(JANE, "GET", f"{self._path}/commits/{sha}/status")
        return [
            CheckStatus(
                name=each["context"],
                state=StatusState(each["status"]),
                text=each["description"],
                url=each["target_url"],
            )
            for each in found["statuses"]
        ]


@contextmanager
def gitea(programs: Path, folder: Path) -> Iterator[Gitea]:
    """A server until the end, with two people."""
    port = free_port()
    config = folder / "app.ini"
    values = {"folder": folder, "port": port, "static": programs}
    config.write_text(CONFIG.format(**values), encoding="utf-8")
    command = [str(programs / "gitea"), "--config", str(config), "--work-path", str(folder)]
    _run(*command, "migrate")
    tokens = {user.login: _account(command, user) for user in (US, JANE)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, "web"], stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(process, url, folder / "log")
        yield Gitea(folder, url, tokens)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)


def _account(command: list[str], user: User) -> str:
    """Make an account; its token."""
    said = _run(
        *command,
        *("admin", "user", "create", "--username", user.login, "--fullname", user.name),
        *("--email", user.email, "--password", PASSWORD, "--must-change-password=false"),
        *("--access-token", "--access-token-scopes", "write:repository,write:issue,write:user"),
    )
    found = re.search(r"\b[0-9a-f]{40}\b", said)
    assert found is not None, said
    return found[0]


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{url}/api/healthz", timeout=5):
                return
        except OSError:
            assert process.poll() is None, log.read_text(encoding="utf-8")[-2000:]
            time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8")[-2000:])
