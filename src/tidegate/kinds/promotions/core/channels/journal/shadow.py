"""Our decisions about a pipeline beside the merge requests of the existing manager.

One row is a combination of channels while one of both wants it promoted. The existing manager
writes down the channels of a whole batch, so a request with all channels of a combination counts as
wanting it. Where only it does, what kept us is said.
"""

from collections.abc import Iterable

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.journal.shadow import ShadowDecision, Shadowed
from tidegate.kinds.promotions.core.channels.plan import PipelinePlan, PipelineWorld
from tidegate.kinds.promotions.core.explain.view import first_shut
from tidegate.kinds.promotions.core.requests.model import (
    Combination,
    RequestOrigin,
    combination,
)
from tidegate.model.time import Instant

_THEIRS_ONLY = "the existing manager has no merge request for it"


class _Wanted(msgspec.Struct):
    """A combination that one of both wants, since when each does, and why we did not."""

    ours_at: Instant | None = None
    theirs_at: Instant | None = None
    why: str = ""


class ShadowBook:
    """Takes one plan after the other, and says in the end where both differ."""

    def __init__(self) -> None:
        self._wanted: dict[Combination, _Wanted] = {}
        self._ended: list[tuple[Combination, _Wanted]] = []
        self._looks = 0
        self._seen_theirs = False
        self._began: Instant | None = None
        self._last: Instant | None = None

    def take(self, world: PipelineWorld, plan: PipelinePlan, at: Instant) -> None:
        """One plan of ours, and the requests that were open then."""
        self._looks += 1
        self._began, self._last = self._began if self._began is not None else at, at
        ours = {each.channels for each in plan.promotions}
        theirs = self._theirs(world)
        for channels in ours | theirs:
            one = self._wanted.setdefault(channels, _Wanted())
            if channels in ours and one.ours_at is None:
                one.ours_at = at
            if channels in theirs and one.theirs_at is None:
                one.theirs_at = at
                one.why = "" if channels in ours else _why(world, plan, channels)
        for channels in self._wanted.keys() - ours - theirs:
            self._ended.append((channels, self._wanted.pop(channels)))

    def _theirs(self, world: PipelineWorld) -> set[Combination]:
        open_ = () if world.requests is None else world.requests.requests
        existing = [each for each in open_ if each.origin is RequestOrigin.EXISTING]
        self._seen_theirs = self._seen_theirs or bool(existing)
        known = {combination(each.channels) for each in world.reading.subscribers}
        return {each for each in known if any(one.carries(each) for one in existing)}

    def shadowed(self) -> Shadowed | None:
        """Where both differ; None: the existing manager was never seen."""
        if not self._seen_theirs:
            return None
        under_way = list(self._wanted.items())
        early = [(key, one) for key, one in under_way if one.theirs_at is None]
        done = [*self._ended, *((key, one) for key, one in under_way if one.theirs_at is not None)]
        return Shadowed(
            decisions=tuple(_decisions(done)),
            ours_only=tuple(_decisions(early)),
            looks=self._looks,
            began_at=self._began,
            ended_at=self._last,
        )


def _decisions(some: Iterable[tuple[Combination, _Wanted]]) -> Iterable[ShadowDecision]:
    for channels, one in some:
        why = one.why if one.ours_at is None else ""
        if one.theirs_at is None:
            why = _THEIRS_ONLY
        yield ShadowDecision(
            target="+".join(channels), ours_at=one.ours_at, theirs_at=one.theirs_at, why=why
        )


def _why(world: PipelineWorld, plan: PipelinePlan, channels: Combination) -> str:
    """What keeps the first subscriber of the channels, by our rules."""
    for option in plan.options:
        target = world.channels.subscribers[option.target]
        shut = first_shut(option.verdicts)
        if combination(target.channels) == channels and shut is not None:
            return f"{target.name}: {sentence(shut)}"
    return ""
