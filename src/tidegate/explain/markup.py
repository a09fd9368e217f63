"""Text of others in Markdown: shown as it is, and taken for nothing else.

Names come from files that any contributor may propose a change of. None may end a table, mention
people (`@all`), link, hide or start anything (`/merge`) where a forge shows it.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

# Longer texts are cut: what is shown must be recognised, not read in full.
LENGTH_MAX = 200
# So much of a text is read; the rest is cut.
READ_MAX = 10 * LENGTH_MAX
# What may not stand in code between backticks, within a table: it would end one or the other.
_UNSAFE = frozenset("`|\\")
# Characters that are not seen, or change how others are seen.
_UNSEEN = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))


def code(text: str) -> str:
    """A text of others, as code: forges look for no names, links or commands in it."""
    plain = cut(seen(text[:READ_MAX]))
    if not plain:
        return ""
    if _UNSAFE.isdisjoint(plain):
        return f"`{plain}`"
    return f"<code>{entities(plain)}</code>"


def seen(text: str) -> str:
    """A text on one line, with a mark in place of each invisible character."""
    flat = " ".join(text.split())
    # Of the printable ones none is unseen.
    if flat.isprintable():
        return flat
    return "".join("\ufffd" if unicodedata.category(c) in _UNSEEN else c for c in flat)


def cut(text: str) -> str:
    """A text that is not too long."""
    return text if len(text) <= LENGTH_MAX else text[: LENGTH_MAX - 1] + "…"


def entities(text: str) -> str:
    """A text in which nothing but letters and figures is written as itself."""
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], more: int = 0) -> list[str]:
    """A table of cells that are Markdown already; a head that starts with `>` is for numbers.

    `more`: so many rows are left out.
    """
    names = [name.removeprefix(">") for name in head]
    marks = ["--:" if name.startswith(">") else "---" for name in head]
    lines = [_row(names), _row(marks), *map(_row, rows)]
    if more > 0:
        lines += ["", f"and {more:,} more; `tidegate preview -o json` has all of them"]
    return lines


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def image(address: str, says: str) -> list[str]:
    """An image with its text, on lines of its own; none where there is no address."""
    return [f"![{says}]({address})", ""] if address else []


def folded(summary: str, lines: Iterable[str]) -> list[str]:
    """Something to unfold; the summary is plain text."""
    head = f"<details><summary>{escape(summary)}</summary>"
    return [head, "", *lines, "", "</details>"]
