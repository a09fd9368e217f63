"""Watches one kind in a namespace, through broken connections, and never past a gap.

Three things a server does look like peace: it tells in the middle of a good answer that its history
is gone (410); it sends nothing for a version it has not reached, as after a
backup was restored; its machine goes away without a word. So every watch has an end, a bookmark is
expected before it, and a watch that heard nothing from beginning to end is as good as expired.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import aiohttp
import msgspec

from tidegate.kubernetes.client.answers import ApiStatus, error_of
from tidegate.kubernetes.client.documents import object_of, path_of, where_of
from tidegate.kubernetes.client.server import ApiServer
from tidegate.kubernetes.port import (
    ExpiredError,
    NotAllowedError,
    ObjectEvent,
    ObjectRefusedError,
    ResourceKind,
    WatchEvent,
)
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import json_decoder


class Watching(msgspec.Struct, frozen=True):
    """How long a watch lasts, and how much it bears."""

    # The server ends it then. It sends a bookmark a minute.
    period_s: int = 180
    # Longer than that after its end the server is gone.
    grace_s: float = 15.0
    # In a row, without a word in between: a server that is started anew takes some 10 s.
    failures_max: int = 10
    pause_s: float = 0.2
    pause_max_s: float = 5.0
    # One event: the largest object a server keeps is 1.5 MB.
    bytes_max: int = 8 * 1024 * 1024


class _Line(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: dict[str, Any]


_decode = json_decoder(_Line)
_FINAL = (NotAllowedError, ObjectRefusedError)


async def watch(
    server: ApiServer,
    watching: Watching,
    manager: str,
    namespace: str,
    kind: ResourceKind,
    after: str,
    selector: str,
) -> AsyncGenerator[WatchEvent, None]:
    """What happens after a version, in order; ExpiredError where that is not known."""
    failures, where = 0, where_of(kind, namespace)
    while True:
        heard = False
        try:
            async for line in _lines(server, watching, namespace, kind, after, selector):
                event, after = _event(f"{server.name}: {where}", line, kind, manager)
                heard, failures = True, 0
                if event is not None:
                    yield event
        except _FINAL:
            raise
        except OutsideError:
            failures += 1
            if failures > watching.failures_max:
                raise
            pause_s = min(watching.pause_s * 2 ** (failures - 1), watching.pause_max_s)
            await asyncio.sleep(pause_s * (1 + random.random()))
            continue
        if not heard:
            silence = f"not a word in {watching.period_s} s, not even that nothing happened"
            raise ExpiredError(f"{server.name}: {where}: {silence}: read anew")


async def _lines(
    server: ApiServer,
    watching: Watching,
    namespace: str,
    kind: ResourceKind,
    after: str,
    selector: str,
) -> AsyncIterator[bytes]:
    """The lines of one watch, until the server ends it."""
    params = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": after,
        "timeoutSeconds": str(watching.period_s),
    }
    if selector:
        params["labelSelector"] = selector
    where = where_of(kind, namespace)
    silence_s = watching.period_s + watching.grace_s
    async with server.listen(path_of(kind, namespace), where, params, silence_s) as stream:
        async for line in split(stream, watching.bytes_max):
            yield line


async def split(
    stream: aiohttp.StreamReader, bytes_max: int, *, rest: bool = False
) -> AsyncIterator[bytes]:
    """The lines of a stream; with `rest`, what stands behind the last end of a line is one too."""
    begun = b""
    async for chunk in stream.iter_any():
        *lines, begun = (begun + chunk).split(b"\n")
        if len(begun) > bytes_max:
            raise OutsideError(f"a line of more than {bytes_max} bytes")
        for line in lines:
            yield line
    if rest and begun:
        yield begun


def _event(
    where: str, line: bytes, kind: ResourceKind, manager: str
) -> tuple[WatchEvent | None, str]:
    """The event of a line, None for a bookmark; and the version after it."""
    try:
        stated = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise OutsideError(f"{where}: a line that is no event") from None
    if stated.type == "ERROR":
        status = msgspec.convert(stated.object, ApiStatus)
        raise error_of(where, status.code, status)
    if stated.type == "BOOKMARK":
        return None, stated.object["metadata"]["resourceVersion"]
    found = object_of(kind, stated.object, manager)
    return WatchEvent(ObjectEvent(stated.type), found), found.version
