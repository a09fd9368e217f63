"""Searches for OpenShift Cluster Manager: terms whose values survive, in pieces that fit.

    both(starts("key", "sre-capabilities.aus."), equals("type", "Subscription"))
    key like 'sre-capabilities.aus.%' and type = 'Subscription'

A quote in a value is doubled; what has a meaning in a pattern is escaped there. Worked numbers: an
id of 27 characters is 30 bytes of a list, so an address of 8,000 bytes holds some 250 of them.
"""

from collections.abc import Iterable, Iterator
from urllib.parse import quote

# Proxies refuse addresses beyond 8 kB; some room is left for what they count beside it.
ADDRESS_MAX = 8000
# What may stand in a query as it is, though most escape it: it is most of a list of ids.
_PLAIN = "'(),"


def quoted(value: str) -> str:
    """A value in quotes, whatever is in it."""
    return "'" + value.replace("'", "''") + "'"


def equals(key: str, value: str) -> str:
    """That a field is a value."""
    return f"{key} = {quoted(value)}"


def starts(key: str, prefix: str) -> str:
    """That a field begins with a text."""
    escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"{key} like {quoted(escaped + '%')}"


def at_least(key: str, value: str) -> str:
    """That a field is a value or more."""
    return f"{key} >= {quoted(value)}"


def one_of(key: str, values: Iterable[str]) -> str:
    """That a field is one of some values, of which there is at least one."""
    several = sorted(set(values))
    if len(several) == 1:
        return equals(key, several[0])
    return f"{key} in ({','.join(map(quoted, several))})"


def none_of(key: str, values: Iterable[str]) -> str:
    """That a field is none of some values."""
    return f"{key} not in ({','.join(map(quoted, sorted(set(values))))})"


def both(*terms: str) -> str:
    """That all of them hold."""
    return " and ".join(term for term in terms if term)


def encoded(text: str) -> str:
    """A text as it stands in an address."""
    return quote(text, safe=_PLAIN)


def chunks(values: Iterable[str], taken: int, most: int = ADDRESS_MAX) -> Iterator[list[str]]:
    """Values in pieces whose lists fit an address of which some bytes are taken already."""
    piece: list[str] = []
    room = most - taken
    for value in sorted(set(values)):
        size = len(encoded(quoted(value))) + 1
        if piece and size > room:
            yield piece
            piece, room = [], most - taken
        piece.append(value)
        room -= size
    if piece:
        yield piece
