"""Links to pictures of rollouts, for readers without a login: forges and chats that fetch images.

A link names an entry of a journal and carries a signature of that name: without the key no link can
be made up, and none leads from one picture to another. What it shows is of the past, and does not
change; another key ends all links at once.
"""

import hmac
from hashlib import sha256
from urllib.parse import quote

from tidegate.journal.keys import entry_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

PATH = "/picture"
SUFFIX = ".svg"
# 160 bits: a link is not guessed, and fits a line.
_DIGITS = 40
# A key that is shorter can be guessed from one link.
KEY_MIN = 16


class PictureLinks:
    """Makes and checks links; without an address there are none."""

    def __init__(self, url: str = "", key: str = "") -> None:
        """UserError if the address is none, or the key is missing or short."""
        self._url = url.rstrip("/")
        self._key = key.encode()
        if not url:
            return
        if not url.startswith(("https://", "http://")):
            remedy = "write the address at which people open the page: https://tidegate.example"
            raise UserError((Problem("publicUrl", f'"{url}" is no address of the web', remedy),))
        if len(key) < KEY_MIN:
            what = f"{len(key)} characters sign the links of pictures, {KEY_MIN} are needed"
            remedy = "name a secret (env:NAME, file:PATH), as `openssl rand -hex 32` prints one"
            raise UserError((Problem("pictureKey", what, remedy),))

    def of_entry(self, partition: str, seq: int) -> str:
        """The picture of a partition as of an entry; empty: pictures are off, or there is none."""
        if not self._url or seq < 1:
            return ""
        name = quote(partition, safe="/")
        return f"{self._url}{PATH}/{self._signature(partition, seq)}/{seq}/{name}{SUFFIX}"

    def of_task(self, partition: str, key: str) -> str:
        """The picture as of the decision that a task is from."""
        return self.of_entry(partition, entry_of(partition, key))

    def holds(self, signature: str, partition: str, seq: int) -> bool:
        """Whether a link is one of ours."""
        known = self._signature(partition, seq)
        return bool(self._url) and hmac.compare_digest(signature.encode(), known.encode())

    def _signature(self, partition: str, seq: int) -> str:
        said = f"picture\0{seq}\0{partition}".encode(errors="surrogateescape")
        return hmac.new(self._key, said, sha256).hexdigest()[:_DIGITS]
