"""What must be seen of a version beside its deployment: runs, reports, no failure, trust."""

from typing import Any

import pytest

from tests.channels import NOW, decided, passed, seen, shut, world
from tidegate.explain.sentence import opens, sentence
from tidegate.gates.approval import ApprovalGate, Response
from tidegate.gates.scope import EVERYTHING
from tidegate.kinds.promotions.core.channels.decide import ChannelDecision
from tidegate.kinds.promotions.core.channels.model import (
    NamedEvidence,
    Quarantine,
    ShardRuns,
    SubscriberTarget,
)
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant


def decision(troubles: tuple[str, ...] = (), **more: Any) -> ChannelDecision:
    """The decision about one subscriber of two good publishers."""
    one = SubscriberTarget(name="prod", version="old", channels=("c",), troubles=troubles)
    facts = (seen("p", "new", 30), seen("q", "new", 20))
    known: dict[str, str | None] = {"p": "new", "q": "new"}
    return decided(world(facts, one, channels={"c": ("p", "q")}, versions=known, **more))


def words(found: ChannelDecision) -> list[str]:
    """What the shut gates say."""
    said = found.options[0].verdicts
    return [sentence(each) for each in said if each.outcome is not Outcome.PASS]


def test_what_cannot_be_read_keeps_a_subscriber_back_and_is_named() -> None:
    """A channel that may have another publisher in a broken file is not promoted from."""
    found = decision(troubles=("data/a.yml:3: no YAML",))
    assert words(found) == ["not known: data/a.yml:3: no YAML"]
    assert not found.actions


UNKNOWN = "whether the shards of q ran new is not known"


def ran(version: str = "new", shards: int = 2, clean: int = 3, **more: Any) -> ShardRuns:
    return ShardRuns(version=version, shards=shards, clean=clean, **more)


@pytest.mark.parametrize(
    "runs, said",
    [
        ({"p": ran(), "q": ran()}, []),
        ({"p": ran(), "q": ran(shards=0, clean=0)}, []),
        ({"p": ran()}, [f"{UNKNOWN}: no runs of it were seen"]),
        ({"p": ran(), "q": ran(version="old")}, [f"{UNKNOWN}: no runs of it were seen"]),
        ({"p": ran(), "q": ran(unread=("s1: no answer",))}, [f"{UNKNOWN}: s1: no answer"]),
        (
            {"p": ran(), "q": ran(clean=1, least="tf/a")},
            ["tf/a of q ran new cleanly 1 time; 3 are asked for"],
        ),
        (
            {"p": ran(failing=("s1: exit 1",)), "q": ran()},
            ["runs of new fail on p: s1: exit 1"],
        ),
        (
            {"p": ran(shards=0), "q": ran(shards=0)},
            ["no shard depends on p, q: there is no run to see"],
        ),
    ],
)
def test_a_change_that_was_not_executed_is_not_promoted(
    runs: dict[str, ShardRuns], said: list[str]
) -> None:
    """Deployed is not executed: every shard that depends on a publisher runs it, cleanly."""
    found = decision(runs_needed=3, runs=runs)
    assert words(found) == said
    assert bool(found.actions) is not bool(said)


def test_named_evidence_is_missing_then_bad_then_good() -> None:
    """What else counts is declared by name; the newest report of a version counts."""
    asked: dict[str, Any] = {"names_needed": ("load-test", "smoke")}
    found = decision(**asked)
    assert words(found) == ["not reported of new: load-test, smoke"]
    report = {"load-test": NamedEvidence(good=False, at=NOW, by="token:ci", why="p99 doubled")}
    found = decision(**asked, named={"new": report})
    assert shut(found) == ["NamedEvidenceMissing", "NamedEvidenceBad"]
    good = {name: NamedEvidence(good=True, at=NOW, by="token:ci") for name in asked["names_needed"]}
    assert "NamedEvidenceGood" in passed(decision(**asked, named={"new": good}))
    assert shut(decision(**asked, named={"old": good})) == ["NamedEvidenceMissing"]


def test_a_version_that_failed_anywhere_goes_nowhere_else() -> None:
    """It says where it failed, and which role can lift it."""
    failed = Quarantine(version="new", target="stage", at=Instant(0), why="probe failed")
    found = decision(quarantined={"new": failed}, quarantine_role="operator")
    (one,) = (each for each in found.options[0].verdicts if each.outcome is not Outcome.PASS)
    assert sentence(one) == (
        "new is quarantined: it failed on stage at 1970-01-01T00:00:00Z: probe failed"
    )
    assert opens(one) == ("a newer version, or operator lifts it: `promotions lift new`")
    assert decision(quarantined={"other": failed}).actions


def test_until_a_pipeline_is_trusted_another_person_approves() -> None:
    """The approval is for one version; enough good promotions need none."""
    found = decision(went_well=1, trusted_after=2)
    assert words(found) == ["trust/new: 0 of 1 for new"]
    given = Response(who="user:bob", at=Instant(0), revision="new")
    gate = ApprovalGate(name="trust/new", scope=EVERYTHING, responses=(given,))
    assert decision(went_well=1, trusted_after=2, trust_gates={"new": gate}).actions
    assert not decision(went_well=1, trusted_after=2, trust_gates={"older": gate}).actions
    assert decision(went_well=2, trusted_after=2).actions


def test_a_pause_and_an_abort_stop_what_they_are_for() -> None:
    """An abort is of a version; a newer one goes on."""
    assert shut(decision(paused=True)) == ["Paused"]
    assert shut(decision(aborted=frozenset({"new"}))) == ["Aborted"]
    assert decision(aborted=frozenset({"old"})).actions
