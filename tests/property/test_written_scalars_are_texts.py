"""A text that is written is read as that text by every reader, and has quotes only if need be.

Three to six short commits in a hundred are numbers to some reader of YAML: those get quotes.
"""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tidegate.documents.strict_yaml import read_value
from tidegate.edit.writer import scalar

NUMBERLIKE = st.text("0123456789abcdefEx_+-.:o", min_size=1, max_size=8)
COMMITS = st.text("0123456789abcdef", min_size=7, max_size=8)
DIGITS = st.from_regex(re.compile(r"[0-9]{1,6}[e.:_-]?[0-9]{1,6}", re.ASCII), fullmatch=True)


@given(st.one_of(NUMBERLIKE, COMMITS, DIGITS, st.text(max_size=6)), st.sampled_from(("", "'", '"')))
def test_every_reader_reads_the_text_that_was_written(text: str, style: str) -> None:
    """On a line, in brackets, in whichever quotes stood there before."""
    written = scalar(text, style)
    assert yaml.safe_load(f"a: {written}") == {"a": text}
    assert yaml.safe_load(f"[{written}, {{a: {written}}}]") == [text, {"a": text}]
    assert read_value(written) == (True, text)


@pytest.mark.parametrize(
    "text",
    ["1234567", "12e4567", "0302051", "3944e21", "yes", "y", "on", "No", "NULL", "~", "4.10", "0o7",
     "2026-01-01", "1_0.5", "1_000", "0x1f", "0b1", "22:22", ".inf", ".5", "+1", "-1", "=", "<<",
     "-", "?", "*", "&", "!", "|", ">", "%", "@", "`", "[", "{", "#", "---", "...", "a:", "a,b"],
)  # fmt: skip
def test_what_some_reader_would_take_for_something_else_is_quoted(text: str) -> None:
    """Numbers, words for true and false, dates, and what starts something in YAML."""
    assert scalar(text) == f"'{text}'"


@pytest.mark.parametrize("text", ["f929a38", "3a4b5c6", "0123abcd" * 5, "v1.2", "https://a.b/c:1"])
def test_what_everyone_reads_as_a_text_is_left_bare(text: str) -> None:
    """No quotes for their own sake: the file around it has none."""
    assert scalar(text) == text
