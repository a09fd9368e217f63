"""A terminal obeys what is written to it, and reasons and names are written by others.

Colour, and what clears a line of progress, pass; any other control character is shown as its
picture, so that `ESC ]0;title BEL` of a reason neither renames a window nor hides a line. Pipes and
files get every byte as it is: they are data.
"""

import io
import re
import sys
from typing import cast

# ESC that begins neither a colour nor a clearing to the end of the line; all others but tab, line
# feed and carriage return; DEL and C1; and what turns the direction of writing.
_CONTROL = re.compile(
    "\x1b(?!\\[[0-9;]*[mK])"
    "|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
_PICTURES = 0x2400
_DELETED = 0x7F


def visible(text: str) -> str:
    """A text in which a terminal finds nothing to obey but colour: `␛]0;x␇`."""
    return text if text.isprintable() else _CONTROL.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number == _DELETED:
        return "␡"
    return chr(_PICTURES + number) if number < ord(" ") else "�"


class Terminal(io.TextIOWrapper):
    """A stream to a terminal."""

    def write(self, text: str, /) -> int:
        """Write a text as it is shown."""
        super().write(visible(text))
        return len(text)


def guard_terminals() -> None:
    """From now on, what a terminal would obey is shown to it instead."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: object) -> io.TextIOWrapper:
    if not isinstance(stream, io.TextIOWrapper) or not stream.isatty():
        return cast(io.TextIOWrapper, stream)
    return Terminal(
        stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering
    )
