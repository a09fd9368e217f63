"""An integration as it is declared, whatever spelling it came in: where it runs, and as what.

Everything is named here; where it stands in a file is kept beside it (`where`), so that whatever is
wrong or pinned can be found.
"""

from typing import Any

import msgspec

from tidegate.kinds.integrations.core.waves.rules import ImageRules, MoveVia


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """What is different for one shard."""

    shard: str  # the name of an account, a cluster and so on, or the number of a static shard
    image_ref: str | None = None
    resources: dict[str, dict[str, str]] | None = None
    disabled: bool = False
    # How many sub-shards it is split into; None: it is not.
    sub_shards: int | None = None
    where: str = ""
    # What is noted beside its image, as `review/notes.py` reads it; empty: nothing.
    note: str = ""


class Sharding(msgspec.Struct, frozen=True, kw_only=True):
    """How an integration is split."""

    strategy: str = "static"
    # Of static sharding; None: one.
    shards: int | None = None
    overrides: tuple[Override, ...] = ()
    # Two may own a key for a while: a new count starts without waiting for the old one to end.
    overlap: bool = False
    where: str = ""


class ImageBranch(msgspec.Struct, frozen=True):
    """A branch whose newest commit is the default image."""

    url: str
    branch: str
    # How much of a commit is the tag of an image.
    length: int
    # Where it is written.
    where: str

    @property
    def key(self) -> str:
        """What its newest commit is known by."""
        return f"{self.url} {self.branch}"


class BranchHead(msgspec.Struct, frozen=True, kw_only=True):
    """The newest commit of a branch, or why it is not known."""

    commit: str = ""
    why: str = ""


class DefaultImage(msgspec.Struct, frozen=True, kw_only=True):
    """What a manager hands on: a tag, a branch, or why it is not known; nothing: no manager."""

    tag: str = ""
    follows: ImageBranch | None = None
    why: str = ""


class Namespace(msgspec.Struct, frozen=True, kw_only=True):
    """Where workloads run."""

    path: str
    name: str
    cluster: str
    environment: str
    parameters: dict[str, Any] = {}
    # dev, stage or prod; empty: not known.
    phase: str = ""
    # Its environment's, and its own over them.
    labels: dict[str, str] = {}
    # What its manager hands on.
    image: DefaultImage = DefaultImage()


class Managed(msgspec.Struct, frozen=True, kw_only=True):
    """One place an integration runs in."""

    namespace: Namespace
    # As in the schema: camelCase names, values as written.
    spec: dict[str, Any]
    sharding: Sharding = Sharding()
    # How new images move through its shards; None: all at once, when they are applied.
    rollout: ImageRules | None = None
    where: str = ""

    @property
    def staged(self) -> bool:
        """Whether a rollout gives workloads their images; else they get what the bundle says."""
        return self.rollout is not None and self.rollout.via is MoveVia.CLUSTER


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """How an integration is tried on a merge request."""

    command: str
    disabled: bool = False
    # Whatever changes.
    always: bool = False
    # What runs where no place names an image; None: what the repository says for all.
    image_ref: str | None = None
    # The lower, the earlier.
    order: int = 0
    # Only shards whose own files changed, where that is all that did.
    affected_only: bool = True


class Integration(msgspec.Struct, frozen=True, kw_only=True):
    """One integration, and everywhere it runs."""

    name: str
    upstream: str | None = None
    # The schemas of the files it reads.
    schemas: tuple[str, ...] = ()
    # None: nothing is said of merge requests.
    check: Check | None = None
    managed: tuple[Managed, ...] = ()
    where: str = ""


class ShardKey(msgspec.Struct, frozen=True, kw_only=True):
    """One item of an inventory: an account, a cluster, a zone, an organisation."""

    name: str  # what people call it
    key: str  # SHARD_KEY
    # The id that its vendor gave it, as an AWS account has one; empty: it has none.
    uid: str = ""
    suffix: str  # in the name of its workload
    argument: str  # what the option is given
    disabled_for: frozenset[str] = frozenset()
    labels: dict[str, str] = {}
    # Where it is declared, from the root of the bundle; empty: not known.
    file: str = ""
    # Whether that file is a name for it: it holds nothing else.
    alone: bool = True


class WorkloadShard(msgspec.Struct, frozen=True, kw_only=True):
    """One workload to be: a shard, or a sub-shard of one."""

    integration: str
    namespace: str  # the path of its file
    workload: str
    # What it is a shard of; empty: static, by number alone.
    key: str = ""
    # The id that its vendor gave that; empty: it has none.
    uid: str = ""
    # Which of how many it is; None: it is whole.
    index: int | None = None
    count: int | None = None
    arguments: str = ""
    override: Override | None = None
    labels: dict[str, str] = {}
    # Of the place in `managed` it comes from.
    where: str = ""

    @property
    def name(self) -> str:
        """What people call the shard; its sub-shards share it, because they move together."""
        return self.key or ("" if self.index is None else str(self.index))
