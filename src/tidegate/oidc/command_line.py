"""Logins of a command line: by a browser on this machine, or by one on another.

A browser on this machine brings the code to a listener on loopback that lives for one answer (RFC
8252). Where there is no browser, the person types a code elsewhere, and this side asks until it is
done (RFC 8628).
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from tidegate.model.errors import OutsideError
from tidegate.oidc.identity import LoginRefusedError
from tidegate.oidc.issuer import DeviceCode, GivenTokens, Issuer, PendingLoginError
from tidegate.oidc.login_secrets import LoginSecrets, new_secrets

# How long a person may take.
LOGIN_S = 300.0
# Asked to be slower, it asks so much less often (RFC 8628).
SLOWER_S = 5.0
# What the browser brings: one line, at once.
LINE_MAX = 16 * 1024
LINE_S = 10.0
_PAGE = """HTTP/1.1 {status}\r
Content-Type: text/plain; charset=utf-8\r
Content-Security-Policy: default-src 'none'\r
Connection: close\r
Content-Length: {length}\r
\r
{text}"""
Sleep = Callable[[float], Awaitable[None]]


async def loopback_login(
    issuer: Issuer, client_id: str, show: Callable[[str], None], wait_s: float = LOGIN_S
) -> GivenTokens:
    """Tokens by a browser on this machine; `show` opens or prints the address to go to."""
    begun = new_secrets()
    came: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):
            async with asyncio.timeout(LINE_S):
                line = await reader.readline()
            status, text = _taken(line, begun, came)
            body = _PAGE.format(status=status, length=len(text.encode()), text=text)
            writer.write(body.encode())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=LINE_MAX)
    async with server:
        redirect = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/callback"
        show(await issuer.authorization_url(client_id, redirect, **begun.asked()))
        try:
            async with asyncio.timeout(wait_s):
                code = await came
        except TimeoutError:
            raise OutsideError(f"no login in {wait_s:g} s: begin again") from None
    given = await issuer.exchanged(client_id, "", code, redirect, begun.verifier)
    await issuer.identity(given.id_token, nonce=begun.nonce)
    return given


def _taken(line: bytes, begun: LoginSecrets, came: asyncio.Future[str]) -> tuple[str, str]:
    """What a browser brought: a code ends the wait, and so does a refusal."""
    method, _, rest = line.decode("latin-1").partition(" ")
    where = urlsplit(rest.partition(" ")[0])
    query = dict(parse_qsl(where.query))
    if method != "GET" or where.path != "/callback":
        return "404 Not Found", "Nothing is here."
    if not secrets.compare_digest(begun.state, query.get("state", "")):
        return "400 Bad Request", "This answer is to another login."
    if came.done():
        return "200 OK", "Logged in before. You can close this window."
    if code := query.get("code", ""):
        came.set_result(code)
        return "200 OK", "Logged in. You can close this window."
    told = (query.get("error_description") or query.get("error") or "no code")[:200]
    came.set_exception(LoginRefusedError(f"the login was refused: {told}"))
    return "200 OK", "The login was refused. You can close this window."


async def device_login(
    issuer: Issuer,
    client_id: str,
    show: Callable[[DeviceCode], None],
    sleep: Sleep = asyncio.sleep,
) -> GivenTokens:
    """Tokens by a browser elsewhere; `show` says where to go, and what to type there."""
    code = await issuer.device(client_id)
    show(code)
    pause_s, left_s = max(1.0, code.interval), min(code.expires_in, LOGIN_S)
    while left_s > 0:  # each pause is at least a second
        await sleep(pause_s)
        left_s -= pause_s
        try:
            given = await issuer.device_tokens(client_id, code)
        except PendingLoginError as error:
            pause_s += SLOWER_S if error.slower else 0.0
            continue
        await issuer.identity(given.id_token)
        return given
    raise OutsideError("no login in time: begin again")
