"""A law is shown able to see: with a fault planted, some example of it fails."""

from collections.abc import Callable

import pytest
from hypothesis import Phase, settings

# Far more than any planted fault needs; the first that fails ends it.
EXAMPLES_MAX = 2_000


def assert_found(law: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """The law fails. The example is not made smaller: that takes longer than to find it."""
    plain = settings(
        max_examples=EXAMPLES_MAX,
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        derandomize=True,
        database=None,
    )
    patch.setattr(law, "_hypothesis_internal_use_settings", plain)
    with pytest.raises((AssertionError, LookupError)):
        law()
