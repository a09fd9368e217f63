"""What tests on real servers share."""

import urllib.error

import pytest

from tests.command import tidegate
from tests.real.hub import ROLLOUTS, Hub, needed_programs, until
from tests.real.kube import Kubernetes


@pytest.fixture(scope="session")
def hub(kubernetes: Kubernetes) -> Hub:
    """A hub with one real managed cluster, and one that is declared and whose agent is silent."""
    made = Hub(kubernetes, needed_programs())
    made.manage("m1", environment="dev")
    made.declare("m2", environment="prod")
    return made


@pytest.fixture(scope="session")
def defined(hub: Hub) -> Hub:
    """The hub with our definition on it."""
    hub.define(tidegate("policies", "crd").stdout)

    def is_served() -> bool:
        try:
            return "items" in hub.plane.ask("GET", f"{ROLLOUTS}/rollouts")
        except urllib.error.HTTPError as error:
            error.close()
            return False

    until(is_served, "it is served")
    return hub
