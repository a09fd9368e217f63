"""A preview as people and programs read it: everything, nothing cut."""

from tidegate.bundle.finding import BundleFinding
from tidegate.kinds.integrations.app.preview.parts import (
    PreviewEnvironment,
    PreviewNote,
    PreviewPin,
    PreviewWorkload,
)
from tidegate.model.document import Document, Part


class PreviewSummary(Part, frozen=True, kw_only=True):
    """How much a change does."""

    created: int
    changed: int
    deleted: int
    image_changes: int
    restarts: int
    # Workloads that are not known because of errors in the bundle.
    unknown: int
    new_errors: int
    new_warnings: int
    # Findings that the change fixes.
    mended: int


class PreviewCollision(Part, frozen=True, kw_only=True):
    """A brake that is on when some shards could start."""

    gate: str
    reason: str
    text: str
    shards: tuple[str, ...]
    would_start_at: str | None
    until: str | None


class PreviewGroup(Part, frozen=True, kw_only=True):
    """A group of a rollout, and when it gets the change; null: no date is known."""

    name: str
    shards: tuple[str, ...]
    starts_at: str | None
    done_at: str | None
    held_by: str | None
    collisions: tuple[PreviewCollision, ...]


class PreviewPlace(Part, frozen=True, kw_only=True):
    """An integration in a namespace whose image moves."""

    name: str
    integration: str
    environment: str
    cluster: str
    namespace: str
    before: str
    after: str


class PreviewRollout(PreviewPlace, frozen=True, kw_only=True):
    """One that a rollout moves, group by group."""

    # The file and line of its rules, in the bundle.
    rules: str
    type: str
    soak: str
    max_concurrency: str | None
    max_failures: str | None
    # How often a shard must run without an error.
    clean_runs: int
    apply_time: str
    apply_time_from: str
    under_way: str
    health_gates: tuple[str, ...]
    starts_at: str | None
    done_at: str | None
    groups: tuple[PreviewGroup, ...]


class PreviewApplied(PreviewPlace, frozen=True, kw_only=True):
    """One that moves at once when the bundle is applied."""

    shards: tuple[str, ...]
    # Those of them that get an image of their own.
    alone: tuple[str, ...]


class Preview(Document, frozen=True, kw_only=True):
    """What `preview` answers."""

    # The effect of the change, on one line.
    verdict: str
    # Which revisions are compared, in words; and the commits, null for a working tree.
    words: str
    base: str | None
    head: str | None
    # Where in its repository the bundle is: before the places of pins and rules.
    prefix: str
    # The moment it is merged.
    at: str
    files: tuple[str, ...]
    summary: PreviewSummary
    environments: tuple[PreviewEnvironment, ...]
    workloads: tuple[PreviewWorkload, ...]
    rollouts: tuple[PreviewRollout, ...]
    applied: tuple[PreviewApplied, ...]
    pinned: tuple[PreviewPin, ...]
    warnings: tuple[PreviewNote, ...]
    findings: tuple[BundleFinding, ...]
