"""Every gate of the brakes has its module, its page with all its reasons, its story and its law."""

from pathlib import Path

import pytest

from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Gate

ROOT = Path(__file__).parents[2]
GATES = {
    "hold": Gate.HOLD,
    "freeze": Gate.FREEZE,
    "block": Gate.BLOCK,
    "pin": Gate.PIN,
    "budget": Gate.SHARED_BUDGET,
    "mutex": Gate.MUTEX,
    "approval": Gate.APPROVAL,
    "health": Gate.HEALTH,
}


@pytest.mark.parametrize("name", GATES)
def test_a_gate_comes_with_its_page_its_story_and_its_law(name: str) -> None:
    """A person who meets a gate finds what it means, sees it work, and can trust it."""
    assert (ROOT / f"src/tidegate/gates/{name}.py").exists()
    assert (ROOT / f"tests/scenarios/gates/{name}.txt").exists()
    assert list((ROOT / "tests/property").glob(f"test_*{name}*.py"))
    page = (ROOT / f"docs/concepts/gates/{name}.md").read_text(encoding="utf-8")
    mine = [reason for reason in BrakeReason if reason.entry.gate is GATES[name]]
    assert mine
    assert not [reason.value for reason in mine if f"`{reason.value}`" not in page]


def test_every_reason_of_the_brakes_is_seen_in_a_story() -> None:
    """No reason exists on paper only; those that pass are seen by their sentence in a tree."""
    folders = ("gates", "peers")
    texts = [
        path.read_text(encoding="utf-8")
        for folder in folders
        for path in (ROOT / "tests/scenarios" / folder).glob("*.txt")
    ]
    told = "\n".join(texts)
    shut = [r.name for r in BrakeReason if r.entry.opens and r.name not in told]
    assert shut in ([], ["CalendarEnds"]), "CalendarEnds needs a world older than its reading"


def test_every_peer_is_in_the_table() -> None:
    """The page names every story of another owner's failure, and no other."""
    page = (ROOT / "docs/concepts/peers.md").read_text(encoding="utf-8")
    stories = {path.name for path in (ROOT / "tests/scenarios/peers").glob("*.txt")}
    assert not [name for name in stories if f"peers/{name}" not in page]
