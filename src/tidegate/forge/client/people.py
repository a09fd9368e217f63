"""Accounts and names of people, as far as an address tells them without a request."""

import re

# What forges write in place of a hidden address: an id, and the account.
_HIDDEN = re.compile(r"(?:[0-9]+[+-])?([A-Za-z0-9][A-Za-z0-9_.-]*)@users\.noreply\.(.+)")


def told_by_address(email: str, host: str) -> str:
    """The account in a hidden address of this host; empty: it is not such an address."""
    match = _HIDDEN.fullmatch(email)
    return match[1] if match and match[2].lower() == host.lower() else ""


def called(name: str, email: str) -> str:
    """A person without an account, by name; an @ in a name must not mention others."""
    return name.strip().replace("@", "") or email
