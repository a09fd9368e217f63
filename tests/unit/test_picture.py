"""The picture of a rollout: a failure can be seen, however short it lasted."""

from xml.etree import ElementTree

import pytest

from tidegate.kinds.rollouts.simulated.picture import COLOURS, draw_svg
from tidegate.kinds.rollouts.simulated.run import Simulation
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario

_DOCUMENT: dict[str, object] = {
    "revision": "v2",
    "lastGood": "v1",
    "groups": [{"name": "canary", "clusters": ["a", "b"]}, {"name": "prod", "clusters": ["c"]}],
    "strategy": {"type": "ProgressivePerGroup", "onFailure": "rollback"},
}


def _edges(fleet: dict[str, object]) -> list[tuple[float, float, str]]:
    """Where the red above a band begins and ends, and what it says."""
    scenario = read_scenario({**_DOCUMENT, "fleet": fleet})
    root = ElementTree.fromstring(draw_svg(scenario, Simulation(scenario).run()))
    found = []
    for each in root.iter("{http://www.w3.org/2000/svg}rect"):
        title = each.findtext("{http://www.w3.org/2000/svg}title") or ""
        if each.get("fill") == COLOURS["failed"] and "first at" in title:
            x = float(each.get("x", ""))
            found.append((x, x + float(each.get("width", "")), title))
    return found


def test_a_group_that_failed_keeps_a_red_edge_to_the_end() -> None:
    (edge,) = _edges({"applyTime": "10m", "clusters": {"b": {"fails": True}}})
    begins, ends, title = edge
    assert begins < ends
    assert ends == pytest.approx(1050, abs=0.1)
    assert title.startswith("canary: v2 failed on 1, first at ")


def test_a_rollout_that_succeeds_has_no_red_edge() -> None:
    assert _edges({"applyTime": "10m"}) == []
