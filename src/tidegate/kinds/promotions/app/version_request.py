"""A version that a person requests for environments, for a worker to offer."""

import re
from collections.abc import Sequence

import msgspec

from tidegate.app.change_requests import ChangeRequestReport, request_ident, request_report
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.kinds.promotions.core.journal.facts import VersionRequested
from tidegate.kinds.promotions.core.world import PromotionWorld
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all

# A revision that a request may name: a commit, a branch or a tag, and no expression or option.
_REVISION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/+-]{0,199}")


class WantedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants to have promoted."""

    # Empty: every environment that does not follow a branch.
    to: tuple[str, ...] = ()
    # Empty: the newest version.
    ref: str = ""
    # Whether an older version, or one on another branch, is allowed.
    backward: bool = False
    reason: str = ""


class PreparedVersion(msgspec.Struct, frozen=True):
    """A request that can be recorded, and what follows."""

    one: Decision
    fact: VersionRequested
    report: ChangeRequestReport


def prepare_version(
    journals: Journals, name: str, wanted: WantedVersion, actor: str
) -> PreparedVersion:
    """Request a version; UserError if it cannot mean anything."""
    one = _promotion(journals, name)
    world: PromotionWorld = one.world
    environments = _environments(one, world, wanted.to)
    ref = _revision(world, wanted.ref)
    has = [each for each in environments if ref == world.version and world.has(each)]
    if len(has) == len(environments):
        what = f"{', '.join(has)} has {ref[:SHORT]} already"
        raise UserError((Problem(one.partition, what, "name another version: --ref"),))
    said = [environments, ref, wanted.backward, wanted.reason]
    fact = VersionRequested(
        ident=request_ident(one.partition, journals.now, actor, said),
        ref=ref,
        environments=environments,
        backward=wanted.backward,
        reason=wanted.reason,
    )
    return PreparedVersion(one, fact, request_report(journals, one, fact, actor))


def _promotion(journals: Journals, name: str) -> Decision:
    names = journals.names(KIND)
    own = f"{KIND}/{name.removeprefix(f'{KIND}/')}"
    one = journals.read(own) if own in names else None
    if one is not None:
        return one
    other = journals.find(name)  # NotFoundError, if it is nothing at all
    hint = nearest_or_all(name, names, "none; a worker with `--kind promotions` reads them")
    if not isinstance(other.world, PromotionWorld):
        remedy = f"a {other.rules.noun} has none; promotions: {hint}"
        raise UserError((Problem(other.partition, "no version can be requested", remedy),))
    return other


def _environments(one: Decision, world: PromotionWorld, names: Sequence[str]) -> tuple[str, ...]:
    """The environments in their order; of those that a caller sees."""
    seen = [each.name for each in one.view.targets]
    for each in names:
        if each not in seen:
            raise NotFoundError(
                "environment", each, nearest_or_all(each, seen), f"in {one.partition}"
            )
    follows = {each.name: each.follows for each in world.promotion.environments}
    problems = tuple(
        Problem(f"env/{each}", f"follows {follows[each]}: it moves by itself", "leave it out")
        for each in names
        if follows.get(each)
    )
    if problems:
        raise UserError(problems)
    found = tuple(each for each in seen if (each in names if names else not follows.get(each)))
    if not found:
        what = "no environment of it is promoted: all of them follow branches"
        raise UserError((Problem(one.partition, what),))
    return found


def _revision(world: PromotionWorld, ref: str) -> str:
    """A revision as it is recorded; the newest version in full."""
    text = ref.strip()
    if not text or (len(text) >= SHORT and world.version.startswith(text)):
        return world.version
    if not _REVISION.fullmatch(text) or ".." in text:
        what = f'"{text}" names no commit, branch or tag'
        raise UserError((Problem("--ref", what, "write one, such as 1a2b3c4"),))
    return text
