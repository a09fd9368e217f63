"""One upgrade line, answered by our rules, by the existing service's, or by both side by side."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tidegate.core.errors import UserError
from tidegate.core.model.problem import Problems
from tidegate.core.upgrades.deciding.decide import decide
from tidegate.wire.brake_doc import read_brakes
from tidegate.wire.calendar_doc import stretch_from
from tidegate.wire.expedite_doc import read_expedites
from tidegate.wire.line import fields_of
from tidegate.wire.reader import Reader
from tidegate.wire.refusal_doc import read_refused
from tidegate.wire.upgrade_answer import answer_plan
from tidegate.wire.upgrade_line import answer_compat, decode, mapping
from tidegate.wire.upgrade_state import read_ledger


def answer_strict(raw: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Our rules."""
    reader = Reader(fields_of(raw), "", problems := Problems())
    world = decode(reader)
    state = dict(mapping(reader, "state"))
    brakes = world.brakes
    if reader.has("brakes"):
        brakes = read_brakes(reader.child("brakes"), stretch_from(world.now))
    expedites = read_expedites(reader)
    refused = read_refused(reader)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    ledgers = {key: read_ledger(value) for key, value in state.items()}
    world = msgspec.structs.replace(
        world, ledgers=ledgers, brakes=brakes, expedites=expedites, refused=refused
    )
    answer = answer_plan(reader.raw("id"), world, decide(world, world.now), state, world.now)
    warned = tuple(each.text() for each in problems.warnings)
    return answer | {"warnings": (*answer["warnings"], *warned)}


def answer_both(raw: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Both answers, and the writes only one of them makes."""
    ours, theirs = answer_strict(raw), answer_compat(raw)
    ident = ours.pop("id", None)
    theirs.pop("id", None)
    differences = [
        {"only": name, "write": write}
        for name, some, others in (
            ("strict", ours["writes"], theirs["writes"]),
            ("compat", theirs["writes"], ours["writes"]),
        )
        for write in some
        if write not in others
    ]
    return {
        **({} if ident is None else {"id": ident}),
        "strict": ours,
        "compat": theirs,
        "differences": differences,
    }


MODES: dict[str, Callable[[bytes], Any]] = {
    "strict": answer_strict,
    "compat": answer_compat,
    "both": answer_both,
}
