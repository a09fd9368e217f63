"""What is done in a namespace, case by case: who waits for whom, and which rule says so."""

from typing import Any

import msgspec
import pytest

from tidegate.kinds.integrations.core.objects.decide import (
    ActAttempt,
    ObjectWorld,
    decide,
    with_objects,
)
from tidegate.kinds.integrations.core.objects.stand import (
    ChangeClass,
    ObjectStand,
    SaidVerdict,
    WaveLimits,
)
from tidegate.kinds.integrations.core.waves.rules import ChangePace
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.model.time import SECOND, Instant
from tidegate.model.verdict import all_pass

NOW = Instant(1_790_000_000 * SECOND)
SAID = {
    ObjectAction.CREATE: ("ObjectMissing", ChangeClass.NEW),
    ObjectAction.CONFIGURE: ("ObjectDiffers", ChangeClass.FIELDS),
    ObjectAction.REMOVE: ("DeclaredNoMore", ChangeClass.REMOVAL),
    ObjectAction.UNCHANGED: ("ObjectAsDeclared", None),
    ObjectAction.ADOPT: ("NotOurs", None),
}


def stand(name: str, verb: ObjectAction, target: str = "", **more: Any) -> ObjectStand:
    """One object of an integration."""
    reason, change = SAID[verb]
    plain = ObjectStand(
        object=f"deployment/{name}",
        target=target or f"a/{name}",
        verb=verb,
        said=(SaidVerdict(reason),),
        integration="a",
        wanted="x",
        change=change,
        labels={},
    )
    return msgspec.structs.replace(plain, **more)


def decided(*stands: ObjectStand, managed: int = 100, **more: Any) -> dict[str, str]:
    """Why each object waits, by its name; empty: it is done now."""
    removing = sum(each.removes for each in stands)
    plain = ObjectWorld(managed=managed, removing=removing)
    world = with_objects(msgspec.structs.replace(plain, **more), stands)
    found = {}
    for each, option in zip(stands, decide(world, NOW).options, strict=True):
        shut = next((v for v in option.verdicts if v.outcome.value != "pass"), None)
        assert (shut is None) is all_pass(option.verdicts)
        found[each.object.partition("/")[2]] = "" if shut is None else str(shut.reason.value)
    return found


C, R = ObjectAction.CONFIGURE, ObjectAction.REMOVE
BY_HAND: dict[str, Any] = {"pace": ChangePace.BY_HAND}


def test_objects_of_one_shard_change_together_or_not_at_all() -> None:
    """A sub-shard that waits keeps the others of its shard waiting, with the same words."""
    made = decided(stand("0", C, "a/1"), stand("1", C, "a/1", **BY_HAND), stand("2", C))
    assert made == {"0": "LeftToHand", "1": "LeftToHand", "2": ""}


def test_what_a_shard_has_no_more_goes_after_what_takes_its_place() -> None:
    """One after the other; elsewhere it goes at once."""
    stands = stand("new", ObjectAction.CREATE, "a/1"), stand("old", R, "a/1"), stand("x", R)
    assert decided(*stands) == {"new": "", "old": "RemovedLast", "x": ""}
    # By hand, the executor keeps the order.
    assert decided(*stands, by_hand=True) == {"new": "", "old": "", "x": ""}


def test_nothing_is_removed_while_another_change_fails() -> None:
    """A failing removal stops no other."""
    failing = ActAttempt(tries=1, failure="no answer")
    stands = stand("1", C), stand("2", R)
    assert decided(*stands, attempts={"a/1": failing}) == {
        "1": "ServerFailed",
        "2": "RemovalWithheld",
    }
    removing = ActAttempt(tries=1, failure="no answer", removes=True)
    assert decided(stand("3", R), stand("2", R), attempts={"a/3": removing})["2"] == ""


@pytest.mark.parametrize("by_hand, reason", [(False, "LeftToHand"), (True, "")])
def test_what_is_left_to_people_is_done_by_people(by_hand: bool, reason: str) -> None:
    """`apply` does what `serve` only shows."""
    assert decided(stand("1", C, **BY_HAND), by_hand=by_hand) == {"1": reason}


def test_an_integration_with_rules_keeps_most_of_its_shards_though_the_namespace_is_large() -> None:
    """Its rollout has the same limit; one that is declared no more is counted by the namespace."""
    kept = [stand(str(at), ObjectAction.UNCHANGED, staged=True) for at in range(3)]
    gone = [stand(f"g{at}", R, staged=True) for at in range(3)]
    found = decided(*kept, *gone)
    assert {found[f"g{at}"] for at in range(3)} == {"MassDeletion"}
    plain = [msgspec.structs.replace(each, staged=False) for each in gone]
    assert {decided(*kept, *plain)[f"g{at}"] for at in range(3)} == {""}
    assert decided(*kept, *gone, allows_mass_delete=True)["g0"] == ""


def test_what_is_not_ours_delays_no_group() -> None:
    """Where fields go in waves."""
    waves = {"a": WaveLimits()}
    other = stand("1", ObjectAction.ADOPT, wave=0, group="canary")
    mine = stand("2", C, wave=1, group="rest", pace=ChangePace.WAVES)
    assert decided(other, mine, waves=waves) == {"1": "NotOurs", "2": ""}
    first = msgspec.structs.replace(stand("1", C), wave=0, group="canary", pace=ChangePace.WAVES)
    assert decided(first, mine, waves=waves) == {"1": "", "2": "EarlierGroupDiffers"}


def test_a_shard_that_is_new_is_created_by_its_rollout_where_the_rule_says_so() -> None:
    """`new: waves`."""
    one = stand("1", ObjectAction.CREATE, pace=ChangePace.WAVES, group="canary")
    assert decided(one) == {"1": "LeftToWaves"}
