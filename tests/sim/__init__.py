"""States, fleets and stories made from a seed, and what must be true of every decision on them."""

import os

# CI draws no more than adds something (CONTRIBUTING.md has what each number adds); a person's
# machine draws less: the same seeds, fewer of them. `make sim` sets TIDEGATE_TESTS=full.
IN_CI = os.environ.get("CI", "").lower() == "true"
FULL = os.environ.get("TIDEGATE_TESTS", "") == "full"


def sized(here: int, ci: int, full: int) -> int:
    """How many: on a person's machine, in CI, in `make sim`."""
    if FULL:
        return full
    return ci if IN_CI else here
