"""Where the existing manager, the existing deployer and strict disagree: the table of the docs.

Each row is a story of facts; the three answers are worked out here, and the page says the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.channels import DAY, NOW, decided, entries, seen, shut, world
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.model import (
    ChannelWorld,
    Hotfix,
    SkippableGate,
    SoakRule,
    SubscriberTarget,
)
from tidegate.kinds.promotions.core.compat.subscriber import (
    AutoSubscriber,
    deployer_allows,
    desired_version,
)
from tidegate.model.time import Duration

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "strict.md"
WORDS = {True: "promotes", False: "keeps"}
DEPLOYS = {True: "deploys", False: "refuses"}


@dataclass(frozen=True)
class Case:
    """A story, and what each of the three makes of it."""

    title: str
    facts: tuple[DeploymentSeen, ...]
    manager: bool
    deployer: bool
    # None: strict promotes.
    strict: str | None
    channels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"c": ("p",)})
    versions: Mapping[str, str] = field(default_factory=lambda: {"p": "new"})
    soak_days: int = 0
    soak_rule: SoakRule = SoakRule.CONTINUOUS
    schedule: str = ""
    zone: str = ""
    blocked: bool = False
    # None: no hotfix.
    skips: frozenset[SkippableGate] | None = None


TWO = {"c": ("p", "q")}
BOTH_NEW = {"p": "new", "q": "new"}
CASES = [
    Case(
        "one good deployment, no soak",
        (seen("p", "new", 1),),
        manager=True,
        deployer=True,
        strict=None,
    ),
    Case(
        "a hotfix that declares to skip soak, deployed an hour ago, two days of soak asked for",
        (seen("p", "new", 1),),
        manager=False,
        deployer=True,
        strict=None,
        soak_days=2,
        skips=frozenset({SkippableGate.SOAK}),
    ),
    Case(
        "the same, where the hotfix declares nothing",
        (seen("p", "new", 1),),
        manager=False,
        deployer=True,
        strict="PublisherSoaking",
        soak_days=2,
        skips=frozenset(),
    ),
    Case(
        "a hotfix that skips all it can, not deployed by its publisher",
        (seen("p", "old", 50),),
        manager=False,
        deployer=True,
        strict="PublisherBehind",
        skips=frozenset(SkippableGate),
    ),
    Case(
        "a hotfix that is blocked",
        (seen("p", "new", 50),),
        manager=False,
        deployer=False,
        strict="CodeVersionBlocked",
        blocked=True,
        skips=frozenset(SkippableGate),
    ),
    Case(
        "the version was deployed well once, and failed the last time",
        (seen("p", "new", 50), seen("p", "new", 1, good=False)),
        manager=False,
        deployer=True,
        strict="PublisherFailed",
    ),
    Case(
        "failed, then deployed well again an hour ago, one day of soak asked for",
        (seen("p", "new", 50), seen("p", "new", 2, good=False), seen("p", "new", 1)),
        manager=False,
        deployer=False,
        strict="PublisherSoaking",
        soak_days=1,
    ),
    Case(
        "deployed well twice in a row, two days ago and an hour ago, one day of soak",
        (seen("p", "new", 48), seen("p", "new", 1)),
        manager=True,
        deployer=True,
        strict=None,
        soak_days=1,
    ),
    Case(
        "there a week ago, then another version, and back since an hour; one day of soak",
        (seen("p", "new", 168), seen("p", "old", 100), seen("p", "new", 1)),
        manager=True,
        deployer=True,
        strict="PublisherSoaking",
        soak_days=1,
    ),
    Case(
        "two publishers have run it for a day each, two days of soak",
        (seen("p", "new", 24), seen("q", "new", 24)),
        manager=True,
        deployer=True,
        strict="PublisherSoaking",
        channels=TWO,
        versions=BOTH_NEW,
        soak_days=2,
    ),
    Case(
        "the same with `accumulated`",
        (seen("p", "new", 24), seen("q", "new", 24)),
        manager=True,
        deployer=True,
        strict=None,
        channels=TWO,
        versions=BOTH_NEW,
        soak_days=2,
        soak_rule=SoakRule.ACCUMULATED,
    ),
    Case(
        "one publisher in two channels, a day ago, two days of soak, `accumulated`",
        (seen("p", "new", 24),),
        manager=True,
        deployer=True,
        strict="SoakingTogether",
        channels={"c": ("p",), "d": ("p",)},
        soak_days=2,
        soak_rule=SoakRule.ACCUMULATED,
    ),
    Case(
        "two publishers, one of them with another version",
        (seen("p", "new", 24), seen("q", "other", 24)),
        manager=False,
        deployer=False,
        strict="PublishersDiffer",
        channels=TWO,
        versions={"p": "new", "q": "other"},
    ),
    Case(
        "a schedule that is shut",
        (seen("p", "new", 24),),
        manager=False,
        deployer=True,
        strict="PromotionWindowShut",
        schedule="0 13 * * *",
    ),
    Case(
        "a schedule that cannot be read",
        (seen("p", "new", 24),),
        manager=False,
        deployer=True,
        strict="PromotionScheduleUnreadable",
        schedule="daily",
    ),
    Case(
        "a schedule that is open on the clock of its zone, and shut in UTC",
        (seen("p", "new", 24),),
        manager=False,
        deployer=True,
        strict=None,
        schedule="* 5 * * *",  # midnight in UTC
        zone="Asia/Karachi",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.title))
def test_the_three_decide_as_the_table_says(case: Case) -> None:
    """The first shut gate of strict is the one that the row is about."""
    book = entries(case.facts, case.channels, dict(case.versions))
    theirs = AutoSubscriber(
        ref="cur",
        soak_days=case.soak_days,
        schedule=case.schedule or "* * * * *",
        blocked=frozenset({"new"} if case.blocked else ()),
        hotfix=frozenset() if case.skips is None else frozenset({"new"}),
    )
    # The deployer judges what was written; it looks up the entries of that version alone.
    written = entries(case.facts, case.channels, dict.fromkeys(case.versions, "new"))
    assert (desired_version(theirs, book, NOW) is not None) is case.manager
    assert deployer_allows(theirs, written, "new") is case.deployer
    decision = decided(strict_world(case))
    assert [each.change.revision for each in decision.actions] == ["new"] * (case.strict is None)
    assert next(iter(shut(decision)), None) == case.strict


def strict_world(case: Case) -> ChannelWorld:
    """The same story as our own world."""
    hotfixes: dict[str, Hotfix] = {}
    if case.skips is not None:
        hotfix = Hotfix(version="new", owner="ana", why="leak", skips=case.skips)
        hotfixes = {"new": hotfix}
    subscriber = SubscriberTarget(
        name="prod",
        version="cur",
        channels=tuple(case.channels),
        soak=Duration(case.soak_days * DAY),
        soak_rule=case.soak_rule,
        schedule=case.schedule,
        zone=case.zone,
    )
    return world(
        case.facts,
        subscriber,
        channels=case.channels,
        versions=case.versions,
        hotfixes=hotfixes,
        blocked={"new": "corrupts data"} if case.blocked else {},
    )


def row(case: Case) -> str:
    """The line of the table."""
    strict = "promotes" if case.strict is None else f"keeps: `{case.strict}`"
    cells = (case.title, WORDS[case.manager], DEPLOYS[case.deployer], strict)
    return f"| {' | '.join(cells)} |"


def test_the_page_has_every_row_and_no_other() -> None:
    """The table under its heading, in order."""
    section = PAGE.read_text("utf-8").split("## Promotions through channels\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert rows == [row(case) for case in CASES]
