"""The branches of `src` that some work reaches: what one more draw, seed or story adds."""

from collections.abc import Callable
from typing import Any

import coverage


def branches(work: Callable[[], object]) -> set[Any]:
    """Every step from one line to the next, by file; what a process does once is in the first."""
    measured = coverage.Coverage(
        data_file=None, branch=True, source_pkgs=["tidegate"], config_file=False, messages=False
    )
    measured.set_option("run:disable_warnings", ["module-not-measured", "no-data-collected"])
    measured.start()
    try:
        work()
    finally:
        measured.stop()
    data = measured.get_data()
    return {(file, *arc) for file in data.measured_files() for arc in data.arcs(file) or ()}
