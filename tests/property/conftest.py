"""Laws that reach nothing new with more examples draw fewer, as `saturation.py` measures."""

import pytest

from tests.property.saturation import given_fewer
from tests.sim import FULL


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Fewer everywhere but in `make sim`, which draws all of them."""
    measuring = config.pluginmanager.has_plugin("tests.property.saturation")
    if not FULL and not measuring:
        dict(given_fewer(items))
