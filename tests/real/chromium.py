"""A real Chromium without a window, driven over its own protocol."""

import asyncio
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

START_TIMEOUT_S = 60.0


def found_chromium() -> str:
    """The program; where it is missing, the test is skipped, and says what to install."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium here: apt-get install chromium")
    return found


class Page:
    """One page of it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0

    async def goes(self, url: str) -> None:
        """Open an address."""
        await self._call("Page.navigate", url=url)

    async def says(self, script: str) -> Any:
        """What a script in the page results in."""
        asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
        found = await self._call("Runtime.evaluate", **asked)
        return found.get("result", {}).get("value")

    async def until(self, script: str) -> Any:
        """The first result of a script that is not nothing; pages load meanwhile."""
        end = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < end:
            if found := await self.says(script):
                return found
            await asyncio.sleep(0.1)
        raise AssertionError(f"never: {script}, at {await self.says('location.href')}")

    async def _call(self, method: str, **params: object) -> dict[str, Any]:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        async for message in self._socket:
            answer = json.loads(message.data)
            if answer.get("id") == self._number:
                return answer.get("result") or {}
        raise AssertionError("the browser ended")


@asynccontextmanager
async def browsing(program: str, folder: Path) -> AsyncIterator[Page]:
    """A browser with one page, until the end."""
    process = _started(program, folder)
    try:
        port = await asyncio.to_thread(_port, folder / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                every = await answer.json()
            where = next(each for each in every if each["type"] == "page")
            async with session.ws_connect(where["webSocketDebuggerUrl"]) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, 10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _started(program: str, folder: Path) -> "subprocess.Popen[bytes]":
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    command = [program, *flags, "--remote-debugging-port=0", f"--user-data-dir={folder}"]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([*command, "about:blank"], stdout=log, stderr=log)


def _port(path: Path) -> int:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        if path.exists() and (lines := path.read_text().splitlines()):
            return int(lines[0])
        time.sleep(0.1)
    raise AssertionError(f"no browser: {(path.parent / 'log').read_text()[-2000:]}")
