"""The search for the commit that broke a version: intermediate versions are tried on stage.

A try of the middle halves the suspects: if it is good, those after it are left; if it fails, it and
those before it. A person confirms each try, and a deployment of its version on the same target is
its result. Worked numbers: of seven suspects at most three tries find the one.

Suspects are in the order of the history, the newest first. Where branches were merged between the
last good and the first bad version, that order is an approximation.
"""

from collections.abc import Collection, Iterable

import msgspec
from msgspec.structs import replace

from tidegate.git.history import Commit
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.sources import PipelineReading
from tidegate.model.time import Instant

# The phase of environments in which versions may be tried.
STAGE = "stage"


class BisectTry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An intermediate version that a person let on stage, and how it went."""

    version: str
    at: Instant
    by: str
    # None: it was not seen to be deployed yet.
    good: bool | None = None


class Bisection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tries for one version that failed."""

    version: str
    # The publisher that it failed on, where versions are tried.
    target: str
    # What was written there before the first try: a branch, mostly.
    ref: str
    tries: tuple[BisectTry, ...] = ()

    @property
    def pending(self) -> BisectTry | None:
        """The try without a result; None: there is none."""
        return next((each for each in self.tries if each.good is None), None)


def with_try(bisection: Bisection, step: BisectTry) -> Bisection:
    """With one try more; the same version again is the same try."""
    if any(each.version == step.version for each in bisection.tries):
        return bisection
    return replace(bisection, tries=(*bisection.tries, step))


def with_result(bisection: Bisection, seen: DeploymentSeen) -> Bisection:
    """With what a deployment shows of a try; one that failed once has failed."""
    if seen.target != bisection.target:
        return bisection
    tries = tuple(
        replace(each, good=seen.good)
        if each.version == seen.version and each.good is not False
        else each
        for each in bisection.tries
    )
    return replace(bisection, tries=tries)


def suspects_left(commits: Iterable[Commit], tries: Iterable[BisectTry]) -> tuple[Commit, ...]:
    """The suspects that no try has cleared, the newest first."""
    left = tuple(commits)
    for each in tries:
        at = next((i for i, one in enumerate(left) if one.sha == each.version), None)
        if at is None or each.good is None:
            continue
        left = left[:at] if each.good else left[at:]
    return left


def next_try(left: tuple[Commit, ...], refused: Collection[str]) -> tuple[int, Commit] | None:
    """The suspect to try: nearest to the middle, and not refused; None: there is none.

    With its position: so many are left if it is good. The newest is known to fail.
    """
    found = [(at, one) for at, one in enumerate(left) if at and one.sha not in refused]
    return min(found, key=lambda each: abs(each[0] - len(left) // 2), default=None)


def off_stage(reading: PipelineReading, target: str) -> str:
    """Why versions are not tried on a target, in words; empty: it is on stage.

    Stage is a publisher that gets nothing by promotion, in no environment of a subscriber.
    """
    mine = next((each.place for each in reading.publishers if each.name == target), None)
    if mine is None or any(each.name == target for each in reading.subscribers):
        return f"{target} gets its versions by promotion"
    if any(each.place.environment == mine.environment for each in reading.subscribers):
        return f"{target} is in {mine.environment}, as are subscribers"
    if mine.phase and mine.phase != STAGE:
        return f"{target} is in {mine.environment}, of the phase {mine.phase}"
    return ""
