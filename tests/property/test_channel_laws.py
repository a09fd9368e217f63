"""Laws of channels: nothing is promoted before its publishers' evidence, however facts arrive."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.channels import HOUR, NOW, decided, histories, shut, world
from tidegate.gates.brakes import Brakes
from tidegate.gates.hold import Hold
from tidegate.gates.scope import EVERYTHING
from tidegate.kinds.promotions.core.channels.decide import ChannelDecision
from tidegate.kinds.promotions.core.channels.history import (
    DeploymentSeen,
    accumulated,
    continuous,
)
from tidegate.kinds.promotions.core.channels.model import (
    ChannelWorld,
    Hotfix,
    SkippableGate,
    SloState,
    SoakRule,
    SubscriberTarget,
)
from tidegate.model.reason import Outcome
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import all_pass

T = TypeVar("T")
PUBLISHERS = ("p", "q", "r")
VERSIONS = ("v1", "v2")
CHANNELS = (("a",), ("b",), ("a", "b"), ("b", "a", "b"))
# NOW is midnight in UTC and one o'clock in Prague: the first two are open there or in both.
OPEN = ("* * * * *", "* 0-1 * * *")
SCHEDULES = (*OPEN, "0 13 * * *", "0 0 31 2 *", "bad")
NONE: dict[str, str] = {}
skips = st.frozensets(st.sampled_from(SkippableGate))
HELD = Brakes(holds=(Hold(name="h", scope=EVERYTHING, owner="ana", why="x"),))


def seldom(draw: st.DrawFn, often: T, *other: T) -> T:
    """One value nearly always: a subscriber has many gates, and one shut gate hides the others."""
    return draw(st.sampled_from((*(often,) * 6 * len(other), *other)))


@st.composite
def facts(draw: st.DrawFn) -> list[DeploymentSeen]:
    """Deployments at whole hours, in order; the last of most publishers is a good one of v2."""
    happened: list[DeploymentSeen] = []
    for number, name in enumerate(PUBLISHERS):
        hours = sorted(draw(st.lists(st.integers(0, 19), unique=True, max_size=5)), reverse=True)
        for each in hours:
            is_last = each == hours[-1]
            at = Instant(NOW - (each * len(PUBLISHERS) + number) * HOUR)
            version = seldom(draw, "v2", "v1") if is_last else draw(st.sampled_from(VERSIONS))
            good = seldom(draw, True, False) if is_last else draw(st.booleans())
            happened.append(DeploymentSeen(target=name, version=version, at=at, good=good))
    return sorted(happened, key=lambda one: one.at)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[ChannelWorld, list[DeploymentSeen]]:
    """Publishers, channels and subscribers of every sort, and what was seen."""
    happened = draw(facts())
    subscribers = [
        SubscriberTarget(
            name=f"s{number}",
            version=seldom(draw, "v0", "v1", "v2"),
            channels=seldom(draw, draw(st.sampled_from(CHANNELS)), (), ("a", "x")),
            soak=Duration(draw(st.sampled_from((0, 0, 0, 1, 5, 20, 40))) * HOUR),
            soak_rule=draw(st.sampled_from(SoakRule)),
            schedule=seldom(draw, "", *SCHEDULES),
            zone=draw(st.sampled_from(("", "Europe/Prague"))),
            slos=seldom(draw, (), ("fast",), ("fast", "unread")),
            after=seldom(draw, (), ("s0",), ("s9",)) if number else (),
        )
        for number in range(draw(st.integers(1, 4)))
    ]
    pair = tuple(draw(st.permutations(PUBLISHERS)))[:2]
    found = world(
        happened,
        *subscribers,
        channels={"a": seldom(draw, pair[:1], ()), "b": seldom(draw, pair, ())},
        versions={name: seldom(draw, "v2", "v1", None) for name in PUBLISHERS},
        blocked=seldom(draw, NONE, {"v2": "bad"}),
        hotfixes={
            each: Hotfix(version=each, owner="ana", why="leak", skips=draw(skips))
            for each in seldom(draw, (), ("v2",))
        },
        slos={"fast": draw(st.sampled_from(SloState))},
        brakes=seldom(draw, Brakes(), HELD),
        under_way=seldom(draw, NONE, {"s0": "v1"}),
    )
    return found, happened


def good_time(happened: Sequence[DeploymentSeen], name: str, version: str) -> tuple[int, int]:
    """The oracle: hour by hour, how long a version was there and good; unbroken, and in all."""
    mine = [each for each in sorted(happened, key=lambda one: one.at) if each.target == name]
    unbroken = total = 0
    at = NOW - 61 * HOUR
    while at < NOW:
        last = [each for each in mine if each.at <= at]
        if last and last[-1].version == version and last[-1].good:
            unbroken, total = unbroken + HOUR, total + HOUR
        else:
            unbroken = 0
        at += HOUR
    newest = mine[-1] if mine else None
    if newest is None or newest.version != version or not newest.good:
        unbroken = 0
    return unbroken, total


@given(worlds())
def test_nothing_is_promoted_before_its_publishers_evidence(
    drawn: tuple[ChannelWorld, list[DeploymentSeen]],
) -> None:
    """Every publisher of every channel deployed it, well, last, and for long enough."""
    found, happened = drawn
    named = {each.name: each for each in found.subscribers}
    for action in decided(found).actions:
        subscriber, version = named[action.target], action.change.revision
        assert version is not None
        assert subscriber.channels
        publishers = {name for each in subscriber.channels for name in found.channels[each]}
        assert all(found.channels[each] for each in subscriber.channels)
        assert {found.publishers[name].version for name in publishers} == {version}
        for name in publishers:
            last = [each for each in happened if each.target == name][-1]
            assert (last.version, last.good) == (version, True)
        hotfix = found.hotfixes.get(version)
        skipped = hotfix.skips if hotfix is not None else frozenset()
        if SkippableGate.SOAK not in skipped:
            times = [good_time(happened, name, version) for name in publishers]
            enough = min(unbroken for unbroken, _ in times)
            if subscriber.soak_rule is SoakRule.ACCUMULATED:
                enough = sum(total for _, total in times)
            assert enough >= subscriber.soak
        if SkippableGate.SCHEDULE not in skipped:
            assert subscriber.schedule in ("", *OPEN)
        if SkippableGate.SLOS not in skipped:
            assert all(found.slos.get(each) is SloState.MET for each in subscriber.slos)
        assert version not in found.blocked
        assert not found.brakes.holds
        assert subscriber.name not in found.under_way
        assert all(each in named and named[each].version == version for each in subscriber.after)


@given(worlds())
def test_a_subscriber_is_promoted_if_and_only_if_all_gates_pass(
    drawn: tuple[ChannelWorld, list[DeploymentSeen]],
) -> None:
    """Each has one option; a version that it has is not promoted again."""
    found, _ = drawn
    decision = decided(found)
    moved = {each.target for each in decision.actions}
    assert [each.target for each in decision.options] == list(range(len(found.subscribers)))
    for option, subscriber in zip(decision.options, found.subscribers, strict=True):
        assert all_pass(option.verdicts) == (subscriber.name in moved)
        assert option.change.revision != subscriber.version or subscriber.name not in moved
        gates = {each.gate.value for each in option.verdicts}
        assert gates >= {"order", "version", "soak", "window", "health", "block"}


@given(facts())
def test_histories_are_what_happened(happened: list[DeploymentSeen]) -> None:
    """Facts in order: the fold says the same as a look at every hour."""
    for name, history in histories(happened).items():
        for version in VERSIONS:
            unbroken, total = good_time(happened, name, version)
            assert continuous(history, version, NOW) == unbroken
            assert accumulated(history, version, NOW) == total


@given(facts(), st.data())
def test_late_facts_never_add_soak(happened: list[DeploymentSeen], data: st.DataObject) -> None:
    """In any order of arrival there is never more soak than there was."""
    mixed = data.draw(st.permutations(happened))
    for name, history in histories(mixed).items():
        newest = max((each for each in mixed if each.target == name), key=lambda one: one.at)
        assert (history.version, history.good) == (newest.version, newest.good)
        for version in VERSIONS:
            unbroken, total = good_time(happened, name, version)
            assert (continuous(history, version, NOW) or 0) <= unbroken
            assert accumulated(history, version, NOW) <= total


@given(worlds(), st.data())
def test_the_answer_depends_on_no_order(
    drawn: tuple[ChannelWorld, list[DeploymentSeen]], data: st.DataObject
) -> None:
    """Neither of subscribers nor of publishers in a channel."""
    found, _ = drawn
    mixed = msgspec.structs.replace(
        found,
        subscribers=tuple(data.draw(st.permutations(found.subscribers))),
        channels={
            name: tuple(reversed(some))
            for name, some in sorted(found.channels.items(), reverse=True)
        },
    )
    assert by_name(found, decided(found)) == by_name(mixed, decided(mixed))


def by_name(found: ChannelWorld, decision: ChannelDecision) -> dict[str, object]:
    """What is said of each subscriber, whatever its position."""
    return {
        found.subscribers[option.target].name: (option.change, set(option.verdicts))
        for option in decision.options
    }


@given(worlds(), st.floats(0, 1, exclude_max=True))
def test_time_alone_changes_nothing_before_the_recheck(
    drawn: tuple[ChannelWorld, list[DeploymentSeen]], part: float
) -> None:
    """Not even the words: until then the same verdicts of the same gates."""
    found, _ = drawn
    decision = decided(found)
    until = decision.recheck_at or Instant(NOW + 1000 * HOUR)
    later = Instant(NOW + int((until - NOW - 1) * part))
    again = decided(found, later)
    assert again.actions == decision.actions
    assert by_name(found, again) == by_name(found, decision)


@given(worlds())
def test_a_hotfix_skips_what_it_declares_and_opens_nothing_else(
    drawn: tuple[ChannelWorld, list[DeploymentSeen]],
) -> None:
    """Without declared gates it is no hotfix; with all of them only other gates are shut."""
    found, _ = drawn
    none = msgspec.structs.replace(found, hotfixes={})
    empty = {each: Hotfix(version=each, owner="o", why="w") for each in VERSIONS}
    bare = msgspec.structs.replace(found, hotfixes=empty)
    assert by_name(none, decided(none)) == by_name(bare, decided(bare))
    every = {
        each: Hotfix(version=each, owner="o", why="w", skips=frozenset(SkippableGate))
        for each in VERSIONS
    }
    full = msgspec.structs.replace(found, hotfixes=every)
    moved = {each.target for each in decided(none).actions}
    assert moved <= {each.target for each in decided(full).actions}
    for at, option in enumerate(decided(full).options):
        if option.change.revision is not None and "SoakUncounted" not in shut(decided(full), at):
            closed = {v.gate.value for v in option.verdicts if v.outcome is not Outcome.PASS}
            assert not closed & {"soak", "window", "health"}


@given(worlds())
def test_what_soaked_without_a_break_soaked_together(
    drawn: tuple[ChannelWorld, list[DeploymentSeen]],
) -> None:
    """`accumulated` asks for less, never for more."""
    found, _ = drawn

    def ruled(rule: SoakRule) -> set[str]:
        changed = tuple(msgspec.structs.replace(each, soak_rule=rule) for each in found.subscribers)
        some = msgspec.structs.replace(found, subscribers=changed)
        return {each.target for each in decided(some).actions}

    assert ruled(SoakRule.CONTINUOUS) <= ruled(SoakRule.ACCUMULATED)
