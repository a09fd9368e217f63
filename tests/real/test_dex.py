"""Logins by a real Dex: in a browser, and by the command line with a browser here or elsewhere."""

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_serve import Served, serving
from tests.command import PROGRAM
from tests.patience import PATIENCE_S, until
from tests.real.chromium import browsing, found_chromium
from tests.real.dex import (
    CLIENT,
    COMMAND_LINE,
    EMAIL,
    PASSWORD,
    SECRET,
    Dex,
    Person,
    needed_dex,
    running_dex,
)
from tests.real.kube import ROOT
from tests.real.prometheus import free_port

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("dex")]

POLICY = """\
oidc:
  issuer: {issuer}
  url: {service}
  clientId: {client}
  clientSecret: env:PAGE_SECRET
  commandLineClientId: {command_line}
grants:
  - role: operator
    subjects: [group:payments]
"""


class Stage:
    """A Dex, a service that trusts it, and a person with a command line."""

    def __init__(self, dex: Dex, served: Served, folder: Path) -> None:
        self.dex = dex
        self.served = served
        self.url = f"http://{served.address}"
        self.kept = folder / "config" / "tidegate" / "contexts.json"
        browser = f"{sys.executable} -m tests.real.dex %s"
        self._env = {
            **os.environ,
            "XDG_CONFIG_HOME": str(folder / "config"),
            "BROWSER": browser,
            "PYTHONPATH": str(ROOT),
        }
        self._folder = folder

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        """One command, as a process of its own."""
        return subprocess.run(
            [PROGRAM, *args],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
            env=self._env,
            cwd=self._folder,
        )

    def begin(self, *args: str) -> subprocess.Popen[str]:
        """One command that goes on while the person does something."""
        return subprocess.Popen(
            [PROGRAM, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._env,
            cwd=self._folder,
        )

    @property
    def login(self) -> dict[str, str]:
        """What is kept of the login in use."""
        found: dict[str, str] = json.loads(self.kept.read_text())["contexts"][0]
        return found


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One for all tests: each logs in by itself."""
    program, folder = needed_dex(), tmp_path_factory.mktemp("dex")
    listen = f"127.0.0.1:{free_port()}"
    with running_dex(program, folder, f"http://{listen}") as dex:
        policy = folder / "policy.yaml"
        policy.write_text(
            POLICY.format(
                issuer=dex.url, service=f"http://{listen}", client=CLIENT, command_line=COMMAND_LINE
            )
        )
        flags = ("--listen", listen, "--access-policy", str(policy))
        with serving(folder, *flags, PAGE_SECRET=SECRET) as served:
            served.until("decision")
            yield Stage(dex, served, folder)


def test_a_browser_logs_in_and_out(stage: Stage) -> None:
    """By the issuer's own page; the cookie then works for our pages alone."""
    person = Person()
    where, said = person.goes(f"{stage.url}/auth/login?next=/api/v1/whoami")
    assert where == f"{stage.url}/api/v1/whoami", person.visited
    assert json.loads(said.partition(" ")[2])["actor"] == f"user:{EMAIL}"
    assert any("/dex/auth" in each for each in person.visited)
    ours = {"Sec_Fetch_Site": "same-origin"}
    _, refused = person.goes(f"{stage.url}/auth/logout", {}, Sec_Fetch_Site="cross-site")
    assert refused.startswith("403")
    person.goes(f"{stage.url}/auth/logout", {}, **ours)
    _, after = person.goes(f"{stage.url}/api/v1/whoami")
    assert after.startswith("401")


def test_a_password_that_is_wrong_gets_no_session(stage: Stage) -> None:
    """The issuer asks again, and we never see the person."""
    stranger = Person(password="guessed")
    with pytest.raises(AssertionError, match="leads on and on"):
        stranger.goes(f"{stage.url}/auth/login?next=/api/v1/whoami")
    assert not any("/auth/callback" in each for each in stranger.visited)
    _, said = stranger.goes(f"{stage.url}/api/v1/whoami")
    assert said.startswith("401")


def test_the_command_line_logs_in_by_a_browser_here(stage: Stage) -> None:
    """What it got is for its owner alone, renewed by itself, and forgotten at the end."""
    done = stage.run("login", stage.url)
    assert done.returncode == 0, done.stderr
    assert f"as user:{EMAIL} (operator)" in done.stdout
    assert stat.S_IMODE(stage.kept.stat().st_mode) == 0o600
    first = stage.login
    assert "simulated/demo" in stage.run("get", "rollouts").stdout
    second = stage.login
    assert second["token"] != first["token"]
    assert second["login"] != first["login"]  # the issuer gives another refresh token, too
    paused = stage.run("pause", "simulated/demo", "--reason", "incident 42", "--yes")
    assert paused.returncode == 0, paused.stderr
    every = ("journal", "show", "--database", "tidegate.db", "-o", "json")
    shown = stage.run(*every).stdout
    assert f"oidc {stage.dex.url}, subject " in shown
    assert f"user:{EMAIL}" in shown
    assert stage.run("resume", "simulated/demo", "--reason", "over", "--yes").returncode == 0
    assert "yes" in stage.run("auth", "can-i", "pause", "simulated/demo").stdout
    out = stage.run("logout")
    assert out.returncode == 0, out.stderr
    assert first["token"] not in stage.kept.read_text()


def test_the_command_line_logs_in_by_a_browser_elsewhere(stage: Stage) -> None:
    """A code is typed there; no browser is opened here."""
    begun = stage.begin("login", stage.url, "--device")
    assert begun.stderr is not None
    said = begun.stderr.readline()
    found = re.search(r"Log in at (\S+) with the code (\S+)", said)
    assert found is not None, said
    where = found[1] if "user_code=" in found[1] else f"{found[1]}?user_code={found[2]}"
    _, text = Person().goes(where)
    assert "Login Successful" in text or "success" in text.lower(), text
    out, err = begun.communicate(timeout=PATIENCE_S)
    assert begun.returncode == 0, err
    assert f"as user:{EMAIL} (operator)" in out
    assert stage.run("logout").returncode == 0


def test_a_person_without_a_grant_may_nothing(stage: Stage) -> None:
    """Known, and still let in nowhere."""
    bob = Person(email="bob@example.com")
    _, said = bob.goes(f"{stage.url}/auth/login?next=/api/v1/rollouts")
    assert said.startswith("403")
    assert "needs the role viewer" in said


def test_a_dex_that_is_gone_ends_no_known_login_and_begins_none(stage: Stage) -> None:
    """Sessions go on; a login and a token to be renewed say what does not answer."""
    person = Person()
    person.goes(f"{stage.url}/auth/login")
    assert stage.run("login", stage.url).returncode == 0
    stage.dex.process.kill()
    try:
        _, said = person.goes(f"{stage.url}/api/v1/whoami")
        assert said.startswith("200")
        _, refused = Person().goes(f"{stage.url}/auth/callback?code=x&state=y")
        assert refused.startswith("401")
        late = stage.run("get", "rollouts")
        assert late.returncode == 1
        assert stage.dex.url in late.stderr
        assert stage.run("login", stage.url).returncode == 1
    finally:
        stage.dex.start()
    # It keeps its keys in memory here, so it comes back with others; they are read once in a while.
    again = f"{stage.url}/auth/login?next=/api/v1/whoami"
    until(lambda: Person().goes(again)[1].startswith("200"), "a login at the Dex that is back")


def test_a_real_browser_logs_in_and_writes_from_our_page_only(stage: Stage, tmp_path: Path) -> None:
    """Scripts cannot read the cookie, and a page of another origin cannot use it."""
    program = found_chromium()
    there = 'location.pathname == "/api/v1/whoami" && document.body.innerText'
    pause = f"{stage.url}/api/v1/pause/simulated/demo?dryRun=true"
    write = f"""fetch("{pause}", {{
        method: "POST", credentials: "include", body: '{{"reason": "a test"}}',
        headers: {{"content-type": "application/json"}},
    }}).then(answer => String(answer.status), error => "blocked")"""
    # A form needs no leave of the other side: what keeps it out is where it says it is from.
    form = f"""(() => {{
        const form = document.createElement("form");
        form.method = "POST"; form.action = "{stage.url}/auth/logout";
        document.body.append(form); form.submit(); return true;
    }})()"""

    async def story() -> None:
        async with browsing(program, tmp_path) as page:
            await page.goes(f"{stage.url}/auth/login?next=/api/v1/whoami")
            await page.until('!!document.querySelector("input[name=password]")')
            await page.says(
                f'document.querySelector("input[name=login]").value = "{EMAIL}";'
                f'document.querySelector("input[name=password]").value = "{PASSWORD}";'
                'document.querySelector("form").submit()'
            )
            known = await page.until(there)
            assert json.loads(known)["actor"] == f"user:{EMAIL}"
            assert await page.says("document.cookie") == ""
            assert await page.says(write) == "200"
            await page.goes(f"{stage.dex.url}/auth")
            theirs = 'location.pathname.startsWith("/dex/")'
            await page.until(f'{theirs} && document.readyState == "complete"')
            assert await page.says(write) == "blocked"
            await page.says(form)
            await page.until('location.pathname == "/auth/logout"')
            assert "403" in await page.until("document.body.innerText")
            await page.goes(f"{stage.url}/api/v1/whoami")
            again = await page.until(there)
            assert json.loads(again)["actor"] == f"user:{EMAIL}"

    asyncio.run(story())
