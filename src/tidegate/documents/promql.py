"""PromQL as people write it in a probe: checked where it can be, and filled in so that it is safe.

`$revision` becomes a whole quoted text, where a label is compared: `{version=$revision}`. It is
quoted here and nowhere else, so a revision called `"} or vector(1) #` is a name like any other.
"""

import re
from collections.abc import Iterable, Iterator

from tidegate.model.problem import nearest, shown

REVISION = "$revision"
_KNOWN = (REVISION,)

# A text in quotes, a comment, a placeholder, anything else; last, a quote that is not closed.
_PIECE = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)"""
    r"""|(?P<comment>\#[^\n]*)|(?P<placeholder>\$\w*)|(?P<other>[^"'`#$]+)|(?P<open>.)""",
    re.DOTALL,
)
# What a label is compared with by equality; `=~` would take a name for a pattern.
_COMPARED = re.compile(r"[\w\s](?:!=|=)\s*\Z")
_SELECTOR = re.compile(
    r"""\s*(?P<name>[a-zA-Z_:][\w:]*)?\s*"""
    r"""(?:\{\s*(?P<matchers>(?:\w+\s*(?:=~|!~|!=|=)\s*""\s*(?:,\s*)?)*)\})?\s*""",
    re.ASCII,
)
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")


def complaints(query: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a query and what to write, as far as it shows without asking."""
    if not query.strip():
        yield "is empty", "write a query"
    before = ""
    for match in _PIECE.finditer(query):
        piece, kind = match[0], match.lastgroup
        if kind == "open":
            yield f"{shown(piece)} is not closed", "close the quote"
            return
        if kind == "comment":
            yield f"{shown(piece)} is a comment", "put it into the document, outside the query"
        if kind == "text" and REVISION in piece:
            yield f"{shown(piece)} has a placeholder inside quotes", "drop the quotes: it gets them"
        if kind == "placeholder":
            yield from _misplaced(piece, before)
        before = before + ('""' if kind in ("text", "placeholder") else piece)


def _misplaced(placeholder: str, before: str) -> Iterator[tuple[str, str]]:
    if placeholder not in _KNOWN:
        yield f"{shown(placeholder)} is not known here", nearest(placeholder, _KNOWN) or "drop it"
    elif not _COMPARED.search(before):
        yield f"{placeholder} is used where no label is compared", f"write label={placeholder}"


def selector_labels(query: str) -> set[str] | None:
    """The labels a plain selector (`name{label="value"}`) requires; None if it is not plain."""
    found = _SELECTOR.fullmatch(skeleton(query))
    if found is None or not (found["name"] or (found["matchers"] or "").strip()):
        return None
    return set(_LABEL.findall(found["matchers"] or ""))


def matchers_of(query: str) -> str:
    """The text between the braces of a plain selector without a name."""
    return query.strip().removeprefix("{").removesuffix("}").strip().rstrip(",")


def asks_for_revision(query: str) -> bool:
    """Whether a query needs the revision's name."""
    return any(m.lastgroup == "placeholder" for m in _PIECE.finditer(query))


def filled(query: str, revision: str) -> str:
    """The query with the revision in its place."""
    return _PIECE.sub(lambda m: literal(revision) if m.lastgroup == "placeholder" else m[0], query)


def literal(text: str) -> str:
    """A text as PromQL writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def any_of(names: Iterable[str]) -> str:
    """A pattern, as PromQL writes it, that matches exactly these names."""
    return literal("|".join(_META.sub(r"\\\1", name) for name in names))


def skeleton(query: str) -> str:
    """The query with every text emptied, so that nothing inside one looks like syntax."""
    return _PIECE.sub(lambda m: '""' if m.lastgroup in ("text", "placeholder") else m[0], query)
