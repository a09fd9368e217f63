"""Laws that reach nothing new with more examples draw fewer in CI, as `saturation.py` measures."""

import pytest

from tests.property.saturation import given_fewer
from tests.sim import FULL, IN_CI


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """On a person's machine every law draws as few as these; `make sim` draws all of them."""
    measuring = config.pluginmanager.has_plugin("tests.property.saturation")
    if IN_CI and not FULL and not measuring:
        dict(given_fewer(items))
