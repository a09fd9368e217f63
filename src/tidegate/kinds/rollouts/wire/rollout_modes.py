"""One rollout line, answered by our rules, by the existing library's, or by both side by side."""

from collections.abc import Callable
from typing import Any

from tidegate.documents.line import ident_of, parse_line
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.wire import compat_line
from tidegate.kinds.rollouts.wire.differences import list_differences
from tidegate.kinds.rollouts.wire.rollout_answer import answer_problems, answer_rollout
from tidegate.kinds.rollouts.wire.rollout_doc import read_rollout
from tidegate.model.errors import UserError


def answer_strict(raw: bytes) -> dict[str, Any]:
    """Our rules."""
    reading = read_rollout(parse_line(raw))
    plan = decide(reading.world, reading.now)
    return answer_rollout(reading.id, reading.world, plan, reading.now, reading.warnings)


def answer_compat(raw: bytes) -> compat_line.CompatAnswer:
    """The existing library's rules."""
    return compat_line.reply(parse_line(raw))


def answer_both(raw: bytes) -> dict[str, Any]:
    """Both answers, and where they part ways."""
    theirs = answer_compat(raw)
    try:
        reading = read_rollout(parse_line(raw))
    except UserError as error:
        refused = {"what": "error", "strict": True, "compat": bool(theirs.error)}
        differences = [] if theirs.error else [refused | {"message": error.text()}]
        ours = answer_problems(None, error)
        return {"id": ident_of(raw), "strict": ours, "compat": theirs, "differences": differences}
    plan = decide(reading.world, reading.now)
    ours = answer_rollout(None, reading.world, plan, reading.now, reading.warnings)
    differences = list_differences(reading.world, plan, ours, theirs)
    return {"id": reading.id, "strict": ours, "compat": theirs, "differences": differences}


MODES: dict[str, Callable[[bytes], Any]] = {
    "strict": answer_strict,
    "compat": answer_compat,
    "both": answer_both,
}
