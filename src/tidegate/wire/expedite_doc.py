"""Versions somebody wants out now, read strictly: who, why, where, and until when."""

from tidegate.core.upgrades.world import Expedite
from tidegate.wire.brake_doc import read_common, read_listed
from tidegate.wire.reader import Reader


def read_expedites(reader: Reader) -> tuple[Expedite, ...]:
    """All that are expedited; each must say everything."""
    return read_listed(reader, "expedites", _expedite, named="version")


def _expedite(reader: Reader) -> Expedite:
    common, version = read_common(reader), reader.text("version") or ""
    if not reader.has("expires"):
        reader.problems.add(reader.at("expires"), "missing", "say until when it is expedited")
    common["name"] = common["name"] or version
    return Expedite(**common, version=version)
