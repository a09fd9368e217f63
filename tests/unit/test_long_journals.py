"""Answers about a rollout read the end of its journal: none reads more of a longer one."""

from collections.abc import Callable, Iterator

import pytest

from tests.engine.test_found import DECLARED, decided, task
from tidegate.app.documents import RolloutDates
from tidegate.app.partitions.journals import Journals
from tidegate.app.rollouts import rollout_details, status, why
from tidegate.app.when import when
from tidegate.engine.partition import PartitionState
from tidegate.journal.chain import JournalEntry, JournalNote
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted, TaskOutcome
from tidegate.journal.lease import Look
from tidegate.kinds.rollouts.core.journal.facts import TargetsObserved
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.model.document import Document
from tidegate.model.plan import ChangeKind
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.client.memory import MemoryStore

PARTITION = "simulated/long"
# Both are longer than what a projection leaves to be folded.
SHORT, LONG = 150, 300
MINUTE = 60 * SECOND
PER_CHANGE = 3
TAIL = 60

QUESTIONS: dict[str, Callable[[Journals], Document]] = {
    "status": status,
    "show": lambda journals: rollout_details(journals, PARTITION),
    "why": lambda journals: why(journals, PARTITION),
    "why of a target": lambda journals: why(journals, PARTITION, "a"),
    "when": lambda journals: when(journals, PARTITION),
}


class CountedStore(MemoryStore):
    """Counts the entries that are read."""

    entries = 0

    def read(
        self, partition: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[JournalEntry]:
        """One more for each."""
        for entry in super().read(partition, after=after, limit=limit):
            self.entries += 1
            yield entry


def change(number: int, took: Duration, end: Instant) -> list[JournalNote]:
    """A change of a target, from its decision to its success."""
    target = "ab"[number % 2]
    done = Target(target, Status.Succeeded, since=end, revision="v2")
    facts: list[tuple[Instant, Fact]] = [
        (Instant(end - took), decided(task(ChangeKind.APPLY, target))),
        (Instant(end - took), Acted(key=f"k/{target}", target=target, outcome=TaskOutcome.DONE)),
        (end, TargetsObserved(reports=(done,))),
    ]
    return [JournalNote(at, "tidegate", fact) for at, fact in facts]


def journal(changes: int) -> tuple[CountedStore, Instant]:
    """So many changes, the later half faster; its projection is kept and a worker leads it."""
    store = CountedStore()
    store.append(PARTITION, [JournalNote(Instant(SECOND), "tidegate", DECLARED)])
    end = Instant(SECOND)
    for number in range(changes):
        end = Instant(end + MINUTE)
        took = Duration((40 if number < changes // 2 else 20) * SECOND)
        store.append(PARTITION, change(number, took, end))
    PartitionState(store, PARTITION, RolloutRules()).project()
    look = Look(by="w", acts=True, at=end)
    assert store.lease(PARTITION, "w", end, Duration(MINUTE), look) is not None
    store.entries = 0
    return store, end


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_reads_no_more_of_a_longer_journal(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of decisions and actions: a state is projected, and the usual pace is that of late."""
    monkeypatch.setattr("tidegate.app.when.PACE_ENTRIES", TAIL)
    read: list[int] = []
    for changes in (SHORT, LONG):
        store, now = journal(changes)
        QUESTIONS[question](Journals(store, lambda _: RolloutRules(), now))
        read.append(store.entries)
    assert read[0] == read[1]
    assert read[1] < SHORT * PER_CHANGE


def test_the_usual_pace_is_that_of_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole journal would say 40 s or 20 s alike; its end says 20 s, of as many as it has."""
    monkeypatch.setattr("tidegate.app.when.PACE_ENTRIES", TAIL)
    store, now = journal(SHORT)
    found = when(Journals(store, lambda _: RolloutRules(), now), PARTITION)
    assert isinstance(found, RolloutDates)
    assert found.apply_time == "20s"
    assert found.apply_time_from == f"the median of {TAIL // PER_CHANGE} here"
