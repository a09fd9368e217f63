"""No document ends the process or shows a traceback: `make fuzz` draws 100,000."""

from pathlib import Path

from tests.api.stage import Service, rollout_journal
from tests.fuzz.__main__ import fuzz_with
from tests.fuzz.readers import Readers
from tests.sim import sized
from tidegate.api.route_table import ACTS, QUESTIONS

DOCUMENTS = sized(600, 2_000, 20_000)


def test_no_document_hurts(tmp_path: Path) -> None:
    """Deep, huge, broken, bombs: each is read, or refused in our own words; at every route."""
    readers = Readers(tmp_path, Service(rollout_journal(tmp_path)))
    seen = fuzz_with(readers, DOCUMENTS, 0)
    ways = {name.partition(":")[2].strip() for name in seen if ":" in name}
    assert ways == {"read", "refused"}
    assert readers.met == {each.path for each in (*ACTS, *QUESTIONS)}
