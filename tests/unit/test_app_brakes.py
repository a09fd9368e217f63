"""Brakes as an API sets them: requests and documents, without a terminal."""

import asyncio

import msgspec
import pytest

from tests.engine.stage import PARTITION, Process, Stage, Tripwire, set_up
from tidegate.app.brakes.brake_list import HoldList, brake_list
from tidegate.app.brakes.change import exempt, lift_brakes, set_brake
from tidegate.app.brakes.claims import check_free, claim_list, claims_of, free_claims
from tidegate.app.brakes.reach import BrakeReach, brake_reach
from tidegate.app.brakes.request import (
    BrakeRequest,
    BrakeWord,
    FreezeException,
    FreezeTimes,
    check_brake,
)
from tidegate.app.brakes.scope import BrakeScope, LabelRequirement, LabelSelector, covers
from tidegate.app.partitions.journals import Journals
from tidegate.journal.facts import Lifted
from tidegate.kind_table import rules_of
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.time import SECOND, Instant, format_instant
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import TakenPlace

ADA = "user:ada"
EVERYTHING = BrakeScope(everything=True)


@pytest.fixture
def stage() -> Stage:
    """The demo with its canary in flight."""
    stage = set_up(MemoryStore(), Tripwire())
    asyncio.run(Process(stage).round())
    return stage


def known(stage: Stage) -> Journals:
    """Its journal, read anew."""
    return Journals(stage.store, rules_of, stage.clock.at)


def request(
    brake: BrakeWord, name: str, scope: BrakeScope = EVERYTHING, **more: object
) -> BrakeRequest:
    """What a person asks for."""
    given = {"brake": brake, "name": name, "scope": scope, "owner": "ada", "reason": "incident"}
    return BrakeRequest(**(given | more))  # type: ignore[arg-type]


def reach_of(stage: Stage, asked: BrakeRequest) -> BrakeReach:
    """What it would cover."""
    journals = known(stage)
    return brake_reach(journals, check_brake(journals, asked))


def test_a_hold_says_what_it_reaches_before_it_is_set(stage: Stage) -> None:
    """One target moves and three wait; nothing is recorded by asking."""
    before = stage.store.heads()
    reach = reach_of(stage, request("hold", "inc"))
    (one,) = reach.rollouts
    assert (one.partition, one.moving, one.waiting) == (PARTITION, ("a",), ("b", "c", "d"))
    assert reach.targets == 4
    assert stage.store.heads() == before


def test_what_is_set_is_listed_and_what_is_lifted_is_gone(stage: Stage) -> None:
    """The record has the actor and the reason; the list is the document that a program gets."""
    journals = known(stage)
    report = set_brake(journals, check_brake(journals, request("hold", "inc")), ADA, [PARTITION])
    assert (report.brake, report.name, report.replaced, report.in_force) == (
        "hold", "inc", False, True,
    )  # fmt: skip
    (bound,) = report.binds
    assert (bound.partition, bound.leader, report.covers) == (PARTITION, "worker-1", 1)
    found = brake_list(known(stage), "hold")
    assert isinstance(found, HoldList)
    data = msgspec.json.decode(msgspec.json.encode(found))
    assert (data["kind"], data["items"][0]["scope"]) == ("HoldList", {"everything": True})
    assert (data["items"][0]["by"], data["items"][0]["reason"]) == (ADA, "incident")
    lifted = lift_brakes(known(stage), "hold", ("inc",), "solved", ADA)
    assert [(each.name, each.by) for each in lifted.items] == [("inc", ADA)]
    assert brake_list(known(stage), "hold").items == ()


def test_a_name_is_taken_once(stage: Stage) -> None:
    """Two people do not overwrite each other, unless the second says so."""
    journals = known(stage)
    set_brake(journals, check_brake(journals, request("hold", "inc")), ADA, [PARTITION])
    with pytest.raises(UserError, match="is on already"):
        check_brake(known(stage), request("hold", "inc"))
    journals = known(stage)
    again = check_brake(journals, request("hold", "inc", replace=True))
    assert set_brake(journals, again, "user:bob", [PARTITION]).replaced


@pytest.mark.parametrize(
    "asked, words",
    [
        (request("hold", "x", BrakeScope(kinds=("upgrade",))), 'did you mean "upgrades"'),
        (request("hold", "x", BrakeScope(everything=True, targets=("a",))), "write one of them"),
        (request("freeze", "x", times=FreezeTimes(end="2026-01-01T00:00")), "from: missing"),
        (request("hold", " "), "name: is empty"),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(
    stage: Stage, asked: BrakeRequest, words: str
) -> None:
    """By the rules that files are read by; nothing is recorded."""
    with pytest.raises(UserError, match=words):
        check_brake(known(stage), asked)
    assert "brakes" not in stage.store.partitions()


def test_lifting_is_all_or_nothing(stage: Stage) -> None:
    """A misspelt name gets the nearest, and the other brake stays."""
    journals = known(stage)
    set_brake(journals, check_brake(journals, request("hold", "inc-1")), ADA, [PARTITION])
    with pytest.raises(NotFoundError, match='no hold "inc-2"; did you mean "inc-1"'):
        lift_brakes(known(stage), "hold", ("inc-1", "inc-2"), "", ADA)
    assert len(brake_list(known(stage), "hold").items) == 1


def test_a_block_stops_what_it_names(stage: Stage) -> None:
    """The revision that goes out is stopped by a pattern; another is not."""
    (one,) = reach_of(stage, request("block", "v2", revision="v*")).rollouts
    assert one.blocked
    (one,) = reach_of(stage, request("block", "v3", revision="v3")).rollouts
    assert not one.blocked


def test_a_freeze_to_come_is_scheduled_and_can_have_an_exception(stage: Stage) -> None:
    """It is not in force yet; the exception is in its document."""
    begin, end = (Instant(stage.clock.at + hours * 3600 * SECOND) for hours in (1, 2))
    times = FreezeTimes(begin=format_instant(begin), end=format_instant(end))
    asked = request("freeze", "f", times=times)
    assert [each.starts_at for each in reach_of(stage, asked).times] == [format_instant(begin)]
    journals = known(stage)
    report = set_brake(journals, check_brake(journals, asked), ADA, [PARTITION])
    assert not report.in_force
    assert report.next is not None
    assert report.next.ends_at == format_instant(end)
    exception = FreezeException(
        scope=BrakeScope(targets=("b",)), owner="ada", reason="fix", expires=format_instant(end)
    )
    assert exempt(known(stage), "f", exception, ADA).freeze == "f"
    (item,) = brake_list(known(stage), "freeze").items
    assert item.exceptions == (exception,)


def test_a_target_that_no_rollout_has_is_named(stage: Stage) -> None:
    """It may be a mistake: the nearest is offered."""
    reach = reach_of(stage, request("hold", "x", BrakeScope(targets=("nowhere",))))
    assert [each.name for each in reach.unknown] == ["nowhere"]


def test_a_place_is_freed_unless_it_is_in_use(stage: Stage) -> None:
    """Forced, the record says who freed it and why."""
    entry = next(each for each in stage.store.read(PARTITION) if each.kind == "decided")
    (task,) = entry.fact().tasks  # type: ignore[attr-defined]
    place = TakenPlace("mutex/db", 0, PARTITION, task.key, stage.clock.at)
    stage.store.append(PARTITION, [], claims=[place])
    assert [each.target for each in claim_list(known(stage)).items] == ["a"]
    release = claims_of(known(stage), "mutex/db")
    assert [each.in_use for each in release.items] == [True]
    with pytest.raises(UserError, match="still in use by a"):
        check_free(release)
    free_claims(known(stage), release, "gone", ADA, force=True)
    assert claim_list(known(stage)).items == ()
    *_, last = stage.store.read("brakes")
    assert (last.actor, last.fact()) == (ADA, Lifted(brake="claim", name="mutex/db", reason="gone"))


def test_a_scope_is_told_in_few_words() -> None:
    """As it was written, by labels, by name, by kind."""
    selector = LabelSelector(
        match_labels={"env": "prod"},
        match_expressions=(
            LabelRequirement(key="region", operator="In", values=("eu", "us")),
            LabelRequirement(key="canary", operator="DoesNotExist"),
        ),
    )
    assert covers(BrakeScope(selector=selector)) == "env=prod,region in (eu,us),!canary"
    assert covers(BrakeScope(targets=("a", "b"), kinds=("upgrades",))) == "a, b (upgrades)"
    assert covers(msgspec.UNSET) == "everything"
