"""What `simulate upgrades --save` writes is a world that can be simulated, from where it ended."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tests.engine.test_upgrade_worlds import VECTORS, _simulable, _written, surveyed
from tidegate.cli.main import cli
from tidegate.documents.reader import Reader
from tidegate.kinds.upgrades.app.read.worlds import world_of
from tidegate.kinds.upgrades.core import world as decided
from tidegate.kinds.upgrades.ocm.simulated import world_doc
from tidegate.kinds.upgrades.wire.line import decode
from tidegate.kinds.upgrades.wire.world_doc import write_world
from tidegate.model.problem import Problems

EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS: tuple[tuple[Any, Any], ...] = (
    (decided.ManagedCluster, world_doc.OcmClusterDoc),
    (decided.ClusterPool, world_doc.PoolDoc),
    (decided.ClusterAddon, world_doc.InstalledDoc),
    (decided.OcmUpgrade, world_doc.OcmPolicyDoc),
    (decided.Organisation, world_doc.OrgDoc),
    (decided.MinorGate, world_doc.GateDoc),
)


@pytest.mark.parametrize("saved, read", PAIRS, ids=lambda kind: kind.__name__)
def test_all_that_is_saved_can_be_read(saved: Any, read: Any) -> None:
    """No field of what is decided on is unknown to the simulator, nor asked for where absent."""
    names = {each.name for each in msgspec.structs.fields(read)}
    assert {each.name for each in msgspec.structs.fields(saved)} <= names
    needed = {each.name for each in msgspec.structs.fields(saved) if each.required}
    assert {each.name for each in msgspec.structs.fields(read) if each.required} <= needed


def _in_order(cluster: decided.ManagedCluster) -> decided.ManagedCluster:
    """Agreements are listed by numbers that a simulation gives them anew."""
    agreements = tuple(sorted(cluster.gate_agreements))
    return msgspec.structs.replace(cluster, gate_agreements=agreements)


@pytest.mark.parametrize("name, least", [("worlds.jsonl", 30), ("fuzz.jsonl.gz", 200)])
def test_a_saved_world_is_read_as_it_was(name: str, least: int) -> None:
    """Saved, simulated and read again: cluster by cluster."""
    tried = 0
    for line in _written(VECTORS / name):
        document = line.get("world") or line
        whole = decode(Reader(document, "", Problems()))
        if not _simulable(whole):
            continue
        first = world_of(surveyed(document), whole.orgs, whole.now)
        saved = json.loads(msgspec.json.encode(write_world([first], {})))
        again = world_of(surveyed(saved), whole.orgs, whole.now)
        assert [*map(_in_order, again.clusters)] == [*map(_in_order, first.clusters)]
        assert again.orgs == first.orgs
        tried += 1
    assert tried >= least


@pytest.mark.parametrize("example", ["ocm.yaml", "fortnight.yaml"])
def test_a_simulation_goes_on_where_it_was_saved(example: str, tmp_path: Path) -> None:
    """With the soak of before: what has soaked is not waited for again."""
    saved = tmp_path / "world.json"

    def simulate(*args: str) -> list[dict[str, Any]]:
        done = CliRunner().invoke(cli, ["simulate", "upgrades", *args, "-o", "json"])
        assert done.exit_code == 0, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]

    simulate(str(EXAMPLES / example), "--days", "4", "--save", str(saved))
    before = json.loads(saved.read_text())
    simulate(str(saved), "--days", "1", "--save", str(tmp_path / "later.json"))
    later = json.loads((tmp_path / "later.json").read_text())
    assert {each["name"] for each in later["clusters"]} == {
        each["name"] for each in before["clusters"]
    }
    for key, history in before["state"].items():
        for version, found in history["versions"].items():
            for workload, soak in found["workloads"].items():
                now = later["state"][key]["versions"][version]["workloads"][workload]
                assert now["soak_days"] >= soak["soak_days"]
