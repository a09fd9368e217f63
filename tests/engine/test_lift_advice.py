"""What is said to take a brake away does: a command for one of the journal, a file for the others.

A command that cannot lift what it names is worse than no advice: it is tried first.
"""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine.stage import PARTITION, Process, Stage, Tripwire, set_up
from tidegate.documents.brake_doc import IN_DOCUMENT
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.round import RoundResult
from tidegate.explain.sentence import opens
from tidegate.gates.brakes import Brakes
from tidegate.gates.pin import Pin
from tidegate.gates.scope import Scope
from tidegate.journal.brake_state import FIELDS, fold_brake
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Bound, Braked, Lifted
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kinds.rollouts.core.journal.replay import replay
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold, world_of
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.kinds.rollouts.wire.rollout_doc import read_rollout
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Instant
from tidegate.settings.brake_file import BrakeFile
from tidegate.store.client.memory import MemoryStore

COMMON = {"name": "inc-42", "scope": {"everything": True}, "owner": "sre", "reason": "incident"}
LATER = {"expires": "2100-01-01T00:00:00Z"}
WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "hold": ("hold", COMMON),
    "hold that expires": ("hold", {**COMMON, **LATER}),
    "block": ("block", {**COMMON, "revision": "v2"}),
    "block that expires": ("block", {**COMMON, **LATER, "revision": "v2"}),
    "pin": ("pin", COMMON),
    "pin that expires": ("pin", {**COMMON, **LATER}),
    "hold that cannot be read": ("hold", {**COMMON, "when": "full moon"}),
    "freeze that cannot be read": ("freeze", COMMON),
    "pin that cannot be read": ("pin", {**COMMON, "when": "full moon"}),
}
# `hold remove inc-42`, `unpin inc-42`
COMMAND = re.compile(r"`(?:(\w+) remove|(un)pin) ([^`]+)`")


def shut(result: RoundResult) -> list[str]:
    """What would open each gate that is shut for the first target."""
    assert result.plan is not None
    return [
        opens(each)
        for each in result.plan.options[0].verdicts
        if each.outcome is not Outcome.PASS and each.gate in (Gate.HOLD, Gate.BLOCK, Gate.PIN)
    ]


def commands(said: list[str]) -> Iterator[Lifted]:
    """The facts that the commands among them record."""
    for kind, pin, name in (found for each in said for found in COMMAND.findall(each)):
        yield Lifted(brake="pin" if pin else kind, name=name)


def one_round(stage: Stage, book: BrakeBook) -> RoundResult:
    """What a worker with these brakes decides."""
    return asyncio.run(Process(stage, PARTITION, book).round())


@pytest.mark.parametrize("kind, document", WRITTEN.values(), ids=WRITTEN)
def test_a_brake_of_the_journal_is_lifted_by_the_command_that_is_named(
    kind: str, document: dict[str, Any]
) -> None:
    """Recorded, what it records takes the brake away; also one that cannot be read."""
    stage = set_up(MemoryStore(), Tripwire())
    fact = Braked(brake=kind, name="inc-42", document=document)
    stage.store.append(BRAKES, [JournalNote(stage.clock.now(), "user:ada", fact)])
    book = BrakeBook(stage.store)
    (said,) = shut(one_round(stage, book))
    (lifted,) = commands([said])
    assert not fold_brake(book.state(), stage.clock.now(), lifted, "user:ada").on


@pytest.mark.parametrize("must_exist", [True, False])
@pytest.mark.parametrize("kind, document", WRITTEN.values(), ids=WRITTEN)
def test_a_brake_of_a_file_names_the_file_and_no_command(
    kind: str, document: dict[str, Any], must_exist: bool, tmp_path: Path
) -> None:
    """No command on the journal can take it away."""
    path = tmp_path / "brakes.yaml"
    path.write_bytes(msgspec.json.encode({FIELDS[kind]: [document]}))
    stage = set_up(MemoryStore(), Tripwire())
    (said,) = shut(
        one_round(stage, BrakeBook(stage.store, [BrakeFile(path, must_exist=must_exist)]))
    )
    assert f"change {path}" in said
    assert not list(commands([said]))


def test_an_empty_file_is_to_be_removed(tmp_path: Path) -> None:
    """It holds for as long as it is there."""
    path = tmp_path / "emergency"
    path.touch()
    stage = set_up(MemoryStore(), Tripwire())
    book = BrakeBook(stage.store, [BrakeFile(path, must_exist=False)])
    assert shut(one_round(stage, book)) == [f"remove {path}"]


# Pins that are declared with a rollout

NOW = Instant(10**18)
FILE = "integrations/users.yml:12"
DECLARED = RolloutDeclared(
    strategy=Strategy(StrategyType.ALL),
    groups=(Membership("all", 0, ("a", "b", "c")),),
    revision="v2",
    pinned={"a": FILE, "b": "not ours"},
    unpinned_by={"b": "`tidegate apply --adopt`"},
)
BY_HAND = Pin(name="a", scope=Scope(targets=frozenset("a")), owner="ops", why="a look at it")


def said_of(state: RolloutState, brakes: Brakes | None) -> dict[str, list[str]]:
    """What would lift the pins of each target."""
    world = world_of(state, brakes)
    assert world is not None
    return {
        world.targets[each.target].name: [
            opens(one)
            for one in each.verdicts
            if one.gate is Gate.PIN and one.outcome is not Outcome.PASS
        ]
        for each in decide(world, NOW).options
    }


def test_a_declared_pin_names_what_to_change() -> None:
    """The file and its line, or the command that the kind says; never `unpin`."""
    state = fold(RolloutState(), NOW, DECLARED, "system")
    assert said_of(state, None) == {
        "a": [f"change {FILE}"],
        "b": ["`tidegate apply --adopt`"],
        "c": [],
    }


def test_a_target_with_both_pins_names_both_ways() -> None:
    """Lifting one of them alone does not free it."""
    state = fold(RolloutState(), NOW, DECLARED, "system")
    both = ["`unpin a`", f"change {FILE}"]
    world = world_of(state, Brakes(pins=(BY_HAND,)))
    assert world is not None
    assert sorted(said_of(state, Brakes(pins=(BY_HAND,)))["a"]) == sorted(both)
    # The brakes as they were recorded, and those with what readers add to them: no pin is twice.
    state.brakes = world.brakes
    assert sorted(said_of(state, state.brakes)["a"]) == sorted(both)
    assert world.brakes is not None
    assert sorted(said_of(state, msgspec.structs.replace(world.brakes))["a"]) == sorted(both)


@pytest.mark.parametrize("recorded", [(BY_HAND,), ()])
def test_pins_that_were_recorded_without_their_place_are_as_they_were(
    recorded: tuple[Pin, ...],
) -> None:
    """A journal of before: no pin is added to what bound the rollout, and none is there twice."""
    old = Pin(name="b", scope=Scope(targets=frozenset("b")), owner="the bundle", why="not ours")
    own = Pin(name="a", scope=Scope(targets=frozenset("a")), owner="the bundle", why=FILE)
    pins = (*recorded, *(() if recorded else (own,)), old)
    state = fold(RolloutState(), NOW, DECLARED, "system")
    state = fold(state, NOW, Bound(brakes=Brakes(pins=pins)), "system")
    assert said_of(state, state.brakes) == {"a": ["`unpin a`"], "b": ["`unpin b`"], "c": []}
    assert state.brakes is not None
    live = said_of(state, msgspec.structs.replace(state.brakes))
    assert {name: len(said) for name, said in live.items()} == {
        "a": 2 if recorded else 1,
        "b": 1,
        "c": 0,
    }


def test_decisions_under_both_pins_replay_equal() -> None:
    """What was recorded is enough."""
    stage = set_up(MemoryStore(), Tripwire())
    fact = Braked(
        brake="pin",
        name="b",
        document={**COMMON, "name": "b", "scope": {"targets": ["b"]}},
    )
    stage.store.append(BRAKES, [JournalNote(stage.clock.now(), "user:ada", fact)])
    process = Process(stage)
    asyncio.run(process.round())
    declared = process.part.state.declared
    assert declared is not None
    fact_of_pins = msgspec.structs.replace(declared, pinned={"b": FILE, "c": FILE})
    stage.store.append(PARTITION, [JournalNote(stage.clock.now(), "system", fact_of_pins)])
    asyncio.run(process.round())
    replayed = list(replay(stage.store.read(PARTITION)))
    assert len(replayed) > 1
    assert [each.difference for each in replayed if each.difference is not None] == []


def test_a_brake_of_a_document_names_the_document() -> None:
    """`why FILE` and `decide` read no journal that a command could change."""
    document = {
        "now": "2026-01-01T00:00:00Z",
        "revision": "v2",
        "strategy": {"type": "All"},
        "groups": [{"name": "all", "index": 0, "clusters": ["a"]}],
        "brakes": {"pins": [COMMON], "kind": "simulated"},
    }
    reading = read_rollout(document)
    verdicts = decide(reading.world, reading.now).options[0].verdicts
    assert [opens(each) for each in verdicts if each.outcome is not Outcome.PASS] == [IN_DOCUMENT]
