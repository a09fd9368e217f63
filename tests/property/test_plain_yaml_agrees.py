"""What the plain reader reads is what the strict reader reads, and that one has no objection."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.bundle_files import files
from tidegate.documents.plain_yaml import DeclinedError, Plain, read_plain
from tidegate.documents.strict_yaml import lines_of, read_documents

ROOT = Path(__file__).parents[2]
TEXTS = [text for _, text in files(100)] + [
    path.read_text("utf-8") for path in sorted((ROOT / "examples").rglob("*.y*ml"))
]
# Pieces that are plain alone and something else together.
PIECES = st.sampled_from(
    ["a", "b:", "c: ", "- ", "  ", "    ", "\n", "\n", "\n", ": ", ":", "#", " #x", '"', "'", "|",
     "|-", ">", "- a: b\n", "a: b\n", "x: |\n  text\n", "[", "]", "{", "}", ",", "1", "0x1", "1e3",
     "4.10", "yes", "null", "~", "&a", "*a", "!!str", "---", "...", "<<: ", "é", "\t", "\r", "%",
     "@", "`", "?", "? ", "-", "--", "-1", "\\", "$ref: /a\n", "\u2028", "\ufeff", "  - ", "12:30",
     "\n\n", "\n# x\n"]
)  # fmt: skip


def agree(text: str) -> bool:
    """Whether the plain reader took the text; it must not have read anything else.

    It reads line by line where it keeps lines, and block by block where it does not.
    """
    lines: dict[str, int] = {}
    plain, in_blocks = _read(text, lines), _read(text, None)
    assert (plain is None) == (in_blocks is None), text
    if plain is None or in_blocks is None:
        return False
    assert repr(in_blocks) == repr(plain), text
    ((document, traps),) = read_documents("", text)
    assert not traps, (text, traps)
    assert document.data == plain.data, text
    assert repr(document.data) == repr(plain.data), text
    # Of a block text, and of what is in a value of one line, the lines need not be named.
    (every,) = lines_of(text)
    assert {path: every[path] for path in lines if "|" not in text} == {
        path: line for path, line in lines.items() if "|" not in text
    }
    return True


def _read(text: str, lines: dict[str, int] | None) -> Plain | None:
    try:
        return read_plain(text, lines)
    except DeclinedError:
        return None


@settings(max_examples=1000)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_pieces_put_together_are_read_alike(text: str) -> None:
    """Whatever comes out when pieces of YAML stand beside each other."""
    agree(text)


@settings(max_examples=400)
@given(st.sampled_from(TEXTS), st.data())
def test_files_with_something_changed_are_read_alike(text: str, data: st.DataObject) -> None:
    """A real file in which a few places were typed over."""
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 6))
        text = text[:at] + data.draw(PIECES) + text[at + cut :]
    agree(text)


@settings(max_examples=400)
@given(
    st.sampled_from(TEXTS),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 8)), min_size=1, max_size=4),
)
def test_files_with_lines_moved_are_read_alike(text: str, moves: list[tuple[int, int]]) -> None:
    """A real file in which lines are indented otherwise."""
    lines = text.split("\n")
    for at, indent in moves:
        if at < len(lines):
            lines[at] = " " * indent + lines[at].lstrip(" ")
    agree("\n".join(lines))


@pytest.mark.parametrize("text", TEXTS[:100])
def test_what_people_write_is_plain(text: str) -> None:
    """The quick way is the usual one."""
    assert agree(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n\n\n# c\nd:\n- e\n- f: g\n  h:\n  - i\n",
        "a:\n  - b\n  - c: |\n      d\n\n        e\n\n    f: 1\n",
        "a: |-\n  b\nc: 'it''s'\nd: \"\\n\"\ne: {f: [1, 2]}  # g\nh:   i\n",
        "$ref: /x\na: 0 6 * * 1-5\nb: https://c.example.com:8443/d?\ne: -1\nf: --g\n",
    ],
)
def test_these_are_taken(text: str) -> None:
    """And not only the simplest of files."""
    assert agree(text)


@pytest.mark.parametrize(
    "text",
    ["a: 4.10\n", "a: yes\n", "a: b\na: c\n", "a: &b c\n", "<<: {a: b}\n", "a: b\n c: d\n",
     "a: b\n---\nc: d\n", "a:\n- b\n c\n", "a: b: c\n", "- a\n", "a\n", "", "a: 012\n",
     "a: >\n  b\n", "a: [b,\n  c]\n", "a: 'b\n  c'\n", "a: b", "a:\tb\n", "a: !!str b\n"],
)  # fmt: skip
def test_these_are_left_to_the_strict_reader(text: str) -> None:
    """Because they are not plain, or not allowed."""
    assert not agree(text)
