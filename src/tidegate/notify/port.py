"""The port for notices to people: a chat, a pager, mail."""

from typing import Protocol

from tidegate.explain.notice import Notice


class Notifier(Protocol):
    """Sends one notice at a time."""

    async def send(self, notice: Notice) -> None:
        """Send a notice, with a few retries; OutsideError if it was not accepted."""
        ...
