"""What is only slow is in time; what never happens takes no time."""

import asyncio
import os
import time

import pytest
from aiohttp import ClientSession, ClientTimeout, web

from tests.patience import is_gone, patiently, until
from tests.serving import answering


def test_a_limit_expires_only_where_nothing_happens() -> None:
    """An answer that takes a machine long is in time; one that never comes takes no time."""

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/busy":
            time.sleep(0.3)  # noqa: ASYNC251  as if other programs ran
        else:
            await asyncio.sleep(3600)
        return web.Response(text="here")

    async def story() -> float:
        limits = ClientTimeout(total=0.1)
        async with answering(answer) as host, ClientSession(timeout=limits) as session:
            async with session.get(f"http://{host}/busy") as found:
                assert await found.text() == "here"
            with pytest.raises(TimeoutError):
                await session.get(f"http://{host}/never")
            # While a thread works, time all but stands still.
            async with asyncio.timeout(0.1):
                await asyncio.to_thread(time.sleep, 0.3)
            begun = asyncio.get_running_loop().time()
            await asyncio.sleep(3600)
            return asyncio.get_running_loop().time() - begun

    begun = time.monotonic()
    assert round(patiently(story())) >= 3600
    assert time.monotonic() - begun < 1800


def test_a_process_that_no_one_waited_for_is_gone() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    until(lambda: is_gone(child), "it has ended")
    os.waitpid(child, 0)
    assert is_gone(child)
    assert not is_gone(os.getpid())
