"""Labels that people request: a worker writes them, once, and only what was not changed since."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.sim.story.life import Life, MortalStore, hush
from tests.sim.upgrades.mortal import MortalClusters
from tests.upgrades_live import Scene
from tidegate.explain.view import PartitionView
from tidegate.gates.brakes import Brakes
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Acted, Asked, Braked, Verb, Withdrawn
from tidegate.kinds.upgrades.core.journal.facts import LabelsRequested, Planned
from tidegate.kinds.upgrades.core.labels.label_edit import (
    CLUSTER,
    ORGANISATION,
    HolderChange,
    LabelEdit,
    LabelHolder,
)
from tidegate.kinds.upgrades.core.service import RuleSet
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.kinds.upgrades.ocm.documents import Label
from tidegate.kinds.upgrades.ocm.port import LabelOwner, LabelType, OcmRefusedError
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.model.reason import Gate, Outcome

PARTITION = "upgrades/prod/o"
PREFIX = "sre-capabilities.aus."
GOOD = {"soak-days": "2", "workloads": "w", "schedule": "0 0 1 1 *"}
A, B = LabelHolder(CLUSTER, "a-sub", "a"), LabelHolder(CLUSTER, "b-sub", "b")
ORG = LabelHolder(ORGANISATION, "o", "o")
MINUTES = 1 / 60
BY = "token:pay"
YEAR = {"from": "2026-01-01T00:00:00Z", "to": "2027-01-01T00:00:00Z"}
SOAK = LabelEdit("soak-days", "2", "5")


def document(**more: Any) -> dict[str, Any]:
    """Two clusters of an organisation that upgrade by their labels."""
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [
            {"name": name, "org": "o", "version": "4.16.3", "labels": GOOD} for name in ("a", "b")
        ],
        "versions": [{"version": "4.16.3"}],
        **more,
    }


class Asking(Scene):
    """A scene in which people request labels; it has been observed once."""

    # What labels are refused with; 0: they are not.
    status = 0

    unlabelled_s = 3600.0
    # Whether the list of clusters without labels never answers.
    hangs = False

    def __init__(
        self, *, observes: bool = False, clusters: list[dict[str, Any]] | None = None, **more: Any
    ) -> None:
        """`clusters`: more of them."""
        known = document()
        super().__init__({**known, "clusters": known["clusters"] + (clusters or [])}, **more)
        self.act = () if observes else ("*",)
        self.live(2 * MINUTES)

    def live(self, hours: float, *workers: Any) -> None:
        """Let time pass; the worker may only observe."""
        super().live(hours, *(workers or (self.worker(act=self.act),)))

    def manager(self) -> SimulatedClusters:
        """The way in."""
        found = Strict(self.state, self)
        found.scene = self
        return found

    def request(self, *changes: HolderChange, ident: str = "r1", reason: str = "slower") -> None:
        """Record a request."""
        self.record(LabelsRequested(ident=ident, changes=changes, reason=reason))

    def record(self, fact: Any) -> None:
        """Record a fact of a person."""
        self.store.append(PARTITION, [JournalNote(self.now(), BY, fact)])

    def labels(self, holder: LabelHolder = A) -> dict[str, str]:
        """The labels that a holder has at the OpenShift Cluster Manager."""
        kind = "organizations" if holder.kind == ORGANISATION else "subscriptions"
        path = f"/api/accounts_mgmt/v1/{kind}/{holder.id}/labels"
        found = self.state.collections.get(path, {})
        return {key.removeprefix(PREFIX): each["value"] for key, each in found.items()}

    def change(self, holder: LabelHolder, label: str, value: str) -> None:
        """Another person changes a label."""
        type_ = LabelType.ORGANIZATION if holder is ORG else LabelType.SUBSCRIPTION

        async def write() -> None:
            other = SimulatedClusters(self.state, self)
            await other.set_label(LabelOwner(type_, holder.id), PREFIX + label, value)

        self.play(write)

    def outcomes(self) -> list[Acted]:
        """What became of tasks that write labels."""
        facts = [each.fact() for each in self.store.read(PARTITION)]
        keys = {
            task.key
            for each in facts
            if isinstance(each, Planned)
            for task in each.tasks
            if task.change.doing is StepKind.LABELS
        }
        return [each for each in facts if isinstance(each, Acted) and each.key in keys]

    def label_writes(self) -> list[str]:
        """What was written of labels, in order."""
        made = [each for each in self.writes if "/labels" in each.path and each.status < 300]
        return [(each.body or {}).get("value") or "-" for each in made]

    def view(self, brakes: Brakes = Brakes()) -> PartitionView:  # noqa: B008
        """What is shown of the organisation now."""
        rules, known = UpgradeRules(), self.known(PARTITION)
        world = rules.world(known, brakes, self.now(), lambda _: rules.empty())
        assert world is not None
        return rules.view(PARTITION, known, world, rules.decide(world, self.now()), self.now())

    def shut(self, brakes: Brakes = Brakes()) -> set[tuple[Gate, Outcome, str]]:  # noqa: B008
        """What keeps the requests from being carried out."""
        return {
            (each.gate, each.outcome, each.reason.name)
            for row in self.view(brakes).requests
            for each in row.verdicts
            if each.outcome is not Outcome.PASS
        }


class Strict(SimulatedClusters):
    """One that may refuse to write labels."""

    scene: Asking

    async def subscriptions(self, *args: Any, **more: Any) -> Any:
        """One list of an organisation never answers, if the scene says so."""
        if self.scene.hangs and args and not args[0]:
            await asyncio.Event().wait()
        return await super().subscriptions(*args, **more)

    async def set_label(self, owner: LabelOwner, key: str, value: str) -> Label:
        """Refused, if the scene says so."""
        if self.scene.status:
            raise OcmRefusedError(f"HTTP {self.scene.status}: no", self.scene.status, "", "no")
        return await super().set_label(owner, key, value)


def test_what_is_requested_is_written_once_and_then_gone() -> None:
    """Of a cluster and its organisation, the schedule last; no label that is not named changes."""
    scene = Asking()
    edits = (
        SOAK,
        LabelEdit("sector", None, "prod"),
        LabelEdit("schedule", "0 0 1 1 *", "* * * * *"),
    )
    scene.request(HolderChange(ORG, (LabelEdit("sector-deps.prod", None, ""),)), ident="r0")
    scene.request(HolderChange(A, edits))
    scene.live(30 * MINUTES)
    assert scene.labels() == {**GOOD, "soak-days": "5", "sector": "prod", "schedule": "* * * * *"}
    assert scene.labels(ORG) == {"sector-deps.prod": ""}
    assert scene.labels(B) == GOOD
    assert scene.label_writes() == ["-", "prod", "5", "* * * * *"]
    assert scene.view().requests == ()
    scene.live(1)
    assert len(scene.label_writes()) == 4


def test_a_request_is_shown_until_it_is_carried_out() -> None:
    """As a row of the organisation, and as an option of each cluster."""
    scene = Asking()
    change = (SOAK, LabelEdit("mutexes", None, "m"))
    scene.request(HolderChange(A, change), HolderChange(B, change))
    (row,) = scene.view().requests
    assert (row.ident, row.by, row.reason, row.targets) == ("r1", BY, "slower", ("a", "b"))
    assert row.change == "mutexes - → m, soak-days 2 → 5"
    assert row.starts
    assert [each.reason.name for each in row.verdicts] == [
        "LabelsAsked",
        "LabelsUntouched",
        "LabelsSound",
    ]
    for target in scene.view().targets:
        assert target.options[-1].change.endswith("soak-days 2 → 5")
        assert target.options[-1].starts


def test_a_worker_that_observes_writes_nothing() -> None:
    """The request waits for one that acts."""
    scene = Asking(observes=True)
    scene.request(HolderChange(A, (SOAK,)))
    scene.live(1)
    assert scene.label_writes() == []
    assert [each.ident for each in scene.view().requests] == ["r1"]
    scene.act = ("*",)
    scene.live(1)
    assert scene.label_writes() == ["5"]


def test_a_label_that_was_changed_meanwhile_is_not_overwritten() -> None:
    """And neither is any other label of that request written there."""
    scene = Asking()
    scene.change(A, "soak-days", "3")
    scene.request(HolderChange(A, (LabelEdit("mutexes", None, "m"), SOAK)))
    scene.live(1)
    assert scene.labels() == {**GOOD, "soak-days": "3"}
    assert scene.shut() == {(Gate.LABELS, Outcome.STOP, "LabelMoved")}
    assert scene.view().needs.requests == ("r1",)
    # It is tried once at most, and not in every round.
    assert len(scene.outcomes()) <= 1
    # A new request on what is there takes its place.
    scene.request(HolderChange(A, (LabelEdit("soak-days", "3", "5"),)), ident="r2")
    scene.live(1)
    assert scene.labels() == {**GOOD, "soak-days": "5", "mutexes": "m"}
    assert scene.view().requests == ()


def test_a_label_that_has_the_value_already_ends_the_request() -> None:
    """By whichever hand."""
    scene = Asking()
    scene.request(HolderChange(A, (SOAK,)))
    scene.change(A, "soak-days", "5")
    scene.live(1)
    assert len(scene.label_writes()) == 1
    assert scene.view().requests == ()


def test_a_later_request_takes_the_place_of_an_earlier_one() -> None:
    """Label by label; a request with nothing left is gone."""
    scene = Asking(observes=True)
    scene.request(HolderChange(A, (SOAK,)), ident="r1")
    scene.request(HolderChange(A, (LabelEdit("soak-days", "2", "7"),)), ident="r2")
    assert [each.ident for each in scene.view().requests] == ["r2"]
    scene.request(HolderChange(A, (LabelEdit("soak-days", "2", "2"),)), ident="r3")
    assert scene.view().requests == ()


def test_what_would_be_an_error_is_not_written() -> None:
    """Until what it rests on is there: then it is."""
    scene = Asking()
    scene.request(HolderChange(A, (LabelEdit("sector", None, "prod"),)))
    scene.live(1)
    assert scene.label_writes() == []
    assert scene.shut() == {(Gate.LABELS, Outcome.STOP, "LabelsUnsound")}
    scene.request(HolderChange(ORG, (LabelEdit("sector-deps.prod", None, ""),)), ident="r2")
    scene.live(1)
    assert scene.label_writes() == ["-", "prod"]


def test_what_is_refused_is_asked_again_after_a_pause() -> None:
    """Ten minutes, then twice as long; the reason stands at the request."""
    scene = Asking()
    scene.status = 403
    scene.request(HolderChange(A, (SOAK,)))
    scene.live(1)
    refused = scene.outcomes()
    assert 2 <= len(refused) <= 4
    assert all(each.refused and "403" in each.detail for each in refused)
    assert (Gate.REFUSAL, Outcome.WAIT, "RefusedLately") in scene.shut()
    scene.status = 0
    scene.live(3)
    assert scene.labels()["soak-days"] == "5"


def test_a_withdrawn_request_is_not_carried_out() -> None:
    """What it asked for is forgotten."""
    scene = Asking()
    scene.request(HolderChange(A, (SOAK,)))
    scene.record(Withdrawn(ident="r1", reason="not needed"))
    scene.live(1)
    assert scene.label_writes() == []
    assert scene.view().requests == ()


@pytest.mark.parametrize("rules", list(RuleSet))
def test_a_pause_does_not_keep_labels_from_being_written(rules: RuleSet) -> None:
    """By whichever rules upgrades are decided: an owner must be able to fix them."""
    scene = Asking(rules=rules)
    scene.record(Asked(verb=Verb.PAUSE, reason="incident"))
    scene.request(HolderChange(A, (SOAK,)))
    scene.live(1)
    assert scene.labels()["soak-days"] == "5"


def brake(scene: Asking, word: str, targets: list[str], **more: Any) -> None:
    """Set a brake, as a person at a terminal does."""
    document = {"name": word, "owner": "x", "reason": "y", "scope": {"targets": targets}, **more}
    fact = Braked(brake=word, name=word, document=document, reason="y")
    scene.store.append("brakes", [JournalNote(scene.now(), "user:ada", fact)])


@pytest.mark.parametrize(
    "targets, written", [(["a"], ["-", "6"]), (["b"], ["-", "5"]), (["a", "b"], [])]
)
def test_a_hold_binds_labels_of_its_clusters(targets: list[str], written: list[str]) -> None:
    """Of an organisation only one that leaves no cluster out."""
    scene = Asking()
    brake(scene, "hold", targets)
    scene.request(HolderChange(A, (SOAK,)), HolderChange(B, (LabelEdit("soak-days", "2", "6"),)))
    scene.request(HolderChange(ORG, (LabelEdit("sector-deps.prod", None, ""),)), ident="r2")
    scene.live(1)
    assert sorted(scene.label_writes()) == written


@pytest.mark.parametrize(
    "scope, held",
    [
        ({"targets": ["new"]}, True),
        ({"targets": ["a"]}, False),
        ({"selector": {"matchLabels": {"org": "o"}}}, True),
        ({"selector": {"matchLabels": {"sector": "x"}}}, False),
    ],
)
def test_a_hold_binds_the_first_labels_of_a_cluster(scope: dict[str, Any], held: bool) -> None:
    """By name, and by what is known of it: its organisation, and that it has no labels."""
    scene = Asking(clusters=[{"name": "new", "org": "o", "version": "4.16.3"}])
    document = {"name": "h", "owner": "x", "reason": "y", "scope": scope}
    fact = Braked(brake="hold", name="h", document=document, reason="y")
    scene.store.append("brakes", [JournalNote(scene.now(), "user:ada", fact)])
    edits = tuple(LabelEdit(label, None, value) for label, value in GOOD.items())
    new = LabelHolder(CLUSTER, "new-sub", "new")
    scene.request(HolderChange(new, edits))
    scene.live(1)
    assert scene.labels(new) == ({} if held else GOOD)
    again = list(UpgradeRules().replay(scene.store.read(PARTITION), lambda *_: {}))
    assert [each.difference for each in again] == [None] * len(again)


def test_clusters_without_labels_cost_no_survey() -> None:
    """Where they cannot be read, everything else goes on; they are asked for again."""
    scene = Asking()
    scene.hangs = True
    scene.request(HolderChange(A, (SOAK,)))
    scene.live(3)
    assert scene.labels() == {**GOOD, "soak-days": "5"}
    surveyed = [each for each in scene.store.read(PARTITION) if each.kind == "surveyed"]
    assert len(surveyed) > 15, "every ten minutes"


def test_freezes_pins_and_blocks_do_not_bind_labels() -> None:
    """They are about versions."""
    scene = Asking()
    brake(scene, "freeze", ["a", "b"], **YEAR)
    brake(scene, "pin", ["a", "b"])
    brake(scene, "block", ["a", "b"], revision="*")
    scene.request(HolderChange(A, (SOAK,)))
    scene.live(1)
    assert scene.labels()["soak-days"] == "5"


def test_a_cluster_that_is_gone_drops_what_is_requested_of_it() -> None:
    """Nothing waits for it."""
    scene = Asking(observes=True)
    scene.request(HolderChange(A, (SOAK,)), HolderChange(B, (SOAK,)))
    gone = scene.state.collections["/api/accounts_mgmt/v1/subscriptions"]["a-sub"]
    gone["status"] = "Deprovisioned"
    scene.state.touch()
    scene.live(1)
    (row,) = scene.view().requests
    assert row.targets == ("b",)


def test_what_is_requested_decides_the_same_again() -> None:
    """Replayed from the journal, and from the state that is kept."""
    scene = Asking()
    scene.request(HolderChange(A, (SOAK,)), HolderChange(ORG, (LabelEdit("x", None, "y"),)))
    scene.change(A, "soak-days", "3")
    scene.live(1)
    rules = UpgradeRules()
    again = list(rules.replay(scene.store.read(PARTITION), lambda *_: {}))
    assert again
    assert [each.difference for each in again] == [None] * len(again)
    known = scene.known(PARTITION)
    assert rules.encode(rules.decode(rules.encode(known))) == rules.encode(known)


class Tally:
    """Counts nothing; what is recorded shows what happened."""

    def is_watched(self, partition: str) -> bool:
        """Whether reading it is a step."""
        return partition == PARTITION

    def acknowledged(self, *_: Any) -> None:
        """Nothing is remembered."""

    steps = deaths = 0


def _lived(dies_after: int | None) -> tuple[Asking, int]:
    """A worker that dies at some call, and another that follows; how many calls there were."""
    scene = Asking()
    calls = 0
    scene.request(
        HolderChange(A, (SOAK, LabelEdit("schedule", "0 0 1 1 *", "* * * * *"))),
        HolderChange(ORG, (LabelEdit("x", None, "y"),)),
    )

    async def story() -> None:
        nonlocal calls
        loop: Any = asyncio.get_running_loop()
        loop.set_exception_handler(hush)

        def made(life: Life) -> Any:
            manager = MortalClusters(life, scene.state, scene)
            return scene.worker(life.name, store=MortalStore(life, scene.store), manager=manager)

        first = Life(loop, Tally(), "first", made, dies_after=dies_after)
        await asyncio.sleep(60)
        calls = first.calls
        first.die()
        await asyncio.wait([first.task])

    scene.play(story)
    scene.live(2)
    return scene, calls


def test_a_worker_that_dies_anywhere_only_delays() -> None:
    """The next worker completes the request; no label is written twice with another value."""
    _, calls = _lived(None)
    assert calls > 10
    for dies_after in range(0, calls, 3):
        scene, _ = _lived(dies_after)
        assert scene.labels() == {**GOOD, "soak-days": "5", "schedule": "* * * * *"}, dies_after
        assert scene.labels(ORG) == {"x": "y"}, dies_after
        assert scene.view().requests == (), dies_after


def test_nothing_is_said_of_labels_where_nothing_is_requested() -> None:
    """Plans without requests are as they were, and cost no more."""
    scene = Asking()
    rules, known = UpgradeRules(), scene.known(PARTITION)
    world = rules.world(known, Brakes(), scene.now(), lambda _: rules.empty())
    assert world is not None
    made = rules.decide(world, scene.now())
    assert made.labelling is None
    assert not msgspec.json.decode(rules.encode(known))["state"]["requested"]
