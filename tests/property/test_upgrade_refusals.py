"""Law: what was refused is not asked again before its pause is over, and nothing else changes.

Steps that a plan takes are refused at some moment before; what starts then would have started, had
the others been left alone.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.property.test_upgrade_gaps import alone
from tests.property.test_upgrade_laws import KEYS, NOW, answer, started, worlds
from tidegate.kinds.upgrades.core.refusal import PAUSE, PAUSE_MAX, OcmRefusal
from tidegate.model.time import SECOND, Instant, format_instant, parse_instant

MINUTE = 60 * SECOND


def steps(found: dict[str, Any]) -> set[tuple[str, str]]:
    """What is done, by external id, but for what is taken back."""
    return {
        (target["uuid"], "/".join(filter(None, (each["do"], each.get("pool"), each["version"]))))
        for target in found["targets"]
        for each in target["options"]
        if each["go"] and each["do"] != "cancel"
    }


@st.composite
def refusing(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], set[tuple[str, str]]]:
    """A world, the same with refusals of what it starts, and those that still hold."""
    world = draw(worlds())
    for each in world["clusters"]:
        each["labels"]["who"] = each["id"]
    refused: dict[str, dict[str, Any]] = {}
    paused: set[tuple[str, str]] = set()
    for uuid, what in sorted(steps(answer(world))):
        minutes, tries = draw(st.sampled_from(((5, 1), (10, 1), (15, 2), (359, 9), (360, 9))))
        at = parse_instant(NOW) - minutes * MINUTE
        detail = {"at": format_instant(at), "tries": tries, "detail": "no quota"}
        if draw(st.booleans()):
            refused.setdefault(uuid, {})[what] = detail
            if minutes not in (10, 360):
                paused.add((uuid, what))
    return world, {**world, "refused": refused}, paused


@given(refusing())
def test_what_was_refused_is_asked_again_after_its_pause(
    tried: tuple[dict[str, Any], dict[str, Any], set[tuple[str, str]]],
) -> None:
    """Not before; where no pause is left, everything is as if nothing had been refused."""
    world, later, paused = tried
    done, before = steps(answer(later)), steps(answer(world))
    assert not done & paused
    assert paused or done == before
    reasons = {str(each) for each in answer(later)["targets"] if "RefusedLately" in str(each)}
    assert bool(reasons) == bool(paused)


@given(refusing())
def test_a_refusal_opens_nothing(
    tried: tuple[dict[str, Any], dict[str, Any], set[tuple[str, str]]],
) -> None:
    """What starts in its place would start anyway, were the others left alone."""
    world, later, _ = tried
    for ident, (version, _) in started(answer(later)).items():
        sure = started(answer(alone(world, ident)))
        assert KEYS[sure[ident][0]] >= KEYS[version]


@given(st.integers(1, 200), st.integers(0, 2**40))
def test_pauses_double_up_to_a_bound(tries: int, at: int) -> None:
    """Each is twice the one before, or the longest."""
    one, other = (OcmRefusal(Instant(at), each, "").until - at for each in (tries, tries + 1))
    assert other == min(2 * one, PAUSE_MAX)
    assert one >= PAUSE
