"""Addresses of repositories: which of them git may be given, and what of them is never shown."""

from urllib.parse import unquote

from tidegate.git.remote_url import LOGIN, remote_of, without_login
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

# A shorter text is not a password, and would match ordinary words.
_WORD_MIN = 4


def cleaned(text: str, *addresses: str) -> str:
    """A text to be shown, without the credentials of its addresses and without known ones.

    The second is for programs that print the parts of an address separately.
    """
    for address in addresses:
        for secret in _secrets(address):
            text = text.replace(secret, "…")
    return without_login(text)


def _secrets(address: str) -> list[str]:
    """What of an address must not be seen, the longest first."""
    found = LOGIN.match(address)
    if found is None:
        return []
    scheme, user = found.groups()
    name, mark, word = user.partition(":")
    secret = word if mark or scheme.lower() == "ssh://" else name
    spelt = {user, unquote(user), secret, unquote(secret)} if secret else set()
    return sorted((each for each in spelt if len(each) >= _WORD_MIN), key=len, reverse=True)


def checked(address: str) -> str:
    """An address that git may be given; UserError for what is none, or would run a command."""
    remote = remote_of(address)
    relative = remote.is_local and not remote.path.startswith("/")
    if relative or address.startswith("-"):
        remedy = "write https://…, git@HOST:PATH, or a path from the root"
        raise UserError((Problem("repository", f"{shown(address)} is not an address", remedy),))
    return address
