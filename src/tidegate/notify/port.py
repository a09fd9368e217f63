"""Whoever tells people: a chat, a pager, a mail."""

from typing import Protocol

from tidegate.explain.notice import Notice


class Notifier(Protocol):
    """Tells people one thing at a time."""

    async def send(self, notice: Notice) -> None:
        """Tell it, trying again within reason; OutsideError if nobody took it."""
        ...
