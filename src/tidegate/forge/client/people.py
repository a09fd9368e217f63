"""How somebody is addressed, as far as a name and an address tell it without asking anybody."""

import re

# What forges write in place of an address nobody may know: an id, and the account.
_HIDDEN = re.compile(r"(?:[0-9]+[+-])?([A-Za-z0-9][A-Za-z0-9_.-]*)@users\.noreply\.(.+)")


def told_by_address(email: str, host: str) -> str:
    """The account an address of a forge's own making names; empty: it is none of this host's."""
    match = _HIDDEN.fullmatch(email)
    return match[1] if match and match[2].lower() == host.lower() else ""


def called(name: str, email: str) -> str:
    """Somebody without an account, by name; an @ in a name must not call others."""
    return name.strip().replace("@", "") or email
