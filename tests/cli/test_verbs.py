"""The table of verbs and kinds in the docs is true: every cell of it is run."""

import asyncio
import gzip
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from tests.hub_stage import PARTITION as POLICY
from tests.hub_stage import HubStage
from tests.kept import PARTITION, Kept, play
from tests.pipeline_stage import PARTITION as PIPELINE
from tests.pipeline_stage import Shelf, Stage, publisher, subscriber
from tests.pipelined import NEW, NEWER, declared
from tests.property.promotion_histories import History
from tidegate.app.partitions.journals import Journals
from tidegate.cli.main import cli
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.others import OtherStates
from tidegate.gates.approval import ApprovalGate
from tidegate.gates.brakes import Brakes, touches
from tidegate.gates.hold import Hold
from tidegate.gates.scope import EVERYTHING, Scope, kind_of
from tidegate.journal.chain import JournalEntry, JournalNote
from tidegate.journal.facts import Asked, Bound, Verb
from tidegate.kind_table import rules_of
from tidegate.kinds.rollouts.core.journal.facts import TargetsObserved
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.reason import Gate, Reason
from tidegate.model.target import Status
from tidegate.model.time import Instant
from tidegate.store.port import Store
from tidegate.wiring import clock, open_store

ROOT = Path(__file__).parents[2]
JOURNALS = ROOT / "tests" / "fixtures" / "journals"

# What comes before a verb that means nothing to a rollout that has succeeded, or is not paused.
BEFORE = {
    "resume": ("pause NAME",),
    "approve": ("retry NAME",),
    "reject": ("retry NAME",),
    "abort": ("retry NAME",),
}

GATE = "change-board"
SUBSCRIBER = subscriber("prod", "payments")


class Subject:
    """What stands for a kind: a journal that is kept, and names in it."""

    def __init__(self, journal: str, partition: str, group: str, target: str) -> None:
        self.journal, self.partition = journal, partition
        self.group, self.target = group, target


SUBJECTS = {
    "rollouts": Subject("rollout-manual", "simulated/demo", "canary", "a"),
    "integrations": Subject(
        "integrations-shards-3",
        "integrations/gitlab-housekeeping@one.ns",
        "canary",
        "gitlab-housekeeping/0",
    ),
    # Of no earlier version is there a journal of namespaces: it is made here.
    "namespaces": Subject("", PARTITION, "canary", "terraform-resources/ter-int-dev"),
    # Nor of policies.
    "policies": Subject("", POLICY, "dev", "dev-1"),
    "upgrades": Subject("upgrades-strict", "upgrades/prod/o-payments", "prod", "pay-prod-1"),
    # Of no earlier version is there a journal of promotions: it is made here.
    "promotions": Subject("", "promotions/p", "prod", "first"),
    "pipelines": Subject("", PIPELINE, "prod", SUBSCRIBER.name),
}


# Of these kinds something failed, or was ended: only then a retry means something.
RETRIED = SUBJECTS | {
    "rollouts": Subject("rollout-failing", "simulated/beyond", "canary", "a"),
    "upgrades": Subject("upgrades-refused", "upgrades/prod/o", "prod", "a"),
}


def table() -> list[tuple[str, str, str]]:
    """Every cell: the verb, the kind, and what the page says."""
    page = (ROOT / "docs/reference/verbs.md").read_text(encoding="utf-8")
    lines = page.partition("## Verbs and phases")[0].splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if line.startswith("| ")
    ]
    head, *body = rows
    kinds = [cell.strip("| ") for cell in head[1:]]
    return [
        (row[0].strip("`"), kind, cell.strip("| "))
        for row in body
        for kind, cell in zip(kinds, row[1:], strict=True)
    ]


def is_retry(verb: str) -> bool:
    """Whether a row is about a retry: it means something only of what failed or was ended."""
    return verb.startswith("retry ")


def run(words: list[str], database: Path) -> tuple[int, str]:
    """Run a command; its exit code and all that it said, errors in words included."""
    found = CliRunner().invoke(cli, [*words, "--database", str(database)])
    if isinstance(found.exception, UserError):
        return 2, found.output + str(found.exception)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def gated(database: Path, partition: str) -> None:
    """An approval gate covers a partition from here on."""
    gate = ApprovalGate(name=GATE, scope=EVERYTHING)
    with closing(open_store(str(database))) as store:
        *_, last = store.read(partition)
        bound = Bound(brakes=Brakes(approvals=(gate,)))
        store.append(partition, [JournalNote(last.at, "tidegate", bound)])


def promotion_journal(partition: str, database: Path) -> bytes:
    """A promotion that was read, decided and offered."""
    history = History().run([("decide", "offer"), ("decide", "nothing")])
    store = open_store(str(database))
    try:
        store.append(partition, [JournalNote(at, "tidegate", fact) for at, fact in history.facts])
    finally:
        store.close()
    return database.read_bytes()


def pipeline_journal(partition: str, database: Path) -> bytes:
    """A pipeline whose version was deployed, offered and merged, and is followed by another."""
    stage = Stage(Shelf(declared(), [publisher("stage", "payments")], [SUBSCRIBER]))
    assert stage.forge is not None
    stage.deployed(NEW)
    stage.round(2)
    stage.forge.merge(1)
    stage.round()
    stage.shelf.release(NEWER)
    stage.round()
    store = open_store(str(database))
    try:
        entries = stage.store.read(partition)
        store.append(partition, [JournalNote(e.at, e.actor, e.fact()) for e in entries])
    finally:
        store.close()
    return database.read_bytes()


def namespace_journal(partition: str, database: Path, refuses: bool = False) -> bytes:
    """A namespace that was made, with a shard that a person changed; or that is refused."""

    def refuse(call: str) -> None:
        if refuses and call.startswith("apply"):
            raise OutsideError("HTTP 500")

    async def story(kept: Kept) -> list[JournalEntry]:
        kept.begin()
        await kept.wait(60)
        kept.git.overrides = [{"shard": "ter-int-dev", "imageRef": "fix-1"}]
        kept.faults = refuse
        await kept.wait()
        return list(kept.store.read(partition))

    store = open_store(str(database))
    try:
        notes = [JournalNote(each.at, each.actor, each.fact()) for each in play(story)]
        store.append(partition, notes)
    finally:
        store.close()
    return database.read_bytes()


def policy_journal(_partition: str, database: Path) -> bytes:
    """A policy that goes out by hand: one group was approved, and has it."""
    store = open_store(str(database))
    manual = {"type": "ManualPerGroup", "manualPerGroup": {"progressDeadline": "20m"}}
    approved = [{"groupName": "dev", "rolloutApproved": True}]
    stage = HubStage(store=store, rolloutStrategy=manual, decisionGroups=approved)
    try:
        asyncio.run(stage.start().live(60))
    finally:
        store.close()
    return database.read_bytes()


MADE = {
    "pipelines": pipeline_journal,
    "namespaces": namespace_journal,
    "policies": policy_journal,
    "promotions": promotion_journal,
}


def imported(subject: Subject, database: Path) -> bytes:
    """A journal that is kept, as a database."""
    lines = database.with_suffix(".jsonl")
    lines.write_bytes(gzip.decompress((JOURNALS / f"{subject.journal}.jsonl.gz").read_bytes()))
    code, said = run(["journal", "import", str(lines)], database)
    assert code == 0, said
    return database.read_bytes()


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A database for each kind, as bytes to start from."""
    folder = tmp_path_factory.mktemp("verbs")
    return {
        kind: imported(subject, folder / f"{kind}.db")
        if subject.journal
        else MADE[kind](subject.partition, folder / f"{kind}.db")
        for kind, subject in SUBJECTS.items()
    }


@pytest.fixture(scope="module")
def failures(
    journals: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """The same, where something failed, or was aborted by a person."""
    folder = tmp_path_factory.mktemp("failures")
    found: dict[str, bytes] = {}
    for kind, subject in RETRIED.items():
        database = folder / f"{kind}.db"
        if kind == "namespaces":
            found[kind] = namespace_journal(subject.partition, database, refuses=True)
            continue
        if subject is not SUBJECTS[kind]:
            found[kind] = imported(subject, database)
            continue
        database.write_bytes(journals[kind])
        if kind == "integrations":
            fail(subject, database)
        else:
            code, said = run(["abort", subject.partition, "--yes"], database)
            assert code == 0, said
        found[kind] = database.read_bytes()
    return found


def fail(subject: Subject, database: Path) -> None:
    """All shards fail with the revision that they have."""
    with closing(open_store(str(database))) as store:
        one = Journals(store, rules_of, clock().now()).find(subject.partition)
        reports = tuple(
            replace(each, status=Status.Failed, since=one.view.now)
            for each in one.state.reports.values()
        )
        fact = TargetsObserved(reports=reports)
        store.append(subject.partition, [JournalNote(one.view.now, "tidegate", fact)])


def entries(database: Path, partition: str) -> list[JournalEntry]:
    """All that is recorded of a partition."""
    with closing(open_store(str(database))) as store:
        return list(store.read(partition))


def test_the_table_names_every_kind() -> None:
    """A kind that is added gets a column."""
    assert {kind for _, kind, _ in table()} == set(SUBJECTS)
    assert len(table()) > 60


def test_a_retry_is_true_of_every_kind() -> None:
    """Whatever a retry is asked of, there is a cell that says so."""
    assert {kind for verb, kind, _ in table() if verb.startswith("retry")} == set(RETRIED)


@pytest.mark.parametrize("verb, kind, says", [row for row in table() if is_retry(row[0])])
def test_every_retry_is_recorded_or_refused(
    verb: str, kind: str, says: str, failures: dict[str, bytes], tmp_path: Path
) -> None:
    """Where something failed or was ended: as it was asked, or not at all, in the page's words."""
    subject, database = RETRIED[kind], tmp_path / "journal.db"
    database.write_bytes(failures[kind])
    before = entries(database, subject.partition)
    names = {"NAME": subject.partition, "GROUP": subject.group}
    words = [names.get(word, word) for word in verb.split()]
    code, said = run([*words, "--yes"], database)
    added = [each.fact() for each in entries(database, subject.partition)[len(before) :]]
    if says != "yes":
        assert (code, added) == (2, []), said
        assert says in said
        return
    assert code == 0, said
    groups = (subject.group,) if "--group" in verb else ()
    wanted = Verb.RETRY_FAILED if "--failed" in verb else Verb.RETRY
    assert [(each.verb, each.groups) for each in added if isinstance(each, Asked)] == [
        (wanted, groups)
    ]
    assert subject.partition in said


@pytest.mark.parametrize("verb, kind, says", [row for row in table() if not is_retry(row[0])])
def test_every_cell_is_true(
    verb: str, kind: str, says: str, journals: dict[str, bytes], tmp_path: Path
) -> None:
    """The verb works on the kind, or the answer says what the page says."""
    subject, database = SUBJECTS[kind], tmp_path / "journal.db"
    database.write_bytes(journals[kind])
    names = {
        "NAME": subject.partition,
        "GROUP": subject.group,
        "TARGET": subject.target,
        "GATE": GATE,
    }
    words = [names.get(word, word) for word in verb.split()]
    if words[0] in ("hold", "freeze", "block", "pin"):
        words += ["--reason", "test"]
    if words[0] == "freeze":
        words += ["--from", "2026-12-20T17:00:00Z", "--to", "2027-01-04T08:00:00Z"]
    if words[:2] == ["journal", "compact"] or words[0] == "abort":
        words += ["--yes"]
    if "--gate" in words:
        words += ["--yes"]
        gated(database, subject.partition)
    for before in BEFORE.get(words[0], ()):
        run([names.get(word, word) for word in before.split()], database)
    code, said = run(words, database)
    if says == "yes":
        assert "no target" not in said, "the subject names a target that there is"
        # `shadow` and `replay` exit 1 where decisions differ; that is an answer, too.
        assert code == 0 or (words[0] == "shadow" and code == 1), said
    else:
        assert code == 2, said
        assert says.replace("`", "") in said.replace("`", ""), said


# Of a namespace nothing is to be done, so that there is nothing to approve.
@pytest.mark.parametrize("kind", [each for each in SUBJECTS if each != "namespaces"])
def test_an_approval_opens_its_gate_for_what_waits_there(
    kind: str, journals: dict[str, bytes], tmp_path: Path
) -> None:
    """Of every kind: what `approve` records is what the gate asks for."""
    partition, database = SUBJECTS[kind].partition, tmp_path / "journal.db"
    database.write_bytes(journals[kind])
    gated(database, partition)
    run(["retry", partition, "--yes"], database)
    with closing(open_store(str(database))) as store:
        before = said_at_gate(store, partition)
    assert before == {BrakeReason.QuorumMissing}
    code, said = run(["approve", partition, "--gate", GATE, "--yes"], database)
    assert code == 0, said
    with closing(open_store(str(database))) as store:
        assert said_at_gate(store, partition) == {BrakeReason.QuorumReached}


def said_at_gate(store: Store, partition: str) -> set[Reason]:
    """What the approval gate says of the targets of a partition now, what comes next first."""
    # A pipeline is played in a time to come.
    *_, last = store.read(partition)
    now = Instant(max(clock().now(), last.at + 1))
    one = Journals(store, rules_of, now).read(partition)
    assert one is not None
    brakes = BrakeBook(store).seen(partition, one.rules.under_way(one.state), now)
    world = one.rules.world(one.state, brakes, now, OtherStates(store).of(one.rules))
    plan = one.rules.decide(world, now)
    view = one.rules.view(partition, one.state, world, plan, now)
    return {
        each.reason
        for row in view.targets
        for option in row.options[:1]
        for each in option.verdicts
        if each.gate is Gate.APPROVAL and each.facts[0] == GATE
    }


@pytest.mark.parametrize("kind", SUBJECTS)
def test_only_targets_that_wait_are_counted_by_what_they_wait_for(
    kind: str, journals: dict[str, bytes], tmp_path: Path
) -> None:
    """Of every kind alike: `tidegate_waits` and the log count no target that has the change."""
    database = tmp_path / "journal.db"
    database.write_bytes(journals[kind])
    with closing(open_store(str(database))) as store:
        one = Journals(store, rules_of, clock().now()).read(SUBJECTS[kind].partition)
    assert one is not None
    over = [each for each in one.view.targets if each.state in ("Done", "Ignored")]
    waits = one.view.counts().waits
    assert sum(waits.values()) <= len(one.view.targets) - len(over)
    assert ("progress", "Done") not in waits


@pytest.mark.parametrize("kind", SUBJECTS)
def test_a_brake_decides_again_only_what_it_may_cover(
    kind: str, journals: dict[str, bytes], tmp_path: Path
) -> None:
    """Of every kind: one on another's target changes nothing, and nothing is decided for it."""
    subject, now = SUBJECTS[kind], clock().now()
    database = tmp_path / "journal.db"
    database.write_bytes(journals[kind])
    with closing(open_store(str(database))) as store:
        one = Journals(store, rules_of, now).read(subject.partition)
        assert one is not None
        rules, state = one.rules, one.state
        names = rules.named(state)
        assert names is not None, "a kind says what its targets are called"
        assert {row.name for row in one.view.targets} <= set(names)
        none = BrakeBook(store).seen(subject.partition, rules.under_way(state), now)

        def held(target: str) -> Brakes:
            scope = Scope(targets=frozenset((target,)))
            hold = Hold(name="x", scope=scope, owner="sre", why="a look")
            return replace(none, holds=(*none.holds, hold))

        def plan(brakes: Brakes) -> str:
            world = rules.world(state, brakes, now, OtherStates(store).of(rules))
            made = rules.decide(world, now)
            view = rules.view(subject.partition, state, world, made, now)
            return repr((view.targets, view.recheck_at))

        where = kind_of(subject.partition), list(names), rules.labels(state)
        assert touches(none, held(next(iter(names))), *where)
        assert not touches(none, held("another"), *where)
        assert plan(held("another")) == plan(none)


@pytest.mark.parametrize("verb", ["show", "pause"])
@pytest.mark.parametrize("kind", SUBJECTS)
def test_a_target_in_place_of_a_rollout_is_answered_with_its_rollout(
    kind: str, verb: str, journals: dict[str, bytes], tmp_path: Path
) -> None:
    """Of every kind: where a verb is about a whole rollout, the answer says what to use instead."""
    subject, database = SUBJECTS[kind], tmp_path / "journal.db"
    database.write_bytes(journals[kind])
    code, said = run([verb, subject.target], database)
    assert code == 2
    assert f"it is a target of {subject.partition}; `tidegate why {subject.target}`" in said


def test_a_list_without_items_says_so(journals: dict[str, bytes], tmp_path: Path) -> None:
    """A journal without policies has none: that is said, not printed as a head without rows."""
    database = tmp_path / "journal.db"
    database.write_bytes(journals["upgrades"])
    assert run(["get", "policies"], database) == (0, "no policies\n")
