"""One piece of work for many callers: one transaction, one sync, one answer each.

Items that arrive while the work is under way are served together as soon as it is done. So an
answer is never older than its question, and a wave of a hundred targets takes a handful of
transactions instead of hundreds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Batcher(Generic[T, R]):
    """Collects items and does the work for all of them at once; an answer may be an exception."""

    def __init__(self, work: Callable[[list[T]], Awaitable[Sequence[R | BaseException]]]) -> None:
        self._work = work
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._busy: asyncio.Task[None] | None = None

    async def __call__(self, item: T) -> R:
        """The answer for one item; raises what the work raised."""
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._busy is None:
            self._busy = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                # Callers that have given up are not served any more.
                some = [each for each in self._waiting if not each[1].done()]
                self._waiting = []
                if some:
                    await self._serve(some)
        finally:
            self._busy = None

    async def _serve(self, some: list[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            answers = await self._work([item for item, _ in some])
        except BaseException as error:
            for _, answer in some:
                if not answer.done():
                    answer.set_exception(error)
            if isinstance(error, asyncio.CancelledError):
                raise
            return
        for (_, answer), found in zip(some, answers, strict=True):
            if answer.done():
                continue
            if isinstance(found, BaseException):
                answer.set_exception(found)
            else:
                answer.set_result(found)
