"""Brakes reach the engine from everywhere they can stand, and bind right up to the act."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine.stage import DEMO, PARTITION, TERM, Process, Stage, Tripwire, set_up
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.brakes.evidence import Gatherer, Pace
from tidegate.engine.round import RoundResult
from tidegate.gates.health import Evidence, HealthRun
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Acted, Bound, Braked, Lifted, TaskOutcome
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.journal.replay import replay
from tidegate.kinds.rollouts.wire.rollout_answer import answer_rollout
from tidegate.model.errors import OutsideError
from tidegate.model.reason import Gate
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.settings.brake_file import BrakeFile
from tidegate.store.client.memory import MemoryStore

HOLD: dict[str, Any] = {
    "name": "inc-42",
    "scope": {"everything": True},
    "owner": "sre",
    "reason": "incident 42",
}


def braked(kind: str, document: dict[str, Any]) -> Braked:
    """The fact that a person set a brake."""
    return Braked(brake=kind, name=str(document["name"]), document=document)


def put(stage: Stage, fact: Braked | Lifted) -> None:
    """A person sets or lifts a brake."""
    stage.store.append(BRAKES, [JournalNote(stage.clock.now(), "user:ada", fact)])


def shut_at(result: RoundResult, target: str) -> set[Gate]:
    """The gates that keep a target waiting."""
    assert result.world is not None
    assert result.plan is not None
    names = [each.name for each in result.world.targets]
    verdicts = result.plan.options[names.index(target)].verdicts
    return {each.gate for each in verdicts if each.outcome.value != "pass"}


@pytest.mark.parametrize(
    "kind, document",
    [
        ("hold", HOLD),
        ("hold", {**HOLD, "scope": {"kinds": ["simulated"]}}),
        ("hold", {**HOLD, "scope": {"targets": ["a"]}}),
        ("block", {**HOLD, "revision": "v2"}),
        ("freeze", {**HOLD, "from": "2000-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}),
    ],
)
def test_a_brake_in_the_journal_stops_the_first_start(kind: str, document: dict[str, Any]) -> None:
    """Set before the first round, it lets nothing through; lifted, everything goes on."""
    stage = set_up(MemoryStore(), Tripwire())
    put(stage, braked(kind, document))
    process = Process(stage)
    result = asyncio.run(process.round())
    assert shut_at(result, "a") == {Gate(kind)}
    assert not stage.fleet.done
    put(stage, Lifted(brake=kind, name="inc-42"))
    asyncio.run(process.round())
    assert [task.target for task in stage.fleet.done.values()] == ["a"]


def test_a_brake_for_others_is_no_news() -> None:
    """What covers nothing here neither holds anything nor fills the journal."""
    stage = set_up(MemoryStore(), Tripwire())
    put(stage, braked("hold", {**HOLD, "scope": {"targets": ["elsewhere"]}}))
    put(stage, braked("hold", {**HOLD, "name": "up", "scope": {"kinds": ["upgrades"]}}))
    asyncio.run(Process(stage).round())
    assert [task.target for task in stage.fleet.done.values()] == ["a"]
    assert not [e for e in stage.store.read(PARTITION) if isinstance(e.fact(), Bound)]


def test_a_hold_between_deciding_and_acting_is_respected() -> None:
    """Read again right before the write: the task is dropped, with the hold's own words."""
    stage = set_up(MemoryStore(), Tripwire())
    process = Process(stage)
    original = process.part.confirm

    def confirm(token: int) -> None:
        put(stage, braked("hold", HOLD))
        original(token)

    process.part.confirm = confirm  # type: ignore[method-assign]
    asyncio.run(process.round())
    assert not stage.fleet.done
    acted = [e.fact() for e in stage.store.read(PARTITION) if isinstance(e.fact(), Acted)]
    assert [(each.target, each.outcome) for each in acted if isinstance(each, Acted)] == [
        ("a", TaskOutcome.DROPPED)
    ]
    assert "incident 42" in str(acted[0])
    assert not process.part.state.pending


def test_what_is_in_flight_goes_on_and_says_so() -> None:
    """A hold neither kills nor forgets; the verdicts name it."""
    stage = set_up(MemoryStore(), Tripwire())
    process = Process(stage)
    asyncio.run(process.round())
    put(stage, braked("hold", HOLD))
    stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
    result = asyncio.run(process.round())
    assert result.world is not None
    assert result.plan is not None
    answer = answer_rollout("x", result.world, result.plan, stage.clock.now(), ())
    text = msgspec.json.encode(answer).decode()
    assert "HoldSpares" in text
    stage.clock.at = Instant(stage.clock.at + 3600 * SECOND)
    result = asyncio.run(process.round())
    assert result.plan is not None
    assert result.plan.states[0].name == "DONE"
    assert len(stage.fleet.done) == 1


def test_decisions_under_brakes_replay_equal() -> None:
    """The chain of a rollout alone is enough, whatever was set and lifted meanwhile."""
    stage = set_up(MemoryStore(), Tripwire())
    process = Process(stage)
    put(stage, braked("hold", {**HOLD, "scope": {"targets": ["b"]}}))
    rule = {"rrule": "FREQ=WEEKLY;BYDAY=SA", "timeZone": "Europe/Berlin"}
    days = {"from": "2025-06-14T08:00", "to": "2025-06-14T20:00"}
    put(stage, braked("freeze", {**HOLD, "name": "saturdays", **rule, **days}))
    for minute in range(40):
        if minute == 30:
            put(stage, Lifted(brake="hold", name="inc-42"))
        stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
        asyncio.run(process.round())
    replayed = list(replay(stage.store.read(PARTITION)))
    assert len(replayed) >= 4
    assert [each.difference for each in replayed if each.difference is not None] == []
    decisions = [e for e in stage.store.read(PARTITION) if isinstance(e.fact(), Decided)]
    assert len(decisions) == len(replayed)


# Files


def with_file(stage: Stage, path: Path, *, must_exist: bool) -> Process:
    """A worker that reads brakes from a file, too."""
    book = BrakeBook(stage.store, [BrakeFile(path, must_exist=must_exist)])
    return Process(stage, PARTITION, book)


def test_an_empty_file_on_the_disk_holds_everything_until_it_is_gone(tmp_path: Path) -> None:
    """`touch` is enough, and works without server or database."""
    stage = set_up(MemoryStore(), Tripwire())
    path = tmp_path / "hold.yaml"
    process = with_file(stage, path, must_exist=False)
    path.touch()
    assert shut_at(asyncio.run(process.round()), "a") == {Gate.HOLD}
    path.unlink()
    asyncio.run(process.round())
    assert len(stage.fleet.done) == 1


@pytest.mark.parametrize(
    "text",
    [
        "holds: {",
        "holds: [{name: x}]",
        "hols: []",
        "- a list",
        "freezes: [{name: f, scope: {everything: true}, owner: o, reason: r, icsFile: none.ics}]",
        "holds: [{name: x, scope: {kinds: [lizards]}, owner: o, reason: r}]",
    ],
)
@pytest.mark.parametrize("must_exist", [True, False])
def test_a_file_that_cannot_be_read_holds_everything(
    tmp_path: Path, text: str, must_exist: bool
) -> None:
    """Fail closed: what it says may be about anything."""
    stage = set_up(MemoryStore(), Tripwire())
    path = tmp_path / "brakes.yaml"
    path.write_text(text, encoding="utf-8")
    process = with_file(stage, path, must_exist=must_exist)
    result = asyncio.run(process.round())
    assert shut_at(result, "a") == {Gate.HOLD}
    assert result.world is not None
    assert result.world.brakes is not None
    assert "cannot be read" in result.world.brakes.holds[0].why


def test_a_file_of_the_bundle_that_is_gone_holds_everything(tmp_path: Path) -> None:
    """It was there for a reason; on the disk it may be absent."""
    stage = set_up(MemoryStore(), Tripwire())
    process = with_file(stage, tmp_path / "no.yaml", must_exist=True)
    assert shut_at(asyncio.run(process.round()), "a") == {Gate.HOLD}
    assert not stage.fleet.done
    stage.clock.at = Instant(stage.clock.at + TERM)
    asyncio.run(with_file(stage, tmp_path / "no.yaml", must_exist=False).round())
    assert len(stage.fleet.done) == 1


def test_a_brake_in_the_journal_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A newer Tidegate wrote it: nothing moves, and it says which brake it is."""
    stage = set_up(MemoryStore(), Tripwire())
    put(stage, Braked(brake="hold", name="odd", document={"name": "odd", "when": "full moon"}))
    result = asyncio.run(Process(stage).round())
    assert shut_at(result, "a") == {Gate.HOLD}
    assert result.world is not None
    assert result.world.brakes is not None
    assert "odd" in result.world.brakes.holds[0].name


def test_approvals_with_a_quorum_are_counted_from_the_journal(tmp_path: Path) -> None:
    """Declared in a file, answered by people: two different ones for this very revision."""
    from tidegate.journal.facts import Asked, Verb

    stage = set_up(MemoryStore(), Tripwire(), DEMO)
    path = tmp_path / "brakes.yaml"
    path.write_text(
        "approvals: [{name: board, scope: {everything: true}, quorum: 2}]", encoding="utf-8"
    )
    process = with_file(stage, path, must_exist=True)

    def say(who: str, verb: Verb, version: str = "v2") -> set[Gate]:
        fact = Asked(verb=verb, gates=("board",), version=version, reason="so")
        stage.store.append(PARTITION, [JournalNote(stage.clock.now(), who, fact)])
        stage.clock.at = Instant(stage.clock.at + SECOND)
        return shut_at(asyncio.run(process.round()), "a")

    assert say("user:ada", Verb.APPROVE) == {Gate.APPROVAL}
    assert say("user:ada", Verb.APPROVE) == {Gate.APPROVAL}
    assert say("user:bob", Verb.APPROVE, "v1") == {Gate.APPROVAL}
    assert say("user:eve", Verb.REJECT) == {Gate.APPROVAL}
    assert say("user:bob", Verb.APPROVE) == {Gate.APPROVAL}
    assert not stage.fleet.done
    say("user:eve", Verb.REVOKE)
    assert len(stage.fleet.done) == 1


class Witness:
    """A source of health that answers as the test says."""

    def __init__(self) -> None:
        self.clean = 0
        self.asked: list[tuple[str | None, Instant]] = []

    async def gather(
        self, probe: object, revision: str | None, since: Instant, now: Instant
    ) -> Evidence:
        """So many clean runs, or no answer."""
        del probe
        self.asked.append((revision, since))
        if not self.clean:
            raise OutsideError("nobody is there")
        runs = tuple(HealthRun(Instant(now - n), True) for n in range(self.clean))
        return Evidence(seen_at=now, revision=revision, since=since, runs=runs)

    async def close(self) -> None:
        """Nothing is open."""


def test_prod_waits_until_the_canary_has_proven_itself(tmp_path: Path) -> None:
    """No answer holds, and is reported; too few runs hold; enough let prod in."""
    stage = set_up(MemoryStore(), Tripwire())
    path = tmp_path / "brakes.yaml"
    path.write_text(
        "health: [{name: runs, scope: {targets: [b, c, d]}, cleanRuns: 3, maxAge: 10m,"
        " noNewAlerts: false, prometheus: {url: 'http://127.0.0.1:9', runs: {clean: ok_total,"
        " failed: bad_total}}}]",
        encoding="utf-8",
    )
    source = Witness()
    pace = Pace(every=Duration(SECOND))

    async def story() -> None:
        gatherer = Gatherer(source, pace)
        book = BrakeBook(stage.store, [BrakeFile(path, must_exist=True)], gatherer)
        process = Process(stage, PARTITION, book)
        await process.round()
        stage.clock.at = Instant(stage.clock.at + 3600 * SECOND)
        result = await process.round()
        assert shut_at(result, "b") == {Gate.HEALTH}
        assert result.troubles == {"health runs": "nobody is there"}
        for source.clean, shut in ((2, {Gate.HEALTH}), (3, set())):
            stage.clock.at = Instant(stage.clock.at + 60 * SECOND)
            result = await process.round()
            assert shut_at(result, "b") == shut
            assert result.troubles == {}
        await gatherer.close()

    asyncio.run(story())
    assert sorted(task.target for task in stage.fleet.done.values()) == ["a", "b", "c", "d"]
    assert {revision for revision, _ in source.asked} == {"v2"}
    assert [each.difference for each in replay(stage.store.read(PARTITION))] == [None] * len(
        [e for e in stage.store.read(PARTITION) if isinstance(e.fact(), Decided)]
    )
