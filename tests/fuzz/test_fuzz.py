"""No document ends the process or shows a traceback: `make fuzz` draws 100,000."""

from pathlib import Path

from tests.fuzz.__main__ import fuzz
from tests.sim import sized

DOCUMENTS = sized(600, 2_000, 20_000)


def test_no_document_hurts(tmp_path: Path) -> None:
    """Deep, huge, broken, bombs: each is read, or refused in our own words."""
    seen = fuzz(DOCUMENTS, 0, tmp_path)
    ways = {name.partition(":")[2].strip() for name in seen if ":" in name}
    assert ways == {"read", "refused"}
