"""Compliance counts for the revision that is stamped in it, and for no other."""

from typing import Any

import pytest

from tests.policies import body, spec, template
from tidegate.kinds.policies.core.compliance import (
    InformEnd,
    Replica,
    TemplateReport,
    is_on_course,
    report_of,
)
from tidegate.kinds.policies.core.memory import weighed
from tidegate.kinds.policies.core.revision import revision_of
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant

MINUTE = 60 * SECOND

R1, R2 = revision_of(spec()), revision_of(spec(template(spec=body("2"))))
INFORM = revision_of(spec(remediationAction="inform"))


def said(revision: Any, compliant: str = "Compliant", more: str = "ok") -> Replica:
    """An agent that evaluated a revision."""
    message = f"{compliant}; [rev {revision.name}] {compliant}; {more}"
    return Replica("m1", (TemplateReport("web", compliant, message),))


@pytest.mark.parametrize(
    "replica, status, detail",
    [
        (None, Status.Progressing, "not propagated"),
        (Replica("m1"), Status.Progressing, "not evaluated"),
        (said(R1), Status.Progressing, "not evaluated"),
        (said(R1, "NonCompliant"), Status.Progressing, "not evaluated"),
        (
            Replica("m1", (TemplateReport("web", "Compliant", "Compliant; all is well"),)),
            Status.Progressing,
            "not evaluated",
        ),
        (said(R2), Status.Succeeded, ""),
        (said(R2, "NonCompliant"), Status.Failed, "web: NonCompliant"),
        (said(R2, "Pending"), Status.Progressing, "not evaluated"),
        (said(R2, ""), Status.Progressing, "not evaluated"),
        (
            Replica("m1", (TemplateReport("web", "NonCompliant", "template-error; no such"),)),
            Status.Failed,
            "template-error; no such",
        ),
        (Replica("m1", said(R2).reports, hub_error="no ConfigMap"), Status.Failed, "no ConfigMap"),
    ],
)
def test_success_is_proved_by_the_stamp_alone(
    replica: Replica | None, status: Status, detail: str
) -> None:
    """Old, missing and unstamped words are none about this revision."""
    report = report_of("m1", R2, replica)
    assert (report.status, report.revision) == (status, R2.name)
    assert detail in report.detail


def test_a_cluster_without_a_pointer_has_nothing() -> None:
    """Whatever its replica says."""
    assert report_of("m1", None, said(R2)) == Target("m1")


def test_an_unreachable_agent_is_never_a_success() -> None:
    """However green the hub is."""
    report = report_of("m1", R2, said(R2), unreachable="its lease is old")
    assert (report.status, report.detail) == (Status.Progressing, "its lease is old")


def test_every_template_has_to_be_evaluated() -> None:
    """One of two is not enough."""
    two = revision_of(spec(template("a"), template("b")))
    stamp = f"Compliant; [rev {two.name}] ok"
    one = Replica("m1", (TemplateReport("a", "Compliant", stamp),))
    assert report_of("m1", two, one).detail == f"b is not evaluated at {two.name}"
    both = Replica("m1", (*one.reports, TemplateReport("b", "Compliant", stamp)))
    assert report_of("m1", two, both).status is Status.Succeeded


def test_a_policy_that_informs_succeeds_when_it_is_evaluated() -> None:
    """NonCompliant is a legitimate end there, unless people want more."""
    replica = said(INFORM, "NonCompliant")
    assert report_of("m1", INFORM, replica).status is Status.Succeeded
    strict = report_of("m1", INFORM, replica, inform=InformEnd.COMPLIANT)
    assert strict.status is Status.Failed
    assert report_of("m1", INFORM, said(R1, "NonCompliant")).status is Status.Progressing


STRATEGY = Strategy(
    StrategyType.PROGRESSIVE_PER_GROUP,
    soak=Duration(5 * MINUTE),
    deadline=Duration(10 * MINUTE),
)
START = Instant(0)


def after(known: Target | None, seen: Status, minutes: int, revision: str = "r2") -> Target:
    """What a reading makes of a cluster that reported something at the start."""
    reports = {} if known is None else {"m1": known}
    report = Target("m1", seen, revision=revision, detail="why")
    return weighed(reports, [report], STRATEGY, Instant(minutes * MINUTE))[0]


def test_noncompliant_is_on_its_way_until_the_deadline() -> None:
    """Then it has failed; one that is silent has given no answer, which is decided elsewhere."""
    moved = Target("m1", Status.Progressing, START, "r2")
    assert after(None, Status.Failed, 1).status is Status.Progressing
    assert after(moved, Status.Failed, 9) == Target(
        "m1", Status.Progressing, revision="r2", detail="why"
    )
    assert after(moved, Status.Failed, 10).status is Status.Failed
    assert after(moved, Status.Progressing, 10).status is Status.Progressing
    # Its time for another revision does not count.
    old = Target("m1", Status.Progressing, START, "r1")
    assert after(old, Status.Failed, 60).status is Status.Progressing


def test_flapping_within_the_soak_starts_it_again_and_later_changes_nothing() -> None:
    """Success that has lasted for the soak stays."""
    good = Target("m1", Status.Succeeded, START, "r2")
    assert after(good, Status.Failed, 4).status is Status.Progressing
    assert after(good, Status.Progressing, 4).status is Status.Progressing
    assert after(good, Status.Failed, 5) == good
    assert after(good, Status.Progressing, 60) == good
    # A pointer that is gone is more than drift, and another revision is another story.
    assert after(good, Status.ToApply, 60).status is Status.ToApply
    assert after(good, Status.Progressing, 60, "r3").revision == "r3"


def test_without_a_deadline_nothing_fails() -> None:
    """It waits, and says why."""
    moved = Target("m1", Status.Progressing, START, "r2")
    seen = Target("m1", Status.Failed, revision="r2", detail="why")
    forever = Strategy(StrategyType.PROGRESSIVE_PER_GROUP)
    report = weighed({"m1": moved}, [seen], forever, Instant(10**6 * MINUTE))[0]
    assert (report.status, report.detail) == (Status.Progressing, "why")


@pytest.mark.parametrize(
    "detail, usual",
    [
        ("", True),
        ("not propagated yet", True),
        ("web is not evaluated at 0ebb80a329ed", True),
        ("web is not evaluated since it is enforced", True),
        ("web is not propagated as enforced yet", True),
        ("web: it is not evaluated at all", False),
        ("its agent is not reachable: its lease is old", False),
    ],
)
def test_a_cluster_that_takes_its_time_is_no_exception(detail: str, usual: bool) -> None:
    """What an agent says is one, whatever its words."""
    assert is_on_course(Target("m1", Status.Progressing, detail=detail)) is usual
