"""Patterns for paths and names, as people write them: `*` within a part, `**/` over any number."""

import re
from functools import lru_cache


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(part, re.escape(part)) for part in parts))


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches a text."""
    return _compiled(pattern).fullmatch(text) is not None


def literal(pattern: str) -> str:
    """The longest part of a pattern without wildcards: every text that matches contains it."""
    return max(re.split(r"[*?]+", pattern), key=len)
