"""Labels that people request are written at most once, and only where nothing changed meanwhile."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tidegate.gates.brakes import Brakes
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import Acted, TaskOutcome, Withdrawn
from tidegate.kinds.upgrades.core.journal.facts import Job, LabelsRequested, Surveyed
from tidegate.kinds.upgrades.core.journal.label_state import wanted_labels
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.labels.label_edit import (
    CLUSTER,
    ORGANISATION,
    HolderChange,
    LabelEdit,
    LabelHolder,
    with_edits,
)
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.model.reason import Outcome
from tidegate.model.time import SECOND, Instant
from tidegate.model.verdict import all_pass

RULES = UpgradeRules()
WHOLE = {"workloads": "w", "schedule": "0 0 1 1 *", "soak-days": "1"}
VALUES = {
    "soak-days": ("0", "1", "2", "many"),
    "sector": (None, "a", "b"),
    "mutexes": (None, "m", "m,n"),
    "sector-deps.a": (None, "", "b"),
    "blocked-versions": (None, "^4[.]17", "("),
}
OF_CLUSTERS = ("soak-days", "sector", "mutexes")
HOLDERS = (
    LabelHolder(CLUSTER, "a-sub", "a"),
    LabelHolder(CLUSTER, "b-sub", "b"),
    LabelHolder(ORGANISATION, "o", "o"),
)
CHANGES = st.sampled_from(HOLDERS).flatmap(
    lambda holder: st.builds(
        HolderChange,
        st.just(holder),
        st.lists(
            st.sampled_from(
                OF_CLUSTERS if holder.kind == CLUSTER else ("sector-deps.a", "blocked-versions")
            ).flatmap(
                lambda label: st.builds(
                    LabelEdit,
                    st.just(label),
                    st.sampled_from(VALUES[label]),
                    st.sampled_from(VALUES[label]),
                )
            ),
            min_size=1,
            max_size=2,
            unique_by=lambda each: each.label,
        ).map(tuple),
    )
)
# What happens: a request, its withdrawal, another writer, a look, a round that acts or fails.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("request"), st.lists(CHANGES, min_size=1, max_size=2)),
        st.tuples(st.just("withdraw"), st.integers(0, 3)),
        st.tuples(st.just("other"), CHANGES),
        st.tuples(st.just("look"), st.none()),
        st.tuples(st.just("act"), st.sampled_from(TaskOutcome)),
    ),
    max_size=12,
)


class Lived:
    """An organisation, what is known of it, and what is really there."""

    def __init__(self) -> None:
        self.there: dict[str, dict[str, str]] = {"a-sub": dict(WHOLE), "b-sub": dict(WHOLE)}
        self.there["o"] = {"sector-deps.a": ""}
        self.state: UpgradeState = RULES.empty()
        self.now = Instant(0)
        # Every label that was written: of which request, and what was there.
        self.withdrawn: set[str] = set()
        self.idents = 0
        self.look()

    def fold(self, fact: Fact) -> None:
        """Take a fact into account."""
        self.now = Instant(self.now + SECOND)
        self.state = RULES.fold(self.state, self.now, fact, "user:a")

    def look(self) -> None:
        """A survey of all that is there."""
        clusters = tuple(
            ManagedCluster(name, "o", "4.16.3", labels=dict(self.there[f"{name}-sub"]))
            for name in ("a", "b")
        )
        org = Organisation("o", "O", labels=dict(self.there["o"]))
        self.fold(Surveyed(org=org, clusters=clusters))

    def made(self, state: UpgradeState | None = None) -> Any:
        """What is decided."""
        known = state if state is not None else self.state
        world = RULES.world(known, Brakes(), self.now, lambda _: RULES.empty())
        assert world is not None
        return RULES.decide(world, self.now)

    def tasks(self) -> list[Job]:
        """The labels that are written now, recorded."""
        made = self.made()
        world = RULES.world(self.state, Brakes(), self.now, lambda _: RULES.empty())
        assert world is not None
        found = RULES.record("upgrades/prod/o", 9, self.state, world, made, self.now, Mode.ACT)
        self.fold(found.fact)
        return [
            each
            for each in found.tasks
            if isinstance(each, Job) and each.change.doing is StepKind.LABELS
        ]

    def act(self, outcome: TaskOutcome) -> None:
        """Carry a round out; each edit is held against what was known and what is there."""
        for task in self.tasks():
            wanted = wanted_labels(self.state, task)
            assert wanted
            ids = {each.holder.id for each in wanted}
            assert len(ids) == 1
            (holder,) = ids
            known = self.known()[holder]
            for each in wanted:
                assert known.get(each.edit.label) == each.edit.before
                assert each.request not in self.withdrawn
            fresh = all(
                self.there[holder].get(each.edit.label) in (each.edit.before, each.edit.after)
                for each in wanted
            )
            done = outcome if fresh else TaskOutcome.DROPPED
            if done is TaskOutcome.DONE:
                edits = [each.edit for each in wanted]
                self.there[holder] = with_edits(self.there[holder], edits)
            self.fold(Acted(key=task.key, target=task.name, outcome=done))
            if done is TaskOutcome.DONE:
                assert not self.state.requested.of_holder(holder)
                assert self.known()[holder] == with_edits(known, edits)

    def known(self) -> dict[str, dict[str, str]]:
        """The labels as the state has them."""
        assert self.state.org is not None
        found = {each.subscribed_as: each.labels for each in self.state.clusters.values()}
        return {**found, "o": self.state.org.labels}

    def step(self, word: str, what: Any) -> None:
        """One thing that happens."""
        if word == "request":
            self.idents += 1
            self.fold(LabelsRequested(ident=f"r{self.idents}", changes=tuple(what)))
        elif word == "withdraw":
            self.withdrawn.add(f"r{what}")
            self.fold(Withdrawn(ident=f"r{what}"))
            self.withdrawn -= {f"r{n}" for n in range(self.idents + 1, 9)}
        elif word == "other":
            mine = self.there[what.holder.id]
            self.there[what.holder.id] = with_edits(mine, what.edits)
        elif word == "look":
            self.look()
        else:
            self.act(what)


def check(lived: Lived) -> None:
    """What is true whatever happened."""
    requested, known = lived.state.requested, lived.known()
    for each in requested.edits.values():
        assert known[each.holder.id].get(each.edit.label) != each.edit.after
    assert set(requested.requests) == {each.request for each in requested.edits.values()}
    assert not set(requested.requests) & lived.withdrawn
    made = lived.made()
    again = lived.made(RULES.decode(RULES.encode(lived.state)))
    assert msgspec.json.encode(_said(made)) == msgspec.json.encode(_said(again))
    world = RULES.world(lived.state, Brakes(), lived.now, lambda _: RULES.empty())
    assert world is not None
    view = RULES.view("upgrades/prod/o", lived.state, world, made, lived.now)
    assert [each.ident for each in view.requests] == list(requested.requests)
    for row in view.requests:
        assert row.starts == all_pass(row.verdicts)
        assert row.starts != (row.shut is not None)
        stops = any(each.outcome is Outcome.STOP for each in row.verdicts)
        assert stops == (row.ident in view.needs.requests)


def _said(made: Any) -> Any:
    if made.labelling is None:
        return None
    return [
        (each.target, each.change.revision, str(each.verdicts)) for each in made.labelling.options
    ]


@given(STEPS)
def test_a_label_is_written_only_as_it_was_requested_on(steps: list[tuple[str, Any]]) -> None:
    """Of the newest request, once, never after it was withdrawn; and each request ends."""
    lived = Lived()
    check(lived)
    for word, what in steps:
        lived.step(word, what)
        check(lived)
    before = {key: dict(each) for key, each in lived.there.items()}
    lived.look()
    check(lived)
    open_before = lived.state.requested
    lived.act(TaskOutcome.DONE)
    # What was open, and is not any more, is there; nothing else changed.
    for key, each in open_before.edits.items():
        now = lived.there[each.holder.id].get(each.edit.label)
        assert now == (
            before[each.holder.id].get(each.edit.label)
            if key in lived.state.requested.edits
            else each.edit.after
        )
    named = {(each.holder.id, each.edit.label) for each in open_before.edits.values()}
    for holder, labels in lived.there.items():
        for label in labels.keys() | before[holder].keys():
            assert (holder, label) in named or labels.get(label) == before[holder].get(label)
    check(lived)


def test_the_steps_reach_what_they_are_for() -> None:
    """Writes, stops and withdrawals: otherwise the law above shows little."""
    lived = Lived()
    change = HolderChange(HOLDERS[0], (LabelEdit("soak-days", "1", "2"),))
    lived.step("request", [change])
    lived.step("act", TaskOutcome.DONE)
    assert lived.there["a-sub"]["soak-days"] == "2"
    lived.step("request", [change])
    assert not lived.state.requested
    lived.step("request", [HolderChange(HOLDERS[1], (LabelEdit("soak-days", "0", "2"),))])
    lived.step("act", TaskOutcome.DONE)
    assert lived.there["b-sub"]["soak-days"] == "1"
