"""Law: the rules, written a second time and dumb, decide the same."""

from hypothesis import given

from tests.sim.by_hand import decided
from tests.sim.drawn import cases, manual, reverts, rollbacks
from tests.sim.generator import Case
from tests.sim.oracle import agree


@given(cases())
def test_the_oracle_decides_the_same(case: Case) -> None:
    """Course, starts, breach, returns and removals are those the oracle expects."""
    agree(case, *decided(case))


@given(reverts())
def test_the_oracle_reverts_the_same(case: Case) -> None:
    """So are those of reverts."""
    agree(case, *decided(case))


@given(rollbacks())
def test_the_oracle_rolls_back_the_same(case: Case) -> None:
    """So are those of rollbacks."""
    agree(case, *decided(case))


@given(manual())
def test_the_oracle_reads_approvals_the_same(case: Case) -> None:
    """So are those of groups that wait for approval."""
    agree(case, *decided(case))
