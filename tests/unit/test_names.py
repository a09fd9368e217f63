"""Names on one line."""

import pytest

from tidegate.explain.names import ranged


@pytest.mark.parametrize(
    "names, told",
    [
        ((), ""),
        (("a-2", "a-1"), "a-1, a-2"),
        (("a-3", "a-1", "a-2"), "a-1…3"),
        (("a-1", "a-3", "b"), "a-1, a-3, b"),
        (("a-8", "a-9", "a-10"), "a-8…10"),
        (("a", "a", "b"), "a, b"),
        (("a-1", "a-2", "a-3", "b", "c", "d", "e", "f-1", "f-2"), "a-1…3, b, c, d and 3 more"),
        (("4.16.5", "4.16.6", "4.16.7"), "4.16.5…7"),
    ],
)
def test_names_that_count_up_are_reported_by_the_first_and_the_last(
    names: tuple[str, ...], told: str
) -> None:
    """In their order, each once, and no more than fit on a line."""
    assert ranged(names) == told
    assert ranged(reversed(names)) == told
