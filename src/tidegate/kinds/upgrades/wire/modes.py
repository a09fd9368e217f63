"""One upgrade line, answered by our rules, by AUS's, or by both side by side."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tidegate.documents.brake_doc import IN_DOCUMENT, read_brakes
from tidegate.documents.calendar_doc import stretch_from
from tidegate.documents.line import fields_of
from tidegate.documents.reader import Reader
from tidegate.kinds.upgrades.core.requests import Write
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.kinds.upgrades.wire.answer import answer_plan, writes_of
from tidegate.kinds.upgrades.wire.line import answer_compat, decode, mapping
from tidegate.kinds.upgrades.wire.refusal_doc import read_refused
from tidegate.kinds.upgrades.wire.state import read_ledger
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems


class UpgradeLine(NamedTuple):
    """One line, read by our rules."""

    ident: object
    world: UpgradeWorld
    # What was kept, as it stands there.
    state: dict[str, Any]
    warnings: tuple[str, ...]


def read_upgrades(raw: bytes | Mapping[str, Any]) -> UpgradeLine:
    """A whole reading of OCM, with brakes and what is expedited; UserError if it cannot be used."""
    reader = Reader(fields_of(raw), "", problems := Problems())
    world = decode(reader)
    state = dict(mapping(reader, "state"))
    brakes = world.brakes
    if reader.has("brakes"):
        stretch = stretch_from(world.now)
        brakes = read_brakes(reader.child("brakes"), stretch, lift=IN_DOCUMENT)
    refused = read_refused(reader)
    if problems.errors:
        raise UserError(tuple(problems.errors))
    ledgers = {key: read_ledger(value) for key, value in state.items()}
    world = msgspec.structs.replace(world, ledgers=ledgers, brakes=brakes, refused=refused)
    warned = tuple(each.text() for each in problems.warnings)
    return UpgradeLine(reader.raw("id"), world, state, warned)


def answer_strict(raw: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Our rules."""
    return _strict(raw)[0]


def _strict(raw: bytes | Mapping[str, Any]) -> tuple[dict[str, Any], UpgradePlan]:
    ident, world, state, warned = read_upgrades(raw)
    plan = decide(world, world.now)
    answer = answer_plan(ident, world, plan, state, world.now)
    return answer | {"warnings": (*answer["warnings"], *warned)}, plan


def answer_both(raw: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Both answers, and the writes only one of them makes.

    A service log that says the same in other words is no difference.
    """
    (ours, plan), theirs = _strict(raw), answer_compat(raw)
    ident = ours.pop("id", None)
    theirs.pop("id", None)
    differences = differing(ours["writes"], theirs["writes"], formerly_written(plan))
    return {
        **({} if ident is None else {"id": ident}),
        "strict": ours,
        "compat": theirs,
        "differences": differences,
    }


def formerly_written(plan: UpgradePlan) -> list[Write]:
    """Everything a plan asks for, with service logs in the words of AUS."""
    notices = tuple(
        msgspec.structs.replace(each, description=each.known or each.description)
        for each in plan.owner_notices
    )
    return writes_of(msgspec.structs.replace(plan, owner_notices=notices))


def differing(
    ours: Sequence[Write], theirs: Sequence[Write], formerly: Sequence[Write]
) -> list[dict[str, Any]]:
    """The writes that only one side makes; `formerly` are ours in the other's words."""
    mine = [
        write
        for write, same in zip(ours, formerly, strict=False)
        if write not in theirs and same not in theirs
    ]
    other = [write for write in theirs if write not in ours and write not in formerly]
    sides = (("strict", mine), ("compat", other))
    return [{"only": name, "write": write} for name, some in sides for write in some]


MODES: dict[str, Callable[[bytes], Any]] = {
    "strict": answer_strict,
    "compat": answer_compat,
    "both": answer_both,
}
