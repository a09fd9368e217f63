"""Logs: every line is JSON and says why; nothing waits for their readers."""

import asyncio
import json
import logging
import threading

import pytest

from tests.engine.stage import DEMO, PARTITION, Process, Tripwire, VirtualClock, set_up
from tidegate.engine.round import RoundResult
from tidegate.explain.sentence import sentence
from tidegate.explain.table import first_shut
from tidegate.journal.facts import Acted, Mode, TaskOutcome
from tidegate.kinds.rollouts.telemetry.observer import RolloutTelemetry
from tidegate.model.time import Instant, parse_instant
from tidegate.store.client.memory import MemoryStore
from tidegate.telemetry import lines as lines_module
from tidegate.telemetry.acted import acted_record
from tidegate.telemetry.lines import Lines
from tidegate.telemetry.log import Log, Record

NOON = parse_instant("2026-01-05T12:00:00Z")


def first_round(mode: Mode = Mode.ACT) -> RoundResult:
    """A round in which everything is news."""
    return asyncio.run(Process(set_up(MemoryStore(), Tripwire())).round(mode))


def records(done: RoundResult) -> list[Record]:
    """The lines about a round."""
    assert done.partition == PARTITION
    return list(RolloutTelemetry().records(done)) if done.is_new else []


def logged(found: list[Record], **how: object) -> list[str]:
    """Records as they are written."""
    out: list[bytes] = []
    options = {"human": False, "level": "info"} | how
    log = Log(VirtualClock(NOON), out.append, **options)  # type: ignore[arg-type]
    log.later(lambda: found)
    log.close()
    return b"".join(out).decode().splitlines()


def test_every_target_that_waits_says_the_reason_not_to_act() -> None:
    """Gate, reason and the very sentence of the plan's verdict; who starts says what is done."""
    done = first_round()
    assert done.world is not None
    assert done.plan is not None
    found = {line["target"]: line for line in map(json.loads, logged(records(done)))}
    assert set(found) == {target.name for target in done.world.targets}
    for i, target in enumerate(done.world.targets):
        line, shut = found[target.name], first_shut(done.plan.options[i].verdicts)
        assert line["rollout"] == PARTITION
        if shut is None:
            assert (line["action"], line["msg"]) == ("apply", "apply v2")
        else:
            assert line["msg"] == sentence(shut)
            assert (line["gate"], line["reason"]) == (shut.gate.value, shut.reason.value)
            assert shut.reason.entry.gate is shut.gate


def test_what_is_only_observed_says_would() -> None:
    """No one who reads the log thinks that something was done."""
    found = [json.loads(line)["msg"] for line in logged(records(first_round(Mode.OBSERVE)))]
    assert "would apply v2" in found


def test_what_goes_back_says_how_it_returns() -> None:
    """On the way back, that the rollout was aborted is not the news; where it goes is."""
    document = {**DEMO, "fleet": {"applyTime": "10m", "clusters": {"a": {"fails": "no image"}}}}
    stage = set_up(MemoryStore(), Tripwire(), document)
    process, found = Process(stage), list[str]()
    for moves in (False, True, False, False):
        done = asyncio.run(process.round())
        found += [msg for _, msg, keys in records(done) if keys.get("target") == "a"]
        ends = stage.fleet.fleets[PARTITION].next_end()
        if moves and ends is not None:
            stage.clock.at = ends
    assert found == ["apply v2", "being updated", "return v1", "on its way back to v1"]


def test_a_round_without_news_says_nothing() -> None:
    """A line is a change: the second look at the same world has none."""
    process = Process(set_up(MemoryStore(), Tripwire()))
    asyncio.run(process.round(Mode.OBSERVE))
    assert records(asyncio.run(process.round(Mode.OBSERVE))) == []


def test_an_action_that_was_accepted_is_not_called_done() -> None:
    """Whether the target runs it is seen later."""
    what = "upgrade 4.16.4 at 2026-01-06T08:00:00Z"
    fact = Acted(key="k#1/a", target="a", outcome=TaskOutcome.DONE, detail=what)
    (line,) = map(json.loads, logged([acted_record(PARTITION, NOON, fact)]))
    assert (line["msg"], line["outcome"]) == (f"accepted: {what}", "done")


def test_what_came_of_an_action_is_a_line() -> None:
    """Its outcome, its key and, where it failed, why; a failure is a warning."""
    fact = Acted(key="k#1/a", target="a", outcome=TaskOutcome.FAILED, detail="no quota")
    (line,) = map(json.loads, logged([acted_record(PARTITION, NOON, fact)]))
    assert line == {
        "ts": "2026-01-05T12:00:00.000Z",
        "level": "warning",
        "msg": "failed: no quota",
        "rollout": PARTITION,
        "target": "a",
        "what": "acted",
        "outcome": "failed",
        "key": "k#1/a",
    }


def test_one_notice_says_what_is_true_of_many() -> None:
    """On a terminal, three targets that wait for the same are one line."""
    found = logged(records(first_round()), human=True)
    why = "canary: 0 of 1 done, waiting for a  gate=order reason=EarlierGroupUnfinished"
    assert [line[10:] for line in found] == [
        "simulated/demo  a  apply v2",
        f"simulated/demo  b and 2 more  {why}",
    ]


def test_below_the_level_nothing_is_said() -> None:
    """The level is a floor."""
    found: list[Record] = [(level, level, {}) for level in ("debug", "info", "warning", "error")]
    assert [json.loads(line)["msg"] for line in logged(found, level="warning")] == [
        "warning",
        "error",
    ]


@pytest.mark.parametrize("human", [True, False])
def test_a_line_is_one_line_whatever_it_says(human: bool) -> None:
    """Line breaks from outside systems forge no second line."""
    text = "no\nquota\r\n\x1b[2Jü"
    found = logged([("info", text, {"target": "a\nb", "what": {"x": Instant(1)}})], human=human)
    assert len(found) == 1
    assert "\x1b" not in found[0]


def test_a_reader_who_is_stuck_delays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipe is full: work is dropped from the front, counted, and reported later."""
    monkeypatch.setattr(lines_module, "QUEUE_MAX", 10)
    gate, out = threading.Event(), list[bytes]()

    def write(line: bytes) -> None:
        gate.wait()
        out.append(line)

    lines = Lines(write, lambda count: b"lost %d" % count)
    for i in range(100):
        lines.put(lambda i=i: (b"%d" % i,))  # type: ignore[misc]
    gate.set()
    lines.close()
    assert lines.dropped >= 89
    assert out[-10:] == [b"%d" % i for i in range(90, 100)]
    assert sum(int(line[5:]) for line in out if line.startswith(b"lost")) == lines.dropped


def test_warnings_of_libraries_are_lines_too() -> None:
    """What uvicorn or asyncio say in Python's own way arrives as JSON, with the error."""
    out: list[bytes] = []
    log = Log(VirtualClock(NOON), out.append, human=False)
    log.adopt("tidegate.test")
    try:
        raise ValueError("bad")
    except ValueError:
        logging.getLogger("tidegate.test").exception("it went wrong")
    logging.getLogger("tidegate.test").info("nobody asked")
    log.close()
    (line,) = [json.loads(each) for each in out]
    assert (line["level"], line["msg"], line["error"]) == (
        "error",
        "it went wrong",
        "ValueError('bad')",
    )
