"""The fleet as the engine sees it: what is declared and reported, and a way to change a target."""

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

import msgspec

from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared, RolloutTask
from tidegate.model.target import Target


class Observation(msgspec.Struct, frozen=True):
    """One consistent reading of a partition's part of the fleet."""

    declared: RolloutDeclared
    reports: tuple[Target, ...]
    # False: some reports may be missing; nothing is concluded from absence.
    complete: bool = True
    # False: the fleet does not date its reports; the first observation dates them.
    dated: bool = True


class Fleet(Protocol):
    """An outside system. Every call may take long, fail with OutsideError, or be repeated."""

    async def partitions(self) -> list[str]:
        """The rollouts there are, by name: `kind/name`."""
        ...

    async def observe(self, partition: str) -> Observation:
        """Read what is declared and what every target reports.

        A member that is not mentioned is believed to be as it last was: one that has lost what it
        had is reported as ToApply.
        """
        ...

    async def act(self, partition: str, task: RolloutTask) -> str:
        """Carry a task out, once a key however often it is called; what to note about it.

        StaleError if the target is no longer as the task supposes.
        """
        ...

    def changes(self) -> AsyncIterator[str]:
        """Names of rollouts that may have changed, as it happens.

        It need not report everything: every rollout is observed periodically anyway. It may end, or
        fail with OutsideError; then it is asked again, later.
        """
        ...


@runtime_checkable
class ManySystems(Fleet, Protocol):
    """A fleet of several outside systems: one that fails does not delay the others."""

    def system_of(self, partition: str) -> str:
        """The system a rollout is carried out on."""
        ...


@runtime_checkable
class TidiedFleet(Fleet, Protocol):
    """A fleet in which an earlier change can leave something that is not wanted any more."""

    async def tidy(self, partition: str) -> None:
        """Take that away; asked of a worker that acts, after each round."""
        ...


@runtime_checkable
class SimulatedEnds(Fleet, Protocol):
    """A simulated fleet, which knows whether a change will end."""

    def is_moving(self, partition: str) -> bool:
        """Whether a change is under way that ends by itself."""
        ...


@runtime_checkable
class ClosableFleet(Fleet, Protocol):
    """A fleet that holds something open."""

    async def close(self) -> None:
        """Let go of it."""
        ...
