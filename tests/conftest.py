"""How much Hypothesis tries: on a person's machine a tenth of what CI does, the same every time.

Examples are derandomised, so that a red build is red for everybody; what chance would find, the
seeded states of tests/sim find by number.
"""

import pytest
from hypothesis import HealthCheck, settings

from tests.sim import IN_CI

# There are some three dozen laws: together over ten thousand examples in CI.
EXAMPLES_CI, EXAMPLES_DEV = 270, 40

for name, examples in (("ci", EXAMPLES_CI), ("dev", EXAMPLES_DEV)):
    settings.register_profile(
        name,
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile("ci" if IN_CI else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite` writes what stories and pages print now into them; then read the difference."""
    parser.addoption(
        "--rewrite",
        action="store_true",
        default=False,
        help="write what scenarios and documentation print now into their files",
    )
