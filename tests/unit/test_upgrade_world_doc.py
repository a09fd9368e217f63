"""A world of upgrades that is written down is read as what it was."""

from pathlib import Path

import yaml

from tests.upgrades_live import Scene, example
from tidegate.kinds.upgrades.app.read.document import read_world_document
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.kinds.upgrades.wire.world_doc import write_world

WORLD = Path(__file__).parents[2] / "examples" / "upgrade-world.yaml"
HOLD = {"name": "h", "scope": {"everything": True}, "owner": "sre", "reason": "incident"}


def test_what_is_read_from_what_was_written_is_the_same() -> None:
    """All that was said, brakes and soak included, and with it what is decided."""
    brakes = {"holds": [HOLD]}
    world = read_upgrades(yaml.safe_load(WORLD.read_text()) | {"brakes": brakes}).world
    again = read_upgrades(write_world([world], brakes)).world
    assert again.orgs == world.orgs
    assert again.clusters == world.clusters
    assert again.gates == world.gates
    assert again.brakes == world.brakes
    assert decide(again, again.now).options == decide(world, world.now).options


def test_worlds_of_several_organisations_become_one() -> None:
    """And what is decided on each alone is decided on all of them."""
    scene = Scene(example(), luck=FaultDraw(OcmFaults(permille={OcmFault.LOST: 30}), seed=1))
    scene.live(30)
    worlds = [each.world for each in scene.fleet().readings]
    document = write_world(worlds, {})
    again = read_upgrades(document).world
    wanted = {
        (option.change, option.verdicts)
        for each in worlds
        for option in decide(each, each.now).options
    }
    assert {(each.change, each.verdicts) for each in decide(again, again.now).options} == wanted
    assert "partial" not in str(document["orgs"]), "what says nothing is not written"


def test_a_simulated_world_is_asked_about_as_the_simulator_shows_it() -> None:
    """What its clusters leave out follows from the lists, so no file says two things."""
    document = yaml.safe_load((WORLD.parent / "ocm.yaml").read_text())
    asked = read_world_document(document, "ocm.yaml").world
    simulated = {
        each.name: each
        for reading in Scene(document).fleet().readings
        for each in reading.world.clusters
    }
    assert simulated
    for each in asked.clusters:
        shown = simulated[each.name]
        assert each.available_upgrades == shown.available_upgrades
        assert each.available_channels == shown.available_channels
    assert [one.latest for each in asked.clusters for one in each.addons] == ["1.3.0"]
