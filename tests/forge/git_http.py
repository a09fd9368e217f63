"""Git over HTTP by Git's own `git http-backend`, run as a web server runs it."""

import asyncio
import base64
import os
from functools import cache
from pathlib import Path

from aiohttp import web

from tests.forge.bare import git
from tests.forge.world import World
from tests.git_repos import GIT_SETTINGS


def password_of(request: web.Request) -> str:
    """What stands for the password in a request."""
    scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    return base64.b64decode(rest).decode().partition(":")[2]


@cache
def _program() -> Path:
    """Where git has it."""
    return Path(git(Path.cwd(), "--exec-path")) / "git-http-backend"


async def answer_git(world: World, request: web.Request) -> web.Response:
    """Let git answer a request for a repository."""
    user = world.user(password_of(request))
    if user is None:
        return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="forge"'})
    body = await request.read()
    env = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(world.folder),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query_string,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_USER": user.login,
        "REMOTE_ADDR": "127.0.0.1",
        "GIT_CONFIG_GLOBAL": GIT_SETTINGS,
    }
    process = await asyncio.create_subprocess_exec(
        _program(),
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    said, _ = await process.communicate(body)
    head, _, rest = said.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])
    return web.Response(status=status, headers=headers, body=rest)
