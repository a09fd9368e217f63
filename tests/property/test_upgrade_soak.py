"""Law: soak comes from what was seen and from nothing else.

A stretch counts if a cluster was seen healthy on the version at both ends, at most two hours apart;
whatever was kept, it never counts twice, and the sum is exact.
"""

from fractions import Fraction

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.upgrades.core.rules.soak import (
    DAY,
    SoakLedger,
    SoakObservation,
    SoakSnapshot,
    fold,
    inherited,
)
from tidegate.kinds.upgrades.wire.state import read_ledger, write_ledger
from tidegate.model.time import SECOND, Instant

MINUTE = 60 * SECOND
# Minutes since the last look, the version, whether it is well; a look may come from the past.
LOOKS = st.lists(
    st.tuples(
        st.sampled_from((-30, 0, 1, 10, 119, 120, 121, 600)),
        st.sampled_from(("4.12.17", "4.12.18")),
        st.booleans(),
    ),
    max_size=20,
)


def seen(uuid: str, at: int, version: str, healthy: bool) -> SoakObservation:
    """A cluster with one workload."""
    sight = SoakSnapshot(at=Instant(at), version=version, workloads=("w",), healthy=healthy)
    return SoakObservation(uuid, uuid, True, sight)


@given(st.lists(LOOKS, min_size=1, max_size=3))
def test_soak_is_the_sum_of_stretches_that_were_watched(
    histories: list[list[tuple[int, str, bool]]],
) -> None:
    """Computed the dumb way for each cluster, from the looks that went forward in time."""
    ledger = SoakLedger()
    expected: dict[str, Fraction] = {}
    for number, looks in enumerate(histories):
        at, last = 1_000_000 * MINUTE, None
        for gap, version, healthy in looks:
            at += gap * MINUTE
            ledger = fold(ledger, [seen(f"c{number}", at, version, healthy)], None)
            if last is not None and at <= last[0]:
                continue
            if last is not None and at - last[0] <= 120 * MINUTE:
                if last[1:] == (version, True) and healthy:
                    days = Fraction(at - last[0], 24 * 60 * MINUTE)
                    expected[version] = expected.get(version, Fraction(0)) + days
            last = (at, version, healthy)
    found = {version: Fraction(amount, DAY) for (version, _), amount in ledger.days.items()}
    assert {key: value for key, value in found.items() if value} == expected


@given(LOOKS)
def test_what_is_kept_is_read_back(looks: list[tuple[int, str, bool]]) -> None:
    """Kept after every look and read again, the sum is the same to the microsecond."""
    straight, kept, at = SoakLedger(), SoakLedger(), 1_000_000 * MINUTE
    for gap, version, healthy in looks:
        at += gap * MINUTE
        look = [seen("c", at, version, healthy)]
        straight = fold(straight, look, None)
        document = msgspec.json.decode(
            msgspec.json.encode(write_ledger(fold(kept, look, None), Instant(at)))
        )
        kept = read_ledger(document)
    assert {key: value for key, value in kept.days.items() if value} == {
        key: value for key, value in straight.days.items() if value
    }
    assert kept.sights == straight.sights


def test_a_hundred_and_forty_four_stretches_of_ten_minutes_are_a_day() -> None:
    """Added up in binary fractions they are almost one."""
    ledger = SoakLedger()
    for at in range(145):
        ledger = fold(ledger, [seen("c", at * 10 * MINUTE, "4.12.17", True)], None)
    assert ledger.days["4.12.17", "w"] == DAY
    assert sum([10 / 1440] * 144) < 1


def test_who_was_not_seen_for_a_month_is_forgotten() -> None:
    """What it soaked is not."""
    day = 24 * 60 * MINUTE
    ledger = fold(SoakLedger(), [seen("gone", 0, "4.12.17", True)], None)
    ledger = fold(ledger, [seen("gone", 60 * MINUTE, "4.12.17", True)], None)
    soaked = dict(ledger.days)
    ledger = fold(ledger, [seen("here", 30 * day, "4.12.18", True)], None)
    assert set(ledger.sights) == {"gone", "here"}
    ledger = fold(ledger, [seen("here", 31 * day, "4.12.18", True)], None)
    assert set(ledger.sights) == {"here"}
    assert ledger.days.items() >= soaked.items()


def test_soak_of_others_is_added_for_workloads_known_here() -> None:
    """The sum of all, and nothing of what runs only there; what is ours stays as it was."""
    ours = SoakLedger(days={("4.12.17", "w"): 1})
    theirs = [SoakLedger(days={("4.12.18", "w"): 2, ("4.12.18", "x"): 9})] * 2
    assert inherited(ours, theirs)[0] == {("4.12.17", "w"): 1, ("4.12.18", "w"): 4}
    assert ours.days == {("4.12.17", "w"): 1}
