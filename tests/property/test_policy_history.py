"""Law: of a policy's revisions none is removed that is in use, and of the others the last few."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.policies.core.history import surplus

_NAMES = st.sampled_from([f"r{at}" for at in range(8)])
_MADE = st.dictionaries(_NAMES, st.sampled_from([f"2026-01-0{at}T00:00:00Z" for at in range(1, 7)]))


@given(_MADE, st.sets(_NAMES), st.integers(0, 9))
def test_what_is_in_use_and_the_last_few_are_kept(
    made: dict[str, str], used: set[str], limit: int
) -> None:
    """Nothing in use is surplus; as many others stay as may, and none older than one that goes."""
    gone = surplus(made, used, limit)
    assert not used & set(gone)
    kept = made.keys() - set(gone) - used
    idle = made.keys() - used
    assert len(kept) == min(limit, len(idle))
    assert all(made[one] <= made[other] for one in gone for other in kept)


@given(_MADE, st.sets(_NAMES), st.integers(0, 9))
def test_removing_leaves_nothing_to_remove(
    made: dict[str, str], used: set[str], limit: int
) -> None:
    """Twice is once; and a crash half-way leaves the rest for the next time."""
    gone = surplus(made, used, limit)
    for count in range(len(gone) + 1):
        left = {name: at for name, at in made.items() if name not in gone[:count]}
        assert surplus(left, used, limit) == gone[count:]
