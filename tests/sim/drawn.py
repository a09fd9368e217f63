"""Cases drawn by Hypothesis, choice by choice, so that a failing one shrinks to its bare bones."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sim.generator import CURRENT, NEWER, OLDER, Case, make_case
from tidegate.kinds.rollouts.core.strategy import Approvals, OnFailure, Retry, StrategyType

T = TypeVar("T")


class Drawn:
    """Choices that Hypothesis makes; the first option and False are what they shrink to."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self._draw(_below(len(options)))]

    def chance(self, percent: int) -> bool:
        """True in about so many of a hundred draws."""
        return self._draw(_below(100)) >= 100 - percent


@lru_cache(maxsize=128)
def _below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any case at all."""
    return make_case(Drawn(draw))


def reverts() -> st.SearchStrategy[Case]:
    """Cases in which the declared revision is the last good one again."""
    return cases().map(_as_revert)


def _as_revert(case: Case) -> Case:
    memory = replace(case.rollout, revision=NEWER, last_good=CURRENT)
    return replace(case, revision=CURRENT, rollout=memory)


def retries() -> st.SearchStrategy[Case]:
    """Cases in which a person asked for another try."""
    return st.builds(_as_retry, cases(), st.sampled_from((Retry.FAILED, Retry.EVERYTHING)))


def _as_retry(case: Case, retry: Retry) -> Case:
    return replace(case, rollout=replace(case.rollout, revision=case.revision, retry=retry))


def group_retries() -> st.SearchStrategy[Case]:
    """Cases in which a person asked for another try of one group, if there is any."""
    picks = st.integers(0, 3), st.sampled_from((Retry.FAILED, Retry.EVERYTHING))
    return st.builds(_as_group_retry, cases(), *picks)


def _as_group_retry(case: Case, at: int, retry: Retry) -> Case:
    names = [one.name or "ungrouped" for one in case.memberships] or ["ungrouped"]
    groups = {names[at % len(names)]: retry}
    memory = replace(case.rollout, revision=case.revision, retry=Retry.NOTHING, retry_groups=groups)
    return replace(case, rollout=memory)


def rollbacks() -> st.SearchStrategy[Case]:
    """Cases in which a rollout was aborted, and touched targets should go back."""
    return cases().map(_as_rollback)


def _as_rollback(case: Case) -> Case:
    strategy = replace(case.strategy, on_failure=OnFailure.ROLLBACK)
    memory = replace(case.rollout, revision=CURRENT, last_good=OLDER, aborted=True, completed=False)
    return replace(case, strategy=strategy, revision=CURRENT, rollout=memory)


def manual() -> st.SearchStrategy[Case]:
    """Cases in which groups have to be approved."""
    return st.builds(_as_manual, cases(), st.sampled_from((None, CURRENT, OLDER)))


def _as_manual(case: Case, version: str | None) -> Case:
    names = frozenset(one.name for one in case.memberships[::2] if one.name)
    strategy = case.strategy
    if strategy.type is not StrategyType.MANUAL_PER_GROUP:
        if strategy.type is StrategyType.ALL:
            return case
        strategy = replace(strategy, type=StrategyType.MANUAL_PER_GROUP)
    memory = replace(case.rollout, approvals=Approvals(names, version is None, version))
    return replace(case, strategy=strategy, rollout=memory)
