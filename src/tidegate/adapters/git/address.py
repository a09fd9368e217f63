"""Addresses of repositories without what opens them: no credentials are shown, kept or logged."""

import re
from urllib.parse import unquote

from tidegate.core.errors import UserError
from tidegate.core.model.problem import Problem, shown

# Who stands before the `@`; a password with a `/` in it is one all the same, a port is none.
_USER = re.compile(
    r"([a-z][a-z0-9+.-]*://)([^/\s'\"]*|(?!\[)[^/\s'\":]*:(?!\d+/)[^\s'\"]*?)@", re.IGNORECASE
)
# A word shorter than this opens nothing, and stands in many a sentence.
_WORD_MIN = 4
_KINDS = re.compile(r"(https?|ssh|git|file)://[^\s]+|[\w.-]+@[\w.-]+:[^\s]+|/.+", re.ASCII)


def plain(address: str) -> str:
    """An address without credentials; who logs in by a key may be named: `ssh://git@host/…`."""
    return _USER.sub(_without, address)


def _without(found: re.Match[str]) -> str:
    scheme, user = found.groups()
    name = user.partition(":")[0]
    return f"{scheme}{name}@" if scheme.lower() == "ssh://" and name else scheme


def cleaned(text: str, *addresses: str) -> str:
    """A text to be shown: no address in it has credentials, and none of those known stands alone.

    The second is for whoever takes an address apart in what they say.
    """
    for address in addresses:
        for secret in _secrets(address):
            text = text.replace(secret, "…")
    return plain(text)


def _secrets(address: str) -> list[str]:
    """What of an address must not be seen, the longest first."""
    found = _USER.match(address)
    if found is None:
        return []
    scheme, user = found.groups()
    name, mark, word = user.partition(":")
    secret = word if mark or scheme.lower() == "ssh://" else name
    spelt = {user, unquote(user), secret, unquote(secret)} if secret else set()
    return sorted((each for each in spelt if len(each) >= _WORD_MIN), key=len, reverse=True)


def checked(address: str) -> str:
    """An address that Git may be given; UserError for what is none, or would run a command."""
    if _KINDS.fullmatch(address):
        return address
    remedy = "write https://…, ssh://…, git@HOST:PATH or the path of a repository from the root"
    raise UserError((Problem("repository", f"no address: {shown(plain(address))}", remedy),))
