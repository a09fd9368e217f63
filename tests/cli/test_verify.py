"""`tidegate verify`, from outside, on simulated clusters behind HTTP."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from tests.command import tidegate
from tests.estates import estate, integration, managed
from tests.folders import Folder
from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S
from tidegate.kinds.integrations.app.estate import FindCluster
from tidegate.kinds.integrations.app.verification import verify_once
from tidegate.kubernetes.port import DEPLOYMENT, Cluster, ObjectReading, ResourceKind
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.cluster import SimulatedCluster

pytestmark = pytest.mark.xdist_group("verify")

PIN = "strategy: per-aws-account, shardSpecOverrides: [{shard: two, imageRef: ccccccc}]"


class Stage:
    """A bundle a person edits, and the clusters it is applied to."""

    def __init__(self, root: Path) -> None:
        clusters = {"stage-1": "stage", "prod-1": "production"}
        self.folder = Folder(root / "bundle", clusters)
        self.folder.integration("dns")
        self.folder.integration("tf", sharding=PIN)
        self.root = root
        kept = {n: v for n, v in os.environ.items() if not n.startswith("TIDEGATE_")}
        self.env = {**kept, "KUBECONFIG": str(root / "k.yaml"), "NO_COLOR": "1", "COLUMNS": "200"}
        self.env["XDG_CACHE_HOME"] = str(root / "cache")

    def start(self, *args: str) -> subprocess.Popen[str]:
        """A command under way."""
        command = [*TIDEGATE, *args, "bundle"]
        pipe = subprocess.PIPE
        return Forked(command, cwd=self.root, env=self.env, stdout=pipe, stderr=pipe, text=True)

    def run(self, *args: str, code: int = 0) -> tuple[str, str]:
        """What a command prints, and what it says beside."""
        done = tidegate(*args, "bundle", cwd=self.root, env=self.env)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout, done.stderr


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Clusters with nothing on them, for all of the story below."""
    stage = Stage(tmp_path_factory.mktemp("verify"))
    with stage.start("clusters", "simulate", "--kubeconfig", "k.yaml", "--speed", "100") as serving:
        assert serving.stdout is not None
        serving.stdout.readline()
        try:
            yield stage
        finally:
            serving.terminate()
            serving.communicate(timeout=PATIENCE_S)


def test_the_last_step_of_a_promotion(clusters: Stage) -> None:
    """Nothing is there; it is applied, and waited for; then more is promised; then less is seen."""
    with clusters.start("verify", "--wait", "--timeout", "60s") as waiting:
        assert waiting.stderr is not None
        said = waiting.stderr.readline()
        assert said == "0 of 6 shards run what is promised; dns: not applied yet\n"
        clusters.run("apply", "--yes")
        out, err = waiting.communicate(timeout=PATIENCE_S)
    assert waiting.returncode == 0, out + err
    assert out.splitlines() == [
        "6 of 6 shards run what is promised",
        "",
        "ENVIRONMENT  SHARDS  AS PROMISED  DIFFER  NOT KNOWN",
        "production   3       3            0       0",
        "stage        3       3            0       0",
    ]

    clusters.folder.integration("dns", "bbbbbbb", clusters=("prod-1",))
    clusters.folder.integration("tf", "bbbbbbb", sharding=PIN, staged=True)
    out, err = clusters.run("verify", "--wait", "--timeout", "1s", "-o", "wide", code=124)
    assert err.splitlines() == [
        "2 of 5 shards run what is promised; dns: `tidegate serve` or `tidegate apply` moves it",
        "timed out: they do not agree",
    ]
    pinned = next(line for line in out.splitlines() if line.startswith("tf/two"))
    assert "ccccccc" in pinned
    assert "pinned by integrations/tf.yml:" in pinned
    out, _ = clusters.run("verify", "--cluster", "prod-1", code=3)
    held = (
        "Git wants bbbbbbb; stays on aaaaaaa until "
        "rollout integrations/tf@prod-1.integrations moves it"
    )
    assert out.splitlines()[-3:] == [
        "SHARD   ENVIRONMENT  PROMISED  RUNS     WHY",
        "dns     production   bbbbbbb   aaaaaaa  `tidegate serve` or `tidegate apply` moves it",
        f"tf/one  production   bbbbbbb   aaaaaaa  {held}",
    ]

    # Of two places one is as promised, and the other is not known.
    nowhere = ("--context-of", "stage-1=nowhere", "--shard", "tf/two")
    out, err = clusters.run("verify", *nowhere, "-o", "json", code=1)
    two = {each["cluster"]: each for each in json.loads(out)["items"]}
    assert (two["prod-1"]["agrees"], two["stage-1"]["agrees"]) == (True, False)
    assert (two["prod-1"]["read"], two["stage-1"]["read"]) == (True, False)
    assert two["prod-1"]["running"] == [two["prod-1"]["promised"]] == ["ccccccc"]
    assert "stage-1" in err
    out, _ = clusters.run("verify", *nowhere, code=1)
    assert out.startswith("1 of 2 shards run what is promised, 1 not known\n")
    assert "unknown: its cluster cannot be read" in out


def test_how_long_to_wait_is_said_only_where_a_person_waits(clusters: Stage) -> None:
    _, err = clusters.run("verify", "--timeout", "5m", code=2)
    assert "write --wait as well" in err
    _, err = clusters.run("verify", "--wait", "--timeout", "soon", code=2)
    assert "like 30m" in err


class Partly:
    """A cluster of which not everything can be read."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    async def read(self, namespace: str, kinds: Iterable[ResourceKind]) -> ObjectReading:
        """Without its Deployments, as where no one may list them."""
        found = await self._cluster.read(namespace, [k for k in kinds if k != DEPLOYMENT])
        return replace(found, gaps=("deployments: forbidden",))


def found_by(cluster: object) -> FindCluster:
    """One cluster under every name."""
    return lambda _: cast(Cluster, cluster)


def test_of_a_partial_reading_nothing_is_concluded() -> None:
    """A workload that no one may list is not missing: it is not known."""
    place = estate(integration("tf", managed())).places[0]
    cluster = SimulatedCluster(SimulatedApi("c1"))
    gap = "c1/ns: not everything there could be read"
    for seen, told in ((cluster, []), (Partly(cluster), [gap])):
        units = [(place, place.units[0])]
        found = asyncio.run(verify_once(units, found_by(seen)))
        (shard,) = found.items
        assert (shard.read, shard.agrees, list(found.troubles)) == (not told, False, told)
