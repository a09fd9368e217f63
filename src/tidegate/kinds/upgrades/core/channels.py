"""The channel after a channel: `stable-4.20` leads to `stable-4.21`, `eus-4.20` to `eus-4.22`.

Extended-update channels exist for even minors only, so from both `eus-4.20` and `eus-4.21` the next
is `eus-4.22`. Plain groups (`stable`) and anything of another shape lead nowhere.
"""

import re

_CHANNEL = re.compile(r"(.+)-([0-9]+)\.([0-9]+)")
_EVEN_ONLY = "eus"


def next_channel(channel: str) -> str | None:
    """The channel of the next minor; None where there is no such thing."""
    match = _CHANNEL.fullmatch(channel)
    if match is None:
        return None
    group, major, minor = match[1], match[2], int(match[3]) + 1
    if group == _EVEN_ONLY:
        minor += minor % 2
    return f"{group}-{major}.{minor}"
