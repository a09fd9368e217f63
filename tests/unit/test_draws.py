"""The table of laws that draw fewer examples in CI names laws that are there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.saturation import FEWER, TABLE, given_fewer, is_law, table


def test_every_law_of_the_table_is_there() -> None:
    """With a number that was measured; a law that is renamed draws all until it is measured."""
    known = table()
    assert list(known) == sorted(known)
    for name, number in known.items():
        file, _, law = name.partition("::")
        assert f"def {law}(" in (TABLE.parent / file).read_text(encoding="utf-8"), name
        assert number in FEWER


def test_a_law_gets_its_number_unless_it_has_one(request: pytest.FixtureRequest) -> None:
    """What is no law, has settings, or is not in the table stays as it is."""
    name = next(iter(table()))
    file, _, law = name.partition("::")

    def item(name: str, given_law: object) -> pytest.Item:
        made = pytest.Function.from_parent(
            request.node.parent, name=name, callobj=given_law, originalname=name
        )
        made.path = TABLE.parent / file
        return made

    @given(st.integers())
    def plain(number: int) -> None: ...

    @settings(max_examples=7)
    @given(st.integers())
    def chosen(number: int) -> None: ...

    for_all, with_own = item(law, plain), item(law, chosen)
    assert is_law(for_all)
    assert not is_law(with_own)
    assert not is_law(item(law, lambda: None))
    assert list(given_fewer([item("test_of_no_table", plain), with_own])) == []
    assert list(given_fewer([for_all])) == [(name, table()[name])]
    assert not is_law(for_all)
