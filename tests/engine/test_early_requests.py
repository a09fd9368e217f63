"""What a person asks of a revision binds it from its declaration on, before its first round.

A worker that observes records what would be done, and begins nothing; a worker may end between the
declaration and the decision. What is asked meanwhile is asked of the revision that is shown.
"""

import asyncio
from collections.abc import Iterator

import pytest

from tests.engine.stage import PARTITION, TERM, Process, Stage, Tripwire, live, set_up
from tidegate.app.asks import OperatorRequest, prepare, record
from tidegate.app.partitions.journals import Journals
from tidegate.journal.facts import Mode, Verb
from tidegate.kind_table import rules_of
from tidegate.kinds.rollouts.core.journal.replay import replay
from tidegate.model.time import Instant
from tidegate.store.archive_port import Archive
from tidegate.wiring import open_store


@pytest.fixture
def archive() -> Iterator[Archive]:
    """An empty journal."""
    found = open_store("memory:")
    yield found
    found.close()


@pytest.fixture(params=["completed", "under way", "returned"])
def stage(archive: Archive, request: pytest.FixtureRequest) -> Stage:
    """An older revision that is everywhere, that has begun, or that was aborted."""
    stage = set_up(archive, Tripwire())
    if request.param == "under way":
        asyncio.run(Process(stage).round())
    else:
        go_on(stage)
    if request.param == "returned":
        stage.fleet.declare(PARTITION, "v5")
        one_round(stage)
        ask(stage, archive, Verb.ABORT)
        go_on(stage)
    return stage


def ask(stage: Stage, archive: Archive, verb: Verb) -> str:
    """A person asks for something; what is shown afterwards."""
    journals = Journals(archive, rules_of, stage.clock.now())
    record(journals, prepare(journals, PARTITION, OperatorRequest(verb=verb)), "user:ada")
    return shown(stage, archive)


def shown(stage: Stage, archive: Archive) -> str:
    """The phase that readers see."""
    return Journals(archive, rules_of, stage.clock.now()).find(PARTITION).view.summary


def declare(stage: Stage, revision: str) -> None:
    """Another revision is declared, and only observed."""
    stage.fleet.declare(PARTITION, revision)
    one_round(stage, Mode.OBSERVE)


def one_round(stage: Stage, mode: Mode = Mode.ACT) -> None:
    """Another worker looks once."""
    stage.clock.at = Instant(stage.clock.at + TERM)
    asyncio.run(Process(stage).round(mode))


def go_on(stage: Stage) -> None:
    """Another worker acts until nothing is left to do."""
    stage.clock.at = Instant(stage.clock.at + TERM)
    asyncio.run(live(stage))


def given(stage: Stage) -> set[str | None]:
    """The revisions that targets were given."""
    return {task.change.revision for task in stage.fleet.done.values()}


@pytest.mark.parametrize("verb, phase", [(Verb.ABORT, "Aborted"), (Verb.PAUSE, "Paused")])
def test_a_revision_that_has_not_begun_is_stopped(
    stage: Stage, archive: Archive, verb: Verb, phase: str
) -> None:
    """It says so at once, and no target gets it once a worker acts."""
    declare(stage, "v9")
    assert ask(stage, archive, verb) == phase
    go_on(stage)
    assert shown(stage, archive) == phase
    assert "v9" not in given(stage)
    assert all(each.difference is None for each in replay(archive.read(PARTITION)))


def test_a_newer_revision_is_not_the_one_that_was_aborted(stage: Stage, archive: Archive) -> None:
    """Nor is the same one that is declared again later."""
    declare(stage, "v9")
    ask(stage, archive, Verb.ABORT)
    declare(stage, "v10")
    assert shown(stage, archive) != "Aborted"
    go_on(stage)
    assert "v10" in given(stage)
    declare(stage, "v9")
    go_on(stage)
    assert "v9" in given(stage)


def test_an_abort_is_taken_back_by_a_retry(stage: Stage, archive: Archive) -> None:
    """Before the first round, too; and the older revision is not begun again by it."""
    declare(stage, "v9")
    ask(stage, archive, Verb.ABORT)
    before = given(stage)
    assert ask(stage, archive, Verb.RETRY) != "Aborted"
    go_on(stage)
    assert shown(stage, archive) == "Succeeded"
    assert given(stage) == before | {"v9"}
    assert all(each.difference is None for each in replay(archive.read(PARTITION)))
