"""Law: a revision's name stays a name in whatever is asked about it."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.documents.promql import complaints, filled, literal, skeleton

QUERIES = (
    "a{b=$revision}",
    "a{b!=$revision, c='$x'}",
    'sum(a{b = $revision, c="}"}) or d{e=$revision}',
)
names = st.text("\"\\`'{}$#\n ,=ab") | st.text()


@given(st.sampled_from(QUERIES), names)
def test_no_revision_changes_the_question(query: str, revision: str) -> None:
    """Whatever the revision is called, it stays one text in quotes, and says what it is."""
    assert not list(complaints(query))
    asked = filled(query, revision)
    assert skeleton(asked) == skeleton(query)
    assert literal(revision) in asked
    assert _unquoted(literal(revision)) == revision


def _unquoted(text: str) -> str:
    """What a text in quotes says, read letter by letter as PromQL reads it."""
    said, letters = "", iter(text[1:-1])
    for letter in letters:
        assert letter not in '"\n', "the text would end here"
        said += {"n": "\n", "\\": "\\", '"': '"'}[next(letters)] if letter == "\\" else letter
    return said
