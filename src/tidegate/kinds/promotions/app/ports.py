"""What the application of promotions needs from outside; the command line and wiring provide it."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from tidegate.git.port import Repository
from tidegate.kinds.promotions.core.verification import EnvironmentRuns
from tidegate.kinds.promotions.core.world import ImageState
from tidegate.model.problem import Problem

# Shards, and where in the bundle each is pinned.
PinnedShards = tuple[tuple[str, str], ...]


class ReachedShards(msgspec.Struct, frozen=True, kw_only=True):
    """The shards of one environment that get another image."""

    environment: str
    shards: tuple[str, ...]
    clusters: tuple[str, ...]
    # Shards that keep an image of their own, and where it is written.
    pinned: PinnedShards = ()


class ChangeReach(msgspec.Struct, frozen=True, kw_only=True):
    """What a change of files does to the bundle that they are part of."""

    reached: tuple[ReachedShards, ...] = ()
    # Every shard with an image of its own, of all environments.
    pinned: PinnedShards = ()
    # How many errors the bundle has without the change.
    errors_before: int = 0
    # Errors that only the change brings in.
    new_errors: tuple[Problem, ...] = ()


class ReachOf(Protocol):
    """Which shards and clusters a change reaches; implemented by the kind that deploys them."""

    def __call__(self, commit: str, files: Mapping[str, bytes]) -> ChangeReach:
        """The reach of new contents of files, by path from the root, on a commit of the bundle."""
        ...


# Files with another version, by path from the root: one set for each environment.
TrialFiles = Mapping[str, Mapping[str, bytes]]


class HoldBack(Protocol):
    """Keeps shards where they are while a change moves their default; by the kind that has them."""

    def __call__(self, commit: str, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """A change of files on a commit, with what holds shards back whose waves go through Git."""
        ...


class RunningShards(Protocol):
    """Whether shards run what the bundle promises; implemented by the kind that deploys them."""

    async def __call__(
        self, commit: str, trials: TrialFiles, promised: TrialFiles | None = None
    ) -> Mapping[str, EnvironmentRuns]:
        """What the shards run that a change of an environment's files would move.

        What a commit of the bundle promises them is compared with what their clusters run; where
        `promised` has files of an environment, these count in the place of the commit's.
        """
        ...


class ArtifactRepositories(Protocol):
    """Opens the repositories that promotions read besides the bundle, as they are now."""

    def artifact(self, address: str) -> Repository:
        """The artifact's repository; OutsideError names the option for another address."""
        ...

    def schemas(self, address: str) -> Repository:
        """The repository of the schemas."""
        ...


class ImageLookup(Protocol):
    """Tells whether an image exists."""

    async def state(self, image: str) -> ImageState:
        """What the registry of an image says; UNKNOWN if it does not answer."""
        ...


class PromotionPorts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything outside that the functions of this package use."""

    # The repository that the bundle is in, fetched.
    bundle: Repository
    # Where the bundle is, for messages.
    folder: str
    repositories: ArtifactRepositories
    images: ImageLookup
    reach: ReachOf
    # None: no shard is held back.
    hold_back: HoldBack | None = None
    # Addresses that take the place of the declared ones; empty: as declared.
    artifact_address: str = ""
    schemas_address: str = ""
    # None: no cluster is read, and the files of the bundle are all there is to check.
    running: RunningShards | None = None

    def with_holds(self, commit: str, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """A change of files on a commit of the bundle, with what holds shards back."""
        return files if self.hold_back is None else self.hold_back(commit, files)
