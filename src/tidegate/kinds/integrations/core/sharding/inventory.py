"""The inventory: what every shard wants, what it runs and since when, and why the two differ."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tidegate.kinds.integrations.core.waves.reshape import Reshape
from tidegate.kinds.integrations.core.waves.shard_state import revisions_in
from tidegate.kinds.integrations.core.waves.trial import ShardRun
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, Pod
from tidegate.model.time import Instant
from tidegate.registry.image import digest_of, is_same, revision_of

MIXED = "mixed"
# So many workloads of an old set are named.
OLD_NAMED = 2
_ID_MARK = "sha256:"


class Past(msgspec.Struct, frozen=True):
    """The images a place was to run, oldest first, and since when each."""

    revisions: tuple[tuple[str, Instant], ...] = ()

    def has(self, revision: str) -> bool:
        """Whether an image is one of them."""
        return any(name == revision for name, _ in self.revisions)


class ShardRow(msgspec.Struct, frozen=True, kw_only=True):
    """One shard, with its sub-shards."""

    shard: str
    integration: str
    environment: str
    cluster: str
    namespace: str
    kind: str
    # Empty: not known.
    wants: str
    # Empty: nothing is there; `mixed`: its sub-shards differ.
    runs: str = ""
    # Of what was pulled, as the nodes say it.
    digest: str = ""
    since: Instant | None = None
    # Where an image of its own is written.
    pinned_by: str = ""
    # Where it is turned off.
    disabled_by: str = ""
    # None: not known, for its cluster cannot be read.
    ready: int | None = 0
    of: int = 0
    # How its last run ended, and how many there were; None: not known.
    last_run: ShardRun | None = None
    # How many images newer than the one it runs there are for its place, and since when; None:
    # not known, since its own image was never that of its place.
    behind: int | None = 0
    behind_since: Instant | None = None
    # Why it does not run what it wants; or that it is not ours.
    note: str = ""
    # What it runs, it runs in the shards of before.
    resharding: bool = False

    @property
    def is_current(self) -> bool:
        """Whether it runs what it wants."""
        return self.runs != "" and not self.note


def row_of(
    place: ManagedPlace,
    unit: Unit,
    kind: str,
    workloads: Mapping[str, LiveWorkload],
    pods: Mapping[str, Sequence[Pod]],
    runs: Mapping[str, ShardRun],
    *,
    ours: bool = True,
    moved_by: str = "",
    past: Past | None = None,
) -> ShardRow:
    """What there is to say of a unit; runs by the pod's uid.

    `moved_by` is the rollout that moves its image; empty: it is moved by `apply`.
    """
    namespace = place.managed.namespace
    found = [workloads[s.workload] for s in unit.shards if s.workload in workloads]
    its = [pod for s in unit.shards for pod in pods.get(s.workload, ()) if not pod.ending]
    known = not place.no_image or bool(unit.pinned_by)
    wants = place.wanted(unit) if known else ""
    revisions = revisions_in(unit, workloads, pods, wants, place.repository)
    running = revisions.pop() if len(revisions) == 1 else ""
    shown = running or (MIXED if found else "")
    past = past or Past()
    late: int | None
    late, since = (None, None) if place.no_image else behind(place.revision, running, past)
    if late and unit.pinned_by and not past.has(running):
        # An image of its own that the place never had may as well be newer.
        late, since = None, None
    return ShardRow(
        shard=unit.name,
        integration=place.integration.name,
        environment=namespace.environment,
        cluster=namespace.cluster,
        namespace=namespace.name,
        kind=kind,
        wants=wants,
        runs=shown,
        digest=_digest(found, its),
        since=min((pod.started_at for pod in its if pod.started_at is not None), default=None),
        pinned_by=unit.pinned_by,
        disabled_by=unit.stopped_by,
        ready=sum(pod.ready for pod in its),
        of=0 if unit.stopped or kind == "CronJob" else len(unit.shards),
        last_run=_worst(runs[pod.uid] for pod in its if pod.uid in runs),
        behind=late,
        behind_since=since,
        note=place.no_image or _note(unit, found, wants, shown, ours=ours, moved_by=moved_by),
    )


def resharded(row: ShardRow, reshape: Reshape) -> ShardRow:
    """A row of a set that takes the place of another, which does its work until it has ended."""
    runs = row.runs or revision_of(reshape.image, reshape.place.repository)
    note = f"{reshape.words}: {', '.join(reshape.old[:OLD_NAMED])}"
    more = len(reshape.old) - OLD_NAMED
    of = f"{note} and {more} more" if more > 0 else note
    return msgspec.structs.replace(row, runs=runs, note=f"{of} first has to end", resharding=True)


def _note(
    unit: Unit, found: Sequence[LiveWorkload], wants: str, runs: str, *, ours: bool, moved_by: str
) -> str:
    if not found:
        return "not applied yet"
    if not ours:
        return "not Tidegate's"
    if len(found) < len(unit.shards):
        return f"{len(unit.shards) - len(found)} of its workloads are not applied yet"
    if is_same(wants, runs):
        return ""
    if moved_by and not unit.pinned_by:
        return f"Git wants {wants}; stays on {runs} until {moved_by} moves it"
    return "`tidegate serve` or `tidegate apply` moves it"


def _digest(found: Iterable[LiveWorkload], pods: Iterable[Pod]) -> str:
    """The digest all of it runs; empty where they differ or it is not known."""
    stated = {
        _ID_MARK + pod.image_id.rpartition(_ID_MARK)[2] for pod in pods if _ID_MARK in pod.image_id
    } or {digest_of(each.image) for each in found}
    return stated.pop() if len(stated) == 1 else ""


def _worst(runs: Iterable[ShardRun]) -> ShardRun | None:
    """Of several sub-shards the one that failed, or the one with the fewest runs, tells more."""
    return min(runs, key=lambda run: (run.status == 0, run.completed), default=None)


def behind(wanted: str, running: str, past: Past) -> tuple[int, Instant | None]:
    """How many images newer than the given one there are for a place, and since when."""
    if not running or is_same(wanted, running):
        return 0, None
    names = [name for name, _ in past.revisions]
    if running not in names:
        return 1, next((at for name, at in past.revisions if name == wanted), None)
    newer = past.revisions[len(names) - names[::-1].index(running) :]
    return max(1, len(newer)), newer[0][1] if newer else None
