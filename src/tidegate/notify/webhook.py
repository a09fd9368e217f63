"""Sends notices to a webhook that takes `{"text": …}`, as Slack's and many others do.

The address is a secret: it appears in no error. A temporary failure (no connection, a time-out,
429, 5xx) is retried with growing, jittered pauses; a permanent one is not.
"""

import string

import aiohttp
import msgspec

from tidegate.explain.notice import Notice, words
from tidegate.model.errors import OutsideError
from tidegate.net.picture_links import PictureLinks
from tidegate.net.retry import retry_context

# Tries of one notice, and the pauses between them; then a later round sends it.
ATTEMPTS_MAX = 5
PAUSE_FIRST_S = 0.5
PAUSE_MAX_S = 20.0
# A message longer than this is cut: chats refuse or fold it.
TEXT_MAX = 3000

# The three characters that mean something to Slack; other receivers undo them as HTML.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class _TryLaterError(Exception):
    """The receiver cannot take it now."""


class Webhook:
    """Posts notices to one address."""

    def __init__(
        self,
        url: str,
        template: str,
        timeout_s: float,
        pictures: PictureLinks | None = None,
        pause_first_s: float = PAUSE_FIRST_S,
    ) -> None:
        self._pictures = pictures or PictureLinks()
        self._url = url
        self._template = string.Template(template)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._pause_first_s = pause_first_s

    async def send(self, notice: Notice) -> None:
        """Post a notice; OutsideError if it was not accepted."""
        picture = self._pictures.of_entry(notice.rollout, notice.entry)
        message = {"text": text_of(self._template, notice, picture)}
        if picture:
            message["picture"] = picture
        body = msgspec.json.encode(message)
        try:
            async for attempt in retry_context(
                on=(_TryLaterError, aiohttp.ClientError, TimeoutError, OSError),
                attempts=ATTEMPTS_MAX,
                timeout=None,
                wait_initial=self._pause_first_s,
                wait_max=PAUSE_MAX_S,
                wait_jitter=self._pause_first_s,
            ):
                with attempt:
                    await self._post(body)
        except _TryLaterError as error:
            raise OutsideError(f"the webhook {error}") from None
        except TimeoutError:
            raise OutsideError("the webhook did not answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            # The text of these errors may hold the address.
            raise OutsideError(f"the webhook cannot be reached ({type(error).__name__})") from None

    async def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        async with (
            aiohttp.ClientSession(timeout=self._timeout, trust_env=True) as client,
            client.post(self._url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            if answer.status == 429 or answer.status >= 500:
                raise _TryLaterError(f"answered {answer.status}")
            if answer.status >= 300:
                raise OutsideError(f"the webhook answered {answer.status}: check its address")


def text_of(template: string.Template, notice: Notice, picture: str = "") -> str:
    """What people read; names from outside cannot pose as links or mentions.

    The address of a picture stands below, unless the template has a place for it.
    """
    safe = {name: value.translate(_ESCAPES) for name, value in words(notice, picture).items()}
    text = template.safe_substitute(safe)
    below = f"\n{picture}" if picture and "picture" not in template.get_identifiers() else ""
    most = TEXT_MAX - len(below)
    return (text if len(text) <= most else text[: most - 1] + "…") + below
