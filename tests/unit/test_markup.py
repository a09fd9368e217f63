"""Text of others in Markdown is shown as it is, and taken for nothing else."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.explain.markup import LENGTH_MAX, code, cut, folded, seen, table

_ENTITIES = re.compile(r"<code>((?:[^\W_]| |&#\d+;)*)</code>")
HOSTILE = (
    "a|b",
    "@all",
    "`@all`",
    "``",
    "/merge",
    "x\n/approve",
    "</code></details><img src=x onerror=y>",
    "a\\|b",
    "[a](https://example.com)",
    "<!-- tidegate:preview -->",
    "\u202eevil\u2066",
    "#1 !2 ~3",
    " padded ",
)


def shown(text: str) -> str:
    """What a reader sees of a piece of code."""
    if text.startswith("`"):
        inner = text[1:-1]
        assert not set(inner) & set("`|\\\n"), text
        return inner
    match = _ENTITIES.fullmatch(text)
    assert match is not None, text
    return unescape(match[1])


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_shown_as_they_are(text: str) -> None:
    assert shown(code(text)) == cut(seen(text))


@given(st.text(min_size=1, max_size=400))
def test_any_text_is_code_and_nothing_else(text: str) -> None:
    """One line, no end of a table in it, and no mention; what is empty is nothing."""
    found = code(text)
    if not found:
        assert not text.strip()
        return
    assert "\n" not in found
    assert "|" not in found
    assert len(shown(found)) <= LENGTH_MAX
    assert shown(found) == cut(seen(text))


def test_what_would_not_be_seen_is_marked() -> None:
    assert seen("a\u202eb\x00c\td\u2028e") == "a\ufffdb\ufffdc d e"


def test_a_table_is_as_long_as_it_may_be_and_says_what_is_left_out() -> None:
    lines = table(("a", ">b"), [("1", "2")] * 3, more=2)
    assert lines[:2] == ["| a | b |", "| --- | --: |"]
    assert lines.count("| 1 | 2 |") == 3
    assert lines[-1].startswith("and 2 more")
    assert not any("more" in line for line in table(("a",), [("1",)]))


def test_a_summary_is_plain_text() -> None:
    assert folded("<b>&", ["x"])[0] == "<details><summary>&lt;b&gt;&amp;</summary>"
