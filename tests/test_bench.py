"""Every section of the benchmark runs, at its smallest size: `make bench` is seldom run whole."""

import gc

import pytest

from bench.__main__ import SECTIONS, SMOKE

# It needs an API server: `make bench` says what it measures there.
_REAL = {"kube"}


@pytest.fixture(autouse=True)
def _frozen() -> None:
    """Garbage is collected before every measurement: what the tests keep is none."""
    gc.collect()
    gc.freeze()


@pytest.mark.parametrize("section", sorted(set(SECTIONS) - _REAL))
def test_a_section_runs(section: str) -> None:
    told: list[str] = []
    report = SECTIONS[section](SMOKE, told.append)
    assert report.rows
    assert all(report.tables)
