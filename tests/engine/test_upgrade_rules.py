"""An organisation served by the rules of AUS, and one that moves from them to ours."""

from typing import Any

import msgspec
import pytest

from tests.upgrades_live import Scene, example
from tidegate.engine.replay import StatesThen
from tidegate.kinds.upgrades.core.compat.run import run
from tidegate.kinds.upgrades.core.history import SoakHistory, Workloads, WorkloadSoak
from tidegate.kinds.upgrades.core.journal.past import history_of, news_of, patched
from tidegate.kinds.upgrades.core.journal.replay import compare, replay
from tidegate.kinds.upgrades.core.journal.state import past_of, world_of
from tidegate.kinds.upgrades.core.rules.soak import DAY
from tidegate.kinds.upgrades.core.service import RuleSet
from tidegate.kinds.upgrades.rules import UpgradeRules

# Two days are lived once, in one process.
pytestmark = pytest.mark.xdist_group("upgrade rules")

MAPS, PAYMENTS = "upgrades/prod/o-maps", "upgrades/prod/o-payments"


@pytest.fixture(scope="module")
def theirs() -> Scene:
    """Two days by the rules of AUS."""
    scene = Scene(example(), rules=RuleSet.COMPAT)
    scene.live(48)
    return scene


def test_their_rules_decide_to_the_letter(theirs: Scene) -> None:
    """One mistake stops a whole organisation; a sector's stage goes on."""
    assert theirs.versions()["maps-1"] == "4.16.3", "maps-2 has a mistake in its labels"
    assert theirs.versions()["pay-stage-2"] == "4.16.4"
    (wait,) = {each.options for each in theirs.known(MAPS).stands.values()}
    assert wait == (("", "", ("rules ExistingRulesWait",)),)


def test_what_they_keep_is_kept_and_goes_on(theirs: Scene) -> None:
    """Floats and all: it is what their own run on the last world makes of it."""
    state = theirs.known(PAYMENTS)
    assert state.history is not None
    days = state.history.versions["4.16.4"].workloads["payments"].soak_days
    ours = state.ledger.days["4.16.4", "payments"] / DAY
    assert days == pytest.approx(ours, rel=0.02), "both count from the same looks"
    world = world_of(state, theirs.at, ledgers={}, kept={})
    assert world is not None
    assert run(world).kept["prod/o-payments"].versions.keys() == state.history.versions.keys()


def test_who_moves_from_their_rules_to_ours_loses_no_soak(theirs: Scene) -> None:
    """Our ledger was folded all along."""
    before = theirs.known(PAYMENTS).ledger.days["4.16.4", "payments"]
    later = Scene(example(), store=theirs.store)
    later.state, later.at = theirs.state, theirs.at
    later.live(12)
    state = later.known(PAYMENTS)
    assert state.rules is RuleSet.STRICT
    assert state.ledger.days["4.16.4", "payments"] > before
    assert later.versions()["maps-1"] == "4.16.5", "one mistake stops one cluster"


def history(**soaks: Any) -> SoakHistory:
    """A history of one workload."""
    versions = {
        version: Workloads({"w": WorkloadSoak(days, list(names))})
        for version, (days, names) in soaks.items()
    }
    return SoakHistory("2026-03-02T08:00:00Z", versions)


def test_what_is_new_in_a_history_makes_the_new_one_of_the_old() -> None:
    """Days that changed, names that came, versions that are new; nothing where nothing is."""
    old = history(a=(1.0, ["x"]), b=(2.0, ["x", "y"]))
    new = history(a=(1.0, ["x"]), b=(2.5, ["x", "y", "z"]), c=(0.0, ["x"]))
    news = news_of(old, new)
    assert news is not None
    assert [each[:2] for each in news.soak] == [("b", "w"), ("c", "w")]
    assert patched(old, news) == new
    assert news_of(new, new) is None


def test_a_ledger_is_handed_to_their_rules_as_they_would_have_kept_it(theirs: Scene) -> None:
    """Where they never decided before."""
    state = theirs.known(PAYMENTS)
    state.history = None
    assert past_of(state) == history_of(state.ledger)
    assert past_of(state).versions["4.16.4"].workloads["payments"].reporting


def test_recorded_decisions_are_taken_again_and_are_equal(theirs: Scene) -> None:
    """By their rules, and by ours; and one that was changed is found."""
    ours = Scene(example())
    ours.live(26)
    for scene in (theirs, ours):
        taken = list(replay(scene.store.read(PAYMENTS), StatesThen(scene.store, UpgradeRules())))
        assert len(taken) >= 3
        assert all(each.difference is None for each in taken)
    entries = list(ours.store.read(PAYMENTS))
    at = next(i for i, each in enumerate(entries) if each.kind == "planned")
    body = entries[at].body.replace(b'"digest":"', b'"digest":"0')
    entries[at] = msgspec.structs.replace(entries[at], body=body)
    assert any(each.difference for each in replay(entries, StatesThen(ours.store, UpgradeRules())))


def test_shadowing_tells_what_only_one_of_both_rules_asks_for() -> None:
    """Observing only: what both ask for is equal, and each difference has its reason."""
    scene = Scene(example())
    scene.live(24, scene.worker(act=()))
    found = compare(scene.store.read(PAYMENTS), StatesThen(scene.store, UpgradeRules()))
    equal = {(each.target, each.what) for each in found.decisions if each.is_equal}
    assert ("pay-stage-1", "upgrade/4.16.4") in equal
    odd = {each.target: each for each in found.differ}
    assert odd["pay-prod-1"].what == "channel/stable-4.17", "they switch beside a mutex"
    assert "pay-prod" in odd["pay-prod-1"].why
    (only,) = compare(scene.store.read(MAPS), StatesThen(scene.store, UpgradeRules())).decisions
    assert (only.target, only.theirs_at) == ("maps-1", None)
    assert "Cluster config errors" in only.why


def test_soak_of_others_is_theirs_as_it_was_then() -> None:
    """An organisation inherits: a replay asks what the other had soaked at the moment."""
    document = example()
    document["orgs"][0]["labels"]["version-data.publish"] = "o-maps"
    document["orgs"][1]["labels"] = {"version-data.inherit": "o-payments"}
    document["clusters"][4]["labels"]["workloads"] = "payments"
    document["clusters"][4]["labels"]["soak-days"] = "1"
    del document["clusters"][5]
    scene = Scene(document)
    scene.live(40)
    assert scene.versions()["maps-1"] == "4.16.4", "soaked by the other organisation's canary"
    taken = list(replay(scene.store.read(MAPS), StatesThen(scene.store, UpgradeRules())))
    assert taken
    assert all(each.difference is None for each in taken)
