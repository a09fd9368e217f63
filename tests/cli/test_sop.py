"""The instructions acted out on simulated clusters, which are there on every machine."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked import TIDEGATE, Forked
from tests.sop import CLUSTER, PATIENCE_S, Team, act_out

pytestmark = pytest.mark.xdist_group("sop")
# A command takes as long: asked without a pause, it would be what takes the time of the clusters.
POLL_S = 0.25


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """Clusters of the bundle, simulated, for as long as a person works on them."""
    config = tmp_path / "kubeconfig"
    team = Team(tmp_path, {"KUBECONFIG": str(config)})
    simulate = ("clusters", "simulate", str(team.clone), "--kubeconfig", str(config))
    served = Forked[str](
        [*TIDEGATE, *simulate, "--speed", "60"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert served.stdout is not None
    try:
        assert served.stdout.readline()
        assert served.stdout.readline()
        yield team
    finally:
        served.terminate()
        served.communicate(timeout=PATIENCE_S)


def test_one_shard_goes_first_and_then_every_target(team: Team) -> None:
    """As `get shards` sees it: the image each runs, and since when."""

    def pods() -> dict[str, tuple[str, str]]:
        end = time.monotonic() + PATIENCE_S
        while True:
            items = team.data("get", "shards", "--cluster", CLUSTER, "--no-runs",
                "--integration", "terraform-resources")["items"]  # fmt: skip
            if all(each["ready"] == each["of"] for each in items) or time.monotonic() > end:
                return {
                    each["shard"].replace("/", "-"): (each["runs"], each["since"]) for each in items
                }
            time.sleep(POLL_S)

    act_out(team, pods)
