"""What OpenShift Cluster Manager refused: that step alone waits, and is asked again."""

from typing import Any

import pytest

from tests.upgraded import acts, answer, hosted, shut, told, world
from tidegate.kinds.upgrades.core.refusal import what_of
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.wire.modes import answer_strict
from tidegate.model.errors import UserError
from tidegate.model.plan import ChangeKind

LATELY = {"at": "2023-05-10T09:55:00Z", "tries": 1, "detail": "no quota"}
GATES = [{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}]


def refused(*whats: str) -> dict[str, Any]:
    """What was refused for `a`."""
    return {"a-uuid": dict.fromkeys(whats, LATELY)}


def test_the_next_newest_is_taken_instead() -> None:
    """And the refusal is shown with its words, and until when; no one is notified."""
    asked = world(
        {"name": "a", "available_upgrades": ["4.12.18", "4.12.19"]},
        refused=refused("upgrade/4.12.19"),
    )
    assert acts(asked) == ["POST a-id/upgrade_policies 4.12.18"]
    assert (shut(asked, "a", "4.12.19"), told(asked)) == (["RefusedLately"], [])
    option = answer(asked)["targets"][0]["options"][0]
    said = next(each for each in option["verdicts"] if each["reason"] == "RefusedLately")
    assert (said["facts"], said["until"]) == (
        {"tries": 1, "detail": "no quota"},
        "2023-05-10T10:05:00Z",
    )
    assert answer(asked)["recheckAfter"] <= 300


def test_another_node_pool_goes_instead() -> None:
    """The one that was refused keeps it from nothing; of two that may go the first goes."""
    asked = world(
        hosted("a", {"p1": "4.12.16", "p2": "4.12.16", "p3": "4.12.16"}),
        refused=refused("pool/p1/4.12.17"),
    )
    assert acts(asked) == ["POST a-id/node_pools/p2/upgrade_policies 4.12.17"]
    assert shut(asked | {"refused": refused("pool/p2/4.12.17")}, "a") == []


def test_a_channel_waits_for_a_version_that_was_refused() -> None:
    """It goes first once it is let in; a refused channel waits by itself."""
    one = {"name": "a", "available_channels": ["stable-4.13"]}
    assert acts(world(one, refused=refused("upgrade/4.12.18"))) == []
    idle = {**one, "available_upgrades": []}
    assert acts(world(idle)) == ["PATCH a-id"]
    assert shut(world(idle, refused=refused("channel/stable-4.13")), "a") == ["RefusedLately"]


def test_what_is_taken_back_and_agreed_to_waits_too() -> None:
    """By the ids that were asked for."""
    soon = [{"id": "1", "version": "4.12.18", "state": "scheduled"}]
    one = {"name": "a", "upgrade_policies": soon, "labels": {"blocked-versions": ".*"}}
    assert len(acts(world(one))) == 1
    assert acts(world(one, refused=refused("cancel/4.12.18/1"))) == []
    gated = world({"name": "a", "available_upgrades": ["4.13.1"]}, gates=GATES, approver=True)
    assert len(acts(gated)) == 1
    waiting = gated | {"refused": refused("agree/4.13/g")}
    assert (acts(waiting), answer(waiting)["recheckAfter"]) == ([], 300)


def test_steps_are_distinguished() -> None:
    """By what is done, for which part, to what."""
    step = UpgradeStep(kind=ChangeKind.APPLY, revision="4.12.18", doing=StepKind.POOL, pool="p")
    assert what_of(step) == "pool/p/4.12.18"


def test_a_refusal_without_a_moment_is_a_mistake() -> None:
    """It is not known when it is over."""
    asked = world({"name": "a"}, refused={"a-uuid": {"upgrade/4.12.18": {"detail": "x"}}})
    with pytest.raises(UserError, match=r"refused\.a-uuid\.upgrade/4\.12\.18\.at: missing"):
        answer_strict(asked)
