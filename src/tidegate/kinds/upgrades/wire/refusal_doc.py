"""What was refused lately, as a line has it: by cluster, then by what was asked for.

refused: {c-uuid: {upgrade/4.21.3: {at: 2026-03-10T10:00:00Z, tries: 2, detail: no quota}}}
"""

from tidegate.documents.reader import INSTANT_REMEDY, Reader
from tidegate.kinds.upgrades.core.refusal import OcmRefusal
from tidegate.model.time import Instant


def read_refused(reader: Reader) -> dict[str, dict[str, OcmRefusal]]:
    """All that was refused; one that does not say when is a problem."""
    if not reader.has("refused"):
        return {}
    every = reader.child("refused")
    found: dict[str, dict[str, OcmRefusal]] = {}
    for uuid in every.names():
        cluster = every.child(uuid)
        found[uuid] = {what: _refusal(cluster.child(what)) for what in cluster.names()}
    return found


def _refusal(reader: Reader) -> OcmRefusal:
    if not reader.has("at"):
        reader.problems.add(reader.at("at"), "missing", INSTANT_REMEDY)
    tries = reader.whole("tries")
    refusal = OcmRefusal(
        at=reader.instant("at") or Instant(0),
        tries=1 if tries is None else tries,
        detail=reader.text("detail") or "",
    )
    reader.close()
    return refusal
