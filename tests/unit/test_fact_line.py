"""Every fact has a line that says what happened, and what it says of one target or gate."""

import msgspec
import pytest

from tidegate.access.roles import Role
from tidegate.access.sessions import SessionEnded, SessionStarted
from tidegate.access.tokens import TokenCreated, TokenRevoked
from tidegate.engine.plain.state import PlainStand, PlanMade
from tidegate.gates.brakes import Brakes
from tidegate.gates.mutex import Mutex
from tidegate.gates.scope import EVERYTHING
from tidegate.journal.chain import JournalNote, genesis, link
from tidegate.journal.fact import Fact, tag_of
from tidegate.journal.facts import (
    Acted,
    Asked,
    Bound,
    Braked,
    Folded,
    Handled,
    HandledObject,
    Lifted,
    Mode,
    Requested,
    TaskOutcome,
    Told,
    Verb,
    Withdrawn,
)
from tidegate.journal.selection import EntryFilter, matches
from tidegate.kind_table import fact_tags
from tidegate.kinds.integrations.core.objects.facts import ObjectsSeen
from tidegate.kinds.integrations.core.objects.stand import ObjectStand
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.journal.facts import (
    BisectConfirmed,
    DeploymentsSeen,
    EvidenceReported,
    PipelineRead,
    QuarantineLifted,
    RequestsSeen,
    RunsSeen,
    SlosSeen,
)
from tidegate.kinds.promotions.core.channels.model import ShardRuns, SloState
from tidegate.kinds.promotions.core.channels.pipeline import Pipeline
from tidegate.kinds.promotions.core.decide import VersionChange
from tidegate.kinds.promotions.core.journal.facts import (
    EnvironmentVerdicts,
    MergeRequestSeen,
    Offered,
    PromotionDecided,
    PromotionRead,
    PromotionRefused,
    PromotionTask,
    Verified,
    VersionRequested,
)
from tidegate.kinds.promotions.core.model import CommitForm, WrittenVersion
from tidegate.kinds.promotions.core.requests.model import SeenRequest
from tidegate.kinds.promotions.core.world import OfferState, RunningCheck
from tidegate.kinds.rollouts.core.journal.facts import (
    Decided,
    RolloutDeclared,
    RolloutTask,
    TargetsObserved,
    TargetStanding,
)
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.kinds.upgrades.core.journal.facts import (
    Imported,
    Job,
    LabelsRequested,
    Planned,
    SoakDoc,
    Standpoint,
    Surveyed,
)
from tidegate.kinds.upgrades.core.labels.label_edit import HolderChange, LabelEdit, LabelHolder
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.model.plan import Change, ChangeKind, Event
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Instant

LATER = Instant(90 * SECOND + 5)
APPLY, RETURN = Change(ChangeKind.APPLY, "B"), Change(ChangeKind.RETURN, "A")
GROUPS = (Membership("dev", 0, ("a", "b")), Membership("prod", 1, ("b", "c")))
SHUT, OPEN = ("mutex", "wait", "MutexHeld", LATER), ("order", "pass", "FirstInOrder", None)
PLAN = Decided(
    now=Instant(0),
    mode=Mode.ACT,
    summary=Summary.PROGRESSING,
    tasks=(RolloutTask("k1", "a", APPLY), RolloutTask("k2", "b", RETURN)),
    changed=(
        TargetStanding("a", (OPEN,)),
        TargetStanding("c", (OPEN, SHUT)),
        TargetStanding("d", (SHUT,)),
    ),
    events=(Event.ABORTED,),
    forgotten=("e",),
    recheck_at=LATER,
)
SHA = "a" * 40
PROMOTED = PromotionDecided(
    now=Instant(0),
    mode=Mode.ACT,
    version=SHA,
    tasks=(PromotionTask("k", "jenkins,tekton", VersionChange(SHA, ("jenkins", "tekton"))),),
    changed=(EnvironmentVerdicts("jenkins", (OPEN,)), EnvironmentVerdicts("manager", (SHUT,))),
    recheck_at=LATER,
)
PROMOTIONS = {"promotionRead", "promotionDecided", "offered", "mergeRequestSeen"} | {
    "verified",
    "promotionRefused",
    "versionRequested",
}
PIPELINES = {"pipelineRead", "deploymentsSeen", "runsSeen", "slosSeen", "evidenceReported"}
PIPELINES |= {"quarantineLifted", "bisectConfirmed", "requestsSeen"}
OF_CALLERS = {"requested", "tokenCreated", "tokenRevoked", "sessionStarted", "sessionEnded"}
OF_CALLERS |= {"withdrawn", "labelsRequested"}
REPORTS = tuple(Target(name, Status.Succeeded) for name in "abcde")

SOAK, SECTOR = LabelEdit("soak-days", "2", "5"), LabelEdit("sector", None, "prod")
STEP = UpgradeStep(kind=ChangeKind.APPLY, revision="4.16.4", doing=StepKind.UPGRADE)
LINES: list[tuple[Fact, str]] = [
    (
        RolloutDeclared(strategy=Strategy(StrategyType.PROGRESSIVE), groups=GROUPS, revision="B"),
        "revision B for 3 targets in 2 groups, Progressive",
    ),
    (
        RolloutDeclared(strategy=Strategy(StrategyType.ALL), groups=GROUPS[:1]),
        "a revision without a name for 2 targets in 1 group, All",
    ),
    (TargetsObserved(reports=REPORTS), "a Succeeded, b Succeeded, c Succeeded and 2 more"),
    (TargetsObserved(gone=("a",), complete=False), "gone: a; the reading is incomplete"),
    (TargetsObserved(), "the reading is complete"),
    (
        Asked(verb=Verb.APPROVE, groups=("dev",), version="B", reason="looked at it"),
        "approve dev for B: looked at it",
    ),
    (
        Asked(verb=Verb.APPROVE, gates=("board",), version="B", reason="stage is good"),
        "approve gate board for B: stage is good",
    ),
    (Asked(verb=Verb.PAUSE), "pause"),
    (
        PLAN,
        (
            "Progressing; apply a; return b; aborted; verdicts changed for a, c, d;"
            " look again at 1970-01-01T00:01:30Z"
        ),
    ),
    (
        Decided(now=LATER, mode=Mode.OBSERVE, summary=Summary.WAITING, tasks=PLAN.tasks[:1]),
        "Waiting; would apply a",
    ),
    (Acted(key="k", target="a", outcome=TaskOutcome.DONE), "accepted"),
    (Acted(key="k", target="a", outcome=TaskOutcome.DONE, detail="applied"), "accepted"),
    (Acted(key="k", target="a", outcome=TaskOutcome.DONE, detail="url/1"), "accepted: url/1"),
    (
        Acted(key="k", target="a", outcome=TaskOutcome.FAILED, detail="no answer"),
        "failed: no answer",
    ),
    (Braked(brake="hold", name="x", document={}, reason="outage"), "hold x set: outage"),
    (Lifted(brake="hold", name="x"), "hold x lifted"),
    (Folded(state=msgspec.Raw(b"{}"), facts=1), "the state after 1 fact"),
    (Bound(), "bound by nothing"),
    (Bound(brakes=Brakes(mutexes=(Mutex(name="db", scope=EVERYTHING),))), "bound by db"),
    (
        Handled(
            objects=(
                HandledObject("one/ns/deployment/a", "created"),
                HandledObject("one/ns/deployment/b", "created"),
                HandledObject("one/ns/service/c", "removed"),
            ),
            reason="a new cluster",
        ),
        "by hand: 2 created, 1 removed: a new cluster",
    ),
    (Told(keys=("@v2/start/",)), "notified: @v2/start/"),
    (
        Requested(act="approve/simulated/demo", via="token ci", key="k1"),
        "requested: approve/simulated/demo, by token ci",
    ),
    (
        TokenCreated(name="ci", hash="x", role=Role.VIEWER, expires_at=LATER, reason="boards"),
        "token ci created, viewer until 1970-01-01T00:01:30Z: boards",
    ),
    (TokenRevoked(name="ci", reason="leaked"), "token ci revoked: leaked"),
    (Told(keys=("b",), retired=("a",)), "notified: b; may notify again: a"),
    (Withdrawn(ident="r1", reason="fixed"), "request r1 withdrawn: fixed"),
    (
        VersionRequested(
            ident="r1", ref="v2", environments=("prod",), backward=True, reason="inc-42"
        ),
        "requested v2 for prod, even if it is older (r1): inc-42",
    ),
    (Surveyed(), "no change"),
    (
        Surveyed(
            clusters=(ManagedCluster("c", "o", "4.16.3"),),
            gone=("d-uuid",),
            unread={"e": "no answer"},
        ),
        "c 4.16.3; gone: d-uuid; not read: e",
    ),
    (
        Planned(
            now=Instant(0),
            mode=Mode.OBSERVE,
            tasks=(Job("k", "c-uuid", "c", STEP),),
            changed=(Standpoint("d-uuid", (("upgrade", "4.16.4", ("soak VersionSoaking",)),)),),
        ),
        "would upgrade c 4.16.4; verdicts changed for 1 cluster",
    ),
    (
        Imported(soak=SoakDoc(days=(("4.16.4", "w", 5),)), origin="state/", reason="moving"),
        "soak of 1 version from state/: moving",
    ),
    (PlanMade(now=Instant(0), mode=Mode.ACT), "nothing to do"),
    (
        PromotionRead(
            version="b" * 40,
            written=(
                WrittenVersion(
                    environment="jenkins", file="d.yml", line=3, value=SHA, form=CommitForm.SAME
                ),
            ),
        ),
        "newest version bbbbbbb; written: jenkins aaaaaaa",
    ),
    (
        PROMOTED,
        (
            "offer aaaaaaa to jenkins,tekton; verdicts changed for jenkins, manager; "
            "look again at 1970-01-01T00:01:30Z"
        ),
    ),
    (
        Offered(
            environments=("jenkins",), version=SHA, branch="tidegate/x", commit="c", reason="inc-1"
        ),
        "offered aaaaaaa to jenkins in branch tidegate/x: inc-1",
    ),
    (
        MergeRequestSeen(branch="x", url="https://f/1", state=OfferState.MERGED, by="ada"),
        "https://f/1 is merged by ada",
    ),
    (
        Verified(
            checks=(
                RunningCheck(environment="jenkins", version=SHA, matches=True),
                RunningCheck(
                    environment="manager", version=SHA, matches=False, differing=("tf/a",)
                ),
            )
        ),
        "jenkins runs aaaaaaa, manager does not run aaaaaaa: tf/a",
    ),
    (
        PromotionRefused(
            environments=("jenkins",), version=SHA, by="forge", why="403", until=LATER
        ),
        "forge refused aaaaaaa to jenkins: 403; tried again at 1970-01-01T00:01:30Z",
    ),
    (
        ObjectsSeen(
            objects=(
                ObjectStand(object="deployment/a", target="it/a", verb=ObjectAction.CREATE),
                ObjectStand(object="deployment/b", target="it/b", verb=ObjectAction.CONFIGURE),
                ObjectStand(object="service/s", target="service/s", verb=ObjectAction.CREATE),
            ),
            gone=("deployment/c",),
        ),
        "1 to configure, 2 to create, 1 gone",
    ),
    (ObjectsSeen(), "the terms changed"),
    (
        SessionStarted(hash="a", issuer="https://dex", subject="1", name="ann", expires_at=LATER),
        "ann logged in by https://dex, until 1970-01-01T00:01:30Z",
    ),
    (
        SessionStarted(hash="a", issuer="", subject="", name="ci", token="b", expires_at=LATER),
        "ci logged in by token ci, until 1970-01-01T00:01:30Z",
    ),
    (SessionEnded(hash="a", name="ann"), "ann logged out"),
    (PipelineRead(pipeline=Pipeline(name="web"), gone=("a:b",)), "declared; gone: a:b"),
    (
        DeploymentsSeen(
            deployments=(DeploymentSeen(target="stage", version=SHA, at=LATER, good=False),),
            source="webhook",
        ),
        "deployed (webhook): stage aaaaaaa failed",
    ),
    (
        RunsSeen(runs={"stage": ShardRuns(version=SHA, shards=2, clean=3, failing=("tf/a",))}),
        "executed: stage aaaaaaa: 3 clean runs on 2 shards, failing tf/a",
    ),
    (SlosSeen(slos={"a": SloState.MET, "b": SloState.BREACHED}), "SLOs: 1 breached, 1 met"),
    (
        EvidenceReported(version=SHA, name="load-test", good=True, reason="ran"),
        "load-test of aaaaaaa reported good: ran",
    ),
    (QuarantineLifted(version=SHA, reason="fixed"), "quarantine of aaaaaaa lifted: fixed"),
    (
        BisectConfirmed(version=SHA, target="stage", ref="main", step="b" * 40),
        "bbbbbbb is tried on stage, to find what broke aaaaaaa",
    ),
    (RequestsSeen(), "open merge requests: none"),
    (
        LabelsRequested(
            ident="r1",
            changes=(
                HolderChange(LabelHolder("cluster", "s1", "a"), (SOAK, SECTOR)),
                HolderChange(LabelHolder("cluster", "s2", "b"), (SOAK, SECTOR)),
                HolderChange(LabelHolder("organisation", "o", "o"), (LabelEdit("x", "", None),)),
            ),
            reason="slower",
        ),
        (
            "request r1 of labels: a, b: soak-days 2 → 5, sector - → prod;"
            ' the organisation: x "" → -: slower'
        ),
    ),
    (
        RequestsSeen(requests=(SeenRequest(number=1, url="https://f/1", branch="b", holds=()),)),
        "open merge requests: !1 (checks: none)",
    ),
]


def test_no_fact_is_without_a_line() -> None:
    """Whatever can stand in a journal can be shown."""
    assert {tag_of(fact) for fact, _ in LINES} == set(fact_tags())


@pytest.mark.parametrize("fact, line", LINES, ids=[type(fact).__name__ for fact, _ in LINES])
def test_every_fact_says_what_happened(fact: Fact, line: str) -> None:
    """One line a fact."""
    assert fact.line_of("", "") == line


@pytest.mark.parametrize(
    "target, gate, line",
    [
        ("a", "", "apply a"),
        ("b", "", "return b"),
        ("c", "", "mutex wait MutexHeld until 1970-01-01T00:01:30Z"),
        ("c", "order", "order pass FirstInOrder"),
        ("", "mutex", "mutex wait MutexHeld until 1970-01-01T00:01:30Z: c, d"),
        ("z", "", "every gate is open"),
    ],
)
def test_a_plan_of_a_rollout_says_of_a_target_or_a_gate_what_it_decided(
    target: str, gate: str, line: str
) -> None:
    """A person who looks for one target is shown that one."""
    assert PLAN.line_of(target, gate) == line


@pytest.mark.parametrize(
    "plan",
    [
        PlanMade(
            now=Instant(0),
            mode=Mode.ACT,
            changed=(PlainStand("a", (OPEN,)), PlainStand("c", (OPEN, SHUT))),
        ),
        PromotionDecided(
            now=Instant(0),
            mode=Mode.ACT,
            version=SHA,
            changed=(EnvironmentVerdicts("a", (OPEN,)), EnvironmentVerdicts("c", (OPEN, SHUT))),
        ),
    ],
    ids=["plain", "promotions"],
)
@pytest.mark.parametrize(
    "target, gate, line",
    [
        ("c", "", "mutex wait MutexHeld until 1970-01-01T00:01:30Z"),
        ("", "mutex", "mutex wait MutexHeld until 1970-01-01T00:01:30Z: c"),
        ("", "order", "order pass FirstInOrder: a, c"),
        ("a", "", "every gate is open"),
    ],
)
def test_plans_of_other_kinds_say_it_in_the_same_words(
    plan: PlanMade | PromotionDecided, target: str, gate: str, line: str
) -> None:
    """One target, one gate, or one gate at one target."""
    assert plan.line_of(target, gate) == line


def test_a_reading_says_of_a_target_what_it_reported() -> None:
    """Of many reports only the one that was looked for."""
    assert TargetsObserved(reports=REPORTS).line_of("b", "") == "b Succeeded"
    assert TargetsObserved(reports=REPORTS, gone=("z",)).line_of("z", "") == "gone: z"


@pytest.mark.parametrize(
    "wanted, expected",
    [
        (EntryFilter(), {"declared", "observed", "asked", "decided", "acted", "braked", "lifted"}
         | {"bound", "told", "handled", "surveyed", "planned", "imported", "plan", "objectsSeen"}
         | PROMOTIONS | PIPELINES | OF_CALLERS),
        (EntryFilter(target="it/a"), {"objectsSeen"}),
        (EntryFilter(target="stage"), {"deploymentsSeen", "runsSeen", "bisectConfirmed"}),
        (EntryFilter(target="jenkins"), PROMOTIONS - {"mergeRequestSeen", "versionRequested"}),
        (EntryFilter(target="a"), {"declared", "observed", "decided", "acted", "labelsRequested"}),
        (EntryFilter(target="c"), {"declared", "observed", "decided", "surveyed", "planned"}),
        (EntryFilter(target="d-uuid"), {"surveyed", "planned"}),
        (EntryFilter(target="d"), {"observed", "decided"}),
        (EntryFilter(target="e"), {"observed", "decided"}),
        (EntryFilter(target="apply"), set()),
        (EntryFilter(gate="mutex"), {"decided", "promotionDecided"}),
        (EntryFilter(gate="mutex", target="c"), {"decided"}),
        (EntryFilter(gate="mutex", target="a"), set()),
        (EntryFilter(gate="hold"), {"braked", "lifted"}),
        (EntryFilter(actor="nobody"), set()),
        (EntryFilter(since=LATER), set()),
        (EntryFilter(until=Instant(1)), {"declared", "observed", "asked", "decided", "acted"}
         | {"braked", "lifted", "bound", "told", "handled", "surveyed", "planned", "imported"}
         | {"plan", "objectsSeen"} | PROMOTIONS | PIPELINES | OF_CALLERS),
    ],
)  # fmt: skip
def test_an_entry_is_found_by_the_target_it_is_about(
    wanted: EntryFilter, expected: set[str]
) -> None:
    """A target is found in reports, tasks, verdicts and groups; a gate in verdicts and brakes."""
    notes = [
        JournalNote(Instant(0), "ada", fact) for fact, _ in LINES if not isinstance(fact, Folded)
    ]
    found = {entry.kind for entry in link(genesis("r1"), 1, notes) if matches(wanted, entry)}
    assert found == expected


def test_a_fact_of_the_future_is_found_by_its_columns_only() -> None:
    """What this version cannot read concerns no target, and breaks nothing."""
    (entry,) = link(genesis("r1"), 1, [JournalNote(Instant(0), "ada", LINES[9][0])])
    unknown = msgspec.structs.replace(entry, body=b'{"is":"dreamt","target":"a"}')
    assert matches(EntryFilter(actor="ada"), unknown)
    assert not matches(EntryFilter(target="a"), unknown)


@pytest.mark.parametrize(
    "target, gate, line",
    [
        ("manager", "", "mutex wait MutexHeld until 1970-01-01T00:01:30Z"),
        ("jenkins", "order", "order pass FirstInOrder"),
        ("", "mutex", "mutex wait MutexHeld until 1970-01-01T00:01:30Z: manager"),
        ("tekton", "", "every gate is open"),
    ],
)
def test_a_plan_of_a_promotion_says_of_an_environment_or_a_gate_what_it_decided(
    target: str, gate: str, line: str
) -> None:
    """Environments are the targets of a promotion."""
    assert PROMOTED.line_of(target, gate) == line
    assert PROMOTED.names(target) == bool(target)
