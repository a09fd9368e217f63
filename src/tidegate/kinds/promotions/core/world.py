"""Everything that a decision about a promotion depends on, as values: `PromotionWorld`.

What is read of the bundle and of the artifact is always there. What became of earlier offers, and
what runs, is there where a journal has it: a decision by hand is made without them.
"""

import enum
from collections.abc import Mapping

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.git.history import Ancestry, Commit
from tidegate.kinds.promotions.core.model import Promotion, PromotionEnvironment, WrittenVersion
from tidegate.model.time import Instant


class Relation(msgspec.Struct, frozen=True):
    """How a version relates to what is written, and by how many commits if that is known."""

    ancestry: Ancestry
    commits: int = 0


class ImageState(enum.Enum):
    """Whether the image of a version exists."""

    THERE = "there"
    MISSING = "missing"
    UNKNOWN = "unknown"  # the registry did not answer
    UNASKED = "unasked"  # no registry was asked: the user said so, or no image is declared


class SchemasNeed(msgspec.Struct, frozen=True):
    """The schemas that a version needs, and whether the bundle has them."""

    needed: str
    has: str
    ancestry: Ancestry  # of what is needed to what the bundle has


class OfferState(enum.Enum):
    """What became of a merge request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class VersionOffer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A version offered for some environments in one merge request, or on a branch."""

    environments: tuple[str, ...]
    version: str
    branch: str
    commit: str
    # Empty and None: only a branch was pushed.
    url: str = ""
    number: int | None = None
    state: OfferState = OfferState.OPEN
    offered_at: Instant
    # When the state was last seen to change; None: it never did.
    changed_at: Instant | None = None
    # The account that merged or closed it; empty: not known.
    by: str = ""

    @property
    def name(self) -> str:
        """How it is called in a verdict."""
        return self.url or self.branch


class CheckedIn(enum.Enum):
    """Where it was seen which version an environment has."""

    CLUSTERS = "clusters"
    BUNDLE = "bundle"  # in its files alone: no shard depends on them, or no cluster is read


class RunningCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether what runs in an environment is what its files promise."""

    environment: str
    version: str
    matches: bool
    # What differs, a few words each: shards, workloads.
    differing: tuple[str, ...] = ()
    seen_in: CheckedIn = CheckedIn.CLUSTERS


class OfferRefusal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An offer that could not be made."""

    version: str
    # Which system, or which gate, refused it.
    by: str
    why: str
    # When to try again; None: after `retry`, or with a newer version.
    until: Instant | None = None


class RequestedVersion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A version that a person requested for environments, in the place of the newest one."""

    # Names the request.
    ident: str
    # A revision of the artifact, as it was written.
    ref: str
    environments: tuple[str, ...]
    # Whether an older version, or one on another branch, is allowed.
    backward: bool = False
    by: str
    at: Instant
    reason: str = ""
    # Whether it does not go forward from what was written: then it stays until it is withdrawn.
    back: bool = False
    # Whether the files had it, since it was requested.
    reached: bool = False


class RequestedReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was read of a version that was requested: what a reading has of the newest one."""

    # Empty: there is no such version, or it cannot be promoted; `problem` says why.
    version: str = ""
    problem: str = ""
    relations: Mapping[str, Relation] = {}
    # Commits that some environment does not have yet; only the first of many.
    commits: tuple[Commit, ...] = ()
    image: str = ""
    image_state: ImageState = ImageState.UNASKED
    schemas: tuple[SchemasNeed, ...] = ()


class PromotionWorld(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of everything that a promotion depends on."""

    promotion: Promotion
    # What is written at every place of every environment, whether that is selected or not.
    written: tuple[WrittenVersion, ...]
    version: str
    # The selected environments; none: all that do not follow a branch.
    to: tuple[str, ...] = ()
    # How the version relates to each written value, and to each branch that is followed.
    relations: Mapping[str, Relation] = {}
    image: str = ""
    image_state: ImageState = ImageState.UNASKED
    schemas: SchemasNeed | None = None
    brakes: Brakes = Brakes()
    # Versions that are older, or on another branch, are allowed.
    backward: bool = False
    # Places that are declared and were not found, by environment.
    missing: Mapping[str, tuple[str, ...]] = {}
    # Environments with files that cannot be read: what is written there is not known.
    unread: frozenset[str] = frozenset()
    paused: bool = False
    aborted: bool = False
    # The newest offer of each environment.
    offers: Mapping[str, VersionOffer] = {}
    # The last check of each environment that is checked at all.
    checks: Mapping[str, RunningCheck] = {}
    refusals: Mapping[str, OfferRefusal] = {}
    # Environments of a decided change without an outcome, with what the last try said.
    pending: Mapping[str, str] = {}
    # When the bundle was read; None: just now.
    read_at: Instant | None = None
    # What people requested, by environment, and what was read of it, by request.
    requests: Mapping[str, RequestedVersion] = {}
    requested: Mapping[str, RequestedReading] = {}

    def of(self, environment: str) -> "PromotionWorld | None":
        """The world as it is for one environment: the version is the one that it is to get.

        None: another version was requested, of which nothing is known yet.
        """
        request = self.requests.get(environment)
        if request is None:
            return self
        found = self.requested.get(request.ident)
        if found is None and request.ref == self.version:
            return msgspec.structs.replace(self, backward=request.backward)
        if found is None or not found.version:
            return None
        return msgspec.structs.replace(
            self,
            version=found.version,
            relations=found.relations,
            image=found.image,
            image_state=found.image_state,
            schemas=found.schemas[0] if found.schemas else None,
            backward=request.backward,
            aborted=self.aborted and found.version == self.version,
        )

    def wanted(self, environment: str) -> str:
        """The version that an environment is to get; of a request that was not read, its text."""
        found = self.of(environment)
        return self.requests[environment].ref if found is None else found.version

    def targets(self) -> tuple[PromotionEnvironment, ...]:
        """The selected environments, in order.

        Unless named, environments of the built-in promotion that a bundle does not have are left
        out.
        """
        every = self.promotion.environments
        if self.to:
            return tuple(each for each in every if each.name in self.to)
        there = {each.environment for each in self.written} | self.unread
        declared = bool(self.promotion.where)
        return tuple(e for e in every if not e.follows and (declared or e.name in there))

    def commits_in(self, environment: str) -> tuple[WrittenVersion, ...]:
        """The written versions of an environment that a promotion may change."""
        return tuple(w for w in self.written if w.environment == environment and w.is_commit)

    def has(self, environment: str) -> bool:
        """Whether every place of an environment has the version already."""
        commits = self.commits_in(environment)
        return bool(commits) and all(each.has(self.version) for each in commits)
