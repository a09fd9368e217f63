"""Tasks of a loop: wait for the first of some, end all of them."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait for the first to end; the others are given up."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def cancel_all(tasks: Iterable[asyncio.Task[Any]], again_s: float) -> None:
    """End tasks; one that lost its cancellation, as a library may, gets another."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=again_s)
