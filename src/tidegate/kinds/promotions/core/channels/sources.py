"""What saas files say of a pipeline: subscribers, publishers, and versions that are not allowed.

A target is named by saas file, template, target, cluster and namespace, with colons between them:
the text that the existing manager's ids are made of, so that its state can be read. The name does
not depend on what else there is, so that the history of a target is found again.
"""

from collections.abc import Mapping

import msgspec

from tidegate.git.history import FULL, Commit
from tidegate.kinds.promotions.core.channels.pipeline import Pipeline
from tidegate.kinds.promotions.core.compat.names import ConfigHash, target_uid
from tidegate.kinds.promotions.core.model import COMMIT
from tidegate.model.time import Duration, Instant

# How the existing manager calls a target without a name.
UNNAMED = "default"


def is_version(ref: str) -> bool:
    """Whether a ref is a commit in full, and not a branch."""
    return len(ref) >= FULL and COMMIT.fullmatch(ref) is not None


class TargetPlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One target of a saas file: which it is, and where it is written."""

    saas: str
    template: str
    # Its own name; empty: it has none.
    target: str = ""
    cluster: str
    namespace: str
    environment: str = ""
    # The phase of its environment: stage, production; empty: not declared.
    phase: str = ""
    # The file that has its `ref`, the path of it there, and the document of that file.
    file: str
    path: str = ""
    document: int = 0
    # The reference to its namespace, as it is written.
    namespace_ref: str = ""
    # The repository that it deploys.
    url: str = ""
    # The application of its saas file; empty: not known.
    app: str = ""

    @property
    def name(self) -> str:
        """How it is called everywhere."""
        parts = (self.saas, self.template, self.target or UNNAMED, self.cluster, self.namespace)
        return ":".join(parts)

    def uid(self, *, fips: bool = False) -> str:
        """Its id in the keys of the existing manager's state."""
        return target_uid(
            self.saas, self.template, self.target or None, self.cluster, self.namespace, fips=fips
        )


class SaasSubscriber(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A target with `promotion.auto`."""

    place: TargetPlace
    ref: str
    channels: tuple[str, ...]
    soak: Duration = Duration(0)
    schedule: str = ""
    # The names of SLO documents.
    slos: tuple[str, ...] = ()
    # `redeployOnPublisherConfigChange`, and what `promotion_data` has.
    follows_configs: bool = False
    configs: tuple[ConfigHash, ...] = ()
    troubles: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How it is called."""
        return self.place.name


class SaasPublisher(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A target that publishes to channels."""

    place: TargetPlace
    # A commit, or the branch that it follows.
    ref: str
    channels: tuple[str, ...]
    # None: it follows a branch that could not be read.
    version: str | None = None

    @property
    def name(self) -> str:
        """How it is called."""
        return self.place.name


class BlockedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version that a code component names: as blocked, or as a hotfix."""

    url: str
    version: str
    # The application that names it.
    where: str


class SloDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One SLO of a document: what is asked of which Prometheus, and what it must reach."""

    document: str
    name: str
    # The Prometheus of a namespace; empty: none is named, and so it is not known.
    url: str = ""
    query: str = ""
    # As it is written: a share or a number.
    target: str = ""


class CommitRange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The commits that one version has and another has not."""

    # How many there are; the first of them are named.
    number: int
    commits: tuple[Commit, ...] = ()
    # When the oldest of them was merged; None: there is none.
    oldest_at: Instant | None = None


def range_key(old: str, new: str) -> str:
    """How the commits between two versions are named, as Git does."""
    return f"{old}..{new}"


class PipelineReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pipeline and all that saas files say of it, at one commit of the bundle."""

    pipeline: Pipeline
    # The commit of the bundle.
    base: str = ""
    subscribers: tuple[SaasSubscriber, ...] = ()
    publishers: tuple[SaasPublisher, ...] = ()
    blocked: tuple[BlockedVersion, ...] = ()
    hotfixes: tuple[BlockedVersion, ...] = ()
    slos: tuple[SloDocument, ...] = ()
    # Files that cannot be read, and why.
    unread: tuple[str, ...] = ()
    # The commits between two versions, the newest first, by `old..new`; only what is known.
    commits: Mapping[str, "CommitRange"] = {}

    def channels(self) -> dict[str, tuple[str, ...]]:
        """The publishers of every channel that is subscribed to."""
        found: dict[str, list[str]] = {
            name: [] for one in self.subscribers for name in one.channels
        }
        for each in self.publishers:
            for name in each.channels:
                if name in found:
                    found[name].append(each.name)
        return {name: tuple(sorted(set(some))) for name, some in found.items()}
