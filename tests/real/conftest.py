"""What tests on real servers share."""

import pytest

from tests.real.hub import Hub, needed_programs
from tests.real.kube import Kubernetes


@pytest.fixture(scope="session")
def hub(kubernetes: Kubernetes) -> Hub:
    """A hub with one real managed cluster, and one that is declared and whose agent is silent."""
    made = Hub(kubernetes, needed_programs())
    made.manage("m1", environment="dev")
    made.declare("m2", environment="prod")
    return made
