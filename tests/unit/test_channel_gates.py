"""Every gate of promotions through channels, shut and open, with its words and its moment."""

from typing import Any

import msgspec
import pytest

from tests.channels import DAY, HOUR, NOW, decided, histories, passed, seen, shut, world
from tidegate.explain.sentence import opens, sentence
from tidegate.gates.brakes import Brakes
from tidegate.gates.budget import Budget
from tidegate.gates.freeze import Freeze, Span
from tidegate.gates.scope import EVERYTHING
from tidegate.kinds.promotions.core.channels.decide import ChannelDecision
from tidegate.kinds.promotions.core.channels.history import VERSIONS_MAX, PublisherHistory
from tidegate.kinds.promotions.core.channels.model import (
    Hotfix,
    SkippableGate,
    SloState,
    SoakRule,
    SubscriberTarget,
)
from tidegate.kinds.promotions.core.channels.window import WindowError, window
from tidegate.model.limit import parse_limit
from tidegate.model.reason import Outcome
from tidegate.model.time import Duration, Instant, format_instant, parse_instant

GOOD = (seen("p", "new", 30), seen("q", "new", 20))
BOTH = {"a": ("p",), "b": ("q", "p")}
NEW: dict[str, str | None] = {"p": "new", "q": "new"}


def subscriber(**more: Any) -> SubscriberTarget:
    fields = {"name": "prod", "version": "old", "channels": ("a", "b"), **more}
    return SubscriberTarget(**fields)


def decision(one: SubscriberTarget, *others: SubscriberTarget, **more: Any) -> ChannelDecision:
    """The decision about some subscribers, of publishers that are well unless said otherwise."""
    known = {"facts": GOOD, "channels": BOTH, "versions": NEW, **more}
    facts = known.pop("facts")
    return decided(world(facts, one, *others, **known))


def words(found: ChannelDecision, at: int = 0) -> list[str]:
    """What the shut gates say."""
    said = found.options[at].verdicts
    return [sentence(each) for each in said if each.outcome is not Outcome.PASS]


def test_with_all_evidence_it_is_promoted_and_every_gate_says_so() -> None:
    """Nothing is asked for beyond two good deployments."""
    found = decision(subscriber())
    assert [(each.target, each.change.revision) for each in found.actions] == [("prod", "new")]
    assert passed(found) == [
        "Running",
        "SubscriberRead",
        "PublishersDeployed",
        "PublishersAgree",
        "ExecutionUnasked",
        "SoakNotAsked",
        "PromotedAnytime",
        "SlosUnasked",
        "NamedEvidenceUnasked",
        "CodeVersionAllowed",
        "NotQuarantined",
        "PipelineTrusted",
    ]
    assert sentence(found.options[0].verdicts[2]) == "2 publishers deployed new"
    assert found.recheck_at is None


@pytest.mark.parametrize(
    "changed, asked, said",
    [
        (
            {"facts": GOOD[:1]},
            {},
            ["q (b) was not seen to deploy new"],
        ),
        (
            {"facts": (*GOOD, seen("p", "older", 1))},
            {},
            ["p (a) deployed older last, and is to have new"],
        ),
        (
            {"facts": (*GOOD, seen("q", "new", 1, good=False))},
            {},
            ["q (b) failed to deploy new"],
        ),
        (
            {"channels": {"a": ("p",), "b": ()}},
            {},
            ["no target publishes to b"],
        ),
        (
            {"channels": {"a": ("p",)}},
            {},
            ["no target publishes to b"],
        ),
        (
            {},
            {"channels": ()},
            ["it subscribes to no channel", "no publisher names a version"],
        ),
        (
            {"facts": (*GOOD, seen("q", "newer", 1)), "versions": {"p": "new", "q": "newer"}},
            {},
            ["its publishers have different versions: new, newer"],
        ),
        (
            {"versions": {"p": "new", "q": None}},
            {},
            [
                "q (b) was not seen to deploy its version",
                "which version q is to have is not known",
            ],
        ),
        (
            {"versions": {"p": "new"}},
            {},
            [
                "q (b) was not seen to deploy its version",
                "which version q is to have is not known",
            ],
        ),
        ({}, {"version": "new"}, ["done: it has the change"]),
        ({"under_way": {"prod": "newer"}}, {}, ["being updated: newer"]),
        ({"blocked": {"new": "eats data"}}, {}, ["new is among the blocked versions: eats data"]),
        ({}, {"slos": ("fast",)}, ["whether these SLOs are met is not known: fast"]),
        (
            {"slos": {"fast": SloState.BREACHED, "up": SloState.MET}},
            {"slos": ("up", "fast", "far")},
            ["breached: fast", "whether these SLOs are met is not known: far"],
        ),
        ({}, {"schedule": "0 0 31 2 *"}, ["its schedule 0 0 31 2 * (UTC) never opens"]),
        (
            {},
            {"schedule": "* * * * *", "zone": "Mars/Olympus"},
            [
                "its schedule * * * * * (Mars/Olympus) cannot be read: there is no such time zone",
            ],
        ),
        (
            {},
            {"after": ("stage",)},
            ["stage goes first, and is at nothing"],
        ),
    ],
)
def test_a_shut_gate_says_what_is_missing(
    changed: dict[str, Any], asked: dict[str, Any], said: list[str]
) -> None:
    """Exactly these gates are shut, nothing is promoted, and each says what would open it."""
    found = decision(subscriber(**asked), **changed)
    assert (words(found), found.actions) == (said, [])
    closed = [each for each in found.options[0].verdicts if each.outcome is not Outcome.PASS]
    assert all(opens(each) for each in closed if each.reason.value != "Done")


def test_each_publisher_soaks_by_itself_and_says_until_when() -> None:
    """The younger one has run it for 20 hours; the last of them opens the gate."""
    found = decision(subscriber(soak=Duration(36 * HOUR)))
    assert shut(found) == ["PublisherSoaking", "PublisherSoaking"]
    untils = [each.until for each in found.options[0].verdicts if each.until is not None]
    assert untils == [NOW + 6 * HOUR, NOW + 16 * HOUR]
    assert found.recheck_at == NOW + 6 * HOUR
    assert "added up" not in " ".join(words(found))
    assert "PublishersSoaked" in passed(decision(subscriber(soak=Duration(20 * HOUR))))
    assert shut(decision(subscriber(soak=Duration(20 * HOUR + 1)))) == ["PublisherSoaking"]


@pytest.mark.parametrize("publishers", [("p", "q"), ("q", "p")])
def test_the_words_depend_on_no_order(publishers: tuple[str, ...]) -> None:
    """Of two publishers that cannot be read, the same one is named."""
    unread = {"p": None, "q": None}
    found = decision(subscriber(channels=("a",)), channels={"a": publishers}, versions=unread)
    assert words(found)[-1] == "which version p is to have is not known"


def test_accumulated_soak_is_one_sum_and_says_so() -> None:
    """30 and 20 hours are 50; two publishers add two hours in one."""
    summed = {"soak_rule": SoakRule.ACCUMULATED}
    assert decision(subscriber(soak=Duration(50 * HOUR), **summed)).actions
    found = decision(subscriber(soak=Duration(53 * HOUR), **summed))
    assert words(found) == ["its 2 publishers must have run new for 2d5h, added up over all"]
    assert found.recheck_at == NOW + 3 * HOUR // 2
    asked = subscriber(soak=Duration(53 * HOUR), **summed)
    given = world(GOOD, asked, channels=BOTH, versions=NEW)
    assert not decided(given, Instant(found.recheck_at - 1)).actions
    assert decided(given, found.recheck_at).actions


@pytest.mark.parametrize("rule", SoakRule)
def test_a_deployment_without_a_time_is_no_soak(rule: SoakRule) -> None:
    """As a state that was taken over may have it; it is evidence, and no soak, until deployed."""
    undated = PublisherHistory(version="new", good=True, seen_at=NOW, since=None)
    one = subscriber(channels=("a",), soak=Duration(HOUR), soak_rule=rule)
    given = world((), one, channels=BOTH, versions=NEW)
    found = decided(msgspec.structs.replace(given, histories={"p": undated}))
    assert words(found) == ["since when p runs new is not known"]
    again = histories([seen("p", "new", 0)])
    assert again["p"].since == NOW


@pytest.mark.parametrize(
    "gate, asked, reason",
    [
        (SkippableGate.SOAK, {"soak": Duration(9 * DAY)}, "HotfixSkipsSoak"),
        (SkippableGate.SCHEDULE, {"schedule": "0 13 * * *"}, "HotfixSkipsSchedule"),
        (SkippableGate.SLOS, {"slos": ("fast",)}, "HotfixSkipsSlos"),
    ],
)
def test_a_hotfix_skips_the_gate_it_declares(
    gate: SkippableGate, asked: dict[str, Any], reason: str
) -> None:
    """And says whose it is and why; the other two gates stay shut for it."""
    fix = Hotfix(version="new", owner="ana", why="leak", skips=frozenset({gate}))
    found = decision(subscriber(**asked), hotfixes={"new": fix})
    assert found.actions
    assert reason in passed(found)
    said = next(each for each in found.options[0].verdicts if each.reason.value == reason)
    assert sentence(said).startswith("ana declared new a hotfix that skips ")
    everything = {"soak": Duration(9 * DAY), "schedule": "0 13 * * *", "slos": ("fast",)}
    assert len(shut(decision(subscriber(**everything), hotfixes={"new": fix}))) >= 2


def test_earlier_subscribers_have_and_run_the_version_first() -> None:
    """Written is not enough where deployments of it are seen."""
    stage = subscriber(name="stage", version="new")
    prod = subscriber(after=("stage",))
    assert decision(prod, stage).actions
    behind = (*GOOD, seen("stage", "old", 1))
    assert words(decision(prod, stage, facts=behind)) == [
        "stage goes first, and does not run new yet"
    ]
    assert words(decision(prod, subscriber(name="stage"))) == ["stage goes first, and is at old"]


def test_brakes_bind_promotions_through_channels() -> None:
    """A freeze shuts until its end; a budget of one gives its place to the first."""
    freeze = Freeze(
        name="f",
        scope=EVERYTHING,
        owner="ana",
        why="holidays",
        spans=(Span(Instant(NOW - HOUR), Instant(NOW + HOUR)),),
    )
    found = decision(subscriber(), brakes=Brakes(freezes=(freeze,)))
    assert (shut(found), found.recheck_at) == (["Frozen"], NOW + HOUR)
    budget = Budget(name="one", limit=parse_limit(1))
    found = decision(subscriber(name="a"), subscriber(name="b"), brakes=Brakes(budgets=(budget,)))
    assert [each.target for each in found.actions] == ["a"]
    assert shut(found, 1) == ["SharedBudgetSpent"]
    assert [each.target for each in found.claims] == ["a"]


@pytest.mark.parametrize(
    "schedule, zone, at, is_open, until",
    [
        ("* * * * *", "", "2026-03-28T12:00:30Z", True, None),
        ("0 9 * * *", "", "2026-03-28T08:59:59Z", False, "2026-03-28T09:00:00Z"),
        ("0 9 * * *", "", "2026-03-28T09:00:59Z", True, "2026-03-28T09:01:00Z"),
        ("* 9-16 * * 1-5", "", "2026-03-27T09:00:00Z", True, "2026-03-27T17:00:00Z"),
        ("* 9-16 * * 1-5", "", "2026-03-28T09:00:00Z", False, "2026-03-30T09:00:00Z"),
        # Summer time begins in between.
        ("* 9-16 * * 1-5", "Europe/Prague", "2026-03-27T17:00:00Z", False, "2026-03-30T07:00:00Z"),
        ("* * * * 6", "", "2026-03-28T00:00:00Z", True, "2026-03-29T00:00:00Z"),
        ("0 0 31 2 *", "", "2026-03-28T12:00:00Z", False, None),
    ],
)
def test_a_window_is_open_in_its_minutes(
    schedule: str, zone: str, at: str, is_open: bool, until: str | None
) -> None:
    """Minutes that follow each other are one window; its end is when that may change."""
    found = window(schedule, zone, parse_instant(at))
    ends = None if found.until is None else format_instant(found.until)
    assert (found.is_open, ends) == (is_open, until)


@pytest.mark.parametrize("zone", ["Nowhere", "../etc", "Europe", "a\x00b"])
def test_no_such_zone_is_no_crash(zone: str) -> None:
    """A name of a folder, of nothing, or of no file at all."""
    with pytest.raises(WindowError, match="there is no such time zone"):
        window("* * * * *", zone, NOW)


def test_ended_runs_are_bounded() -> None:
    """A publisher that gets a new version every hour for years is remembered for the last ones."""
    many = [seen("p", f"v{number}", 500 - number) for number in range(100)]
    history = histories(many)["p"]
    assert len(history.spent) == VERSIONS_MAX
    assert history.spent[-1] == ("v98", HOUR)


def test_good_and_bad_at_one_moment_is_bad() -> None:
    """In whatever order the two arrive."""
    both = [seen("p", "new", 1), seen("p", "new", 1, good=False)]
    assert not histories(both)["p"].good
    assert not histories(reversed(both))["p"].good
