"""A block keeps a revision out: exactly one, or all that look like it.

`4.17.2` is that one; in `4.17.*` a star stands for any text, a question mark for one character. A
revision without a name cannot be compared with a block, so it waits.
"""

from collections.abc import Iterable

from tidegate.gates.scope import Brake, brake_verdict, in_force
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict

NOT_BLOCKED = verdict(BrakeReason.NotBlocked)


class Block(Brake, frozen=True, kw_only=True):
    """This revision nowhere, or nowhere in its scope."""

    revision: str


def block_verdicts(blocks: Iterable[Block], revision: str | None, now: Instant) -> list[Verdict]:
    """What the blocks that cover a target say of a revision: one verdict each that is shut."""
    reasons = BrakeReason.Blocked, BrakeReason.BlockedUntil
    shut: list[Verdict] = []
    for block in blocks:
        if not in_force(block, now):
            continue
        if revision is None:
            shut.append(verdict(BrakeReason.RevisionUnnamed, block.name, block.owner))
        elif is_like(revision, block.revision):
            shut.append(brake_verdict(block, "block", *reasons, revision))
    return shut or [NOT_BLOCKED]


def is_like(text: str, pattern: str) -> bool:
    """Whether a text is what a pattern with `*` and `?` describes, in at most len × len steps."""
    at = in_pattern = 0
    star, behind_star = -1, 0
    while at < len(text):
        here = pattern[in_pattern] if in_pattern < len(pattern) else ""
        if here == "*":
            star, behind_star = in_pattern, at
            in_pattern += 1
        elif here and here in ("?", text[at]):
            at, in_pattern = at + 1, in_pattern + 1
        elif star >= 0:  # the last star takes one character more
            behind_star += 1
            at, in_pattern = behind_star, star + 1
        else:
            return False
    return all(rest == "*" for rest in pattern[in_pattern:])
