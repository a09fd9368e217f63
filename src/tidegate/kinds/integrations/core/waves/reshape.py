"""Another number of shards is another owner for nearly every key: two sets must never run at once.

Which workloads share keys follows from their variables: the key they are a shard of, and how
many they are. Where what runs is split otherwise than what is wanted, the old set is drained, and
only then the new one starts: a rollout of its own, of two groups. An integration that is safe to
run twice says so (`overlap`), and is left to be applied as it is.

What another manager runs is not ours to end, and owns keys all the same: until it is gone, the old
set is not drained and the new one does not start.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from tidegate.journal.fact import some_names
from tidegate.kinds.integrations.core.sharding.model import WorkloadShard
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, Pod
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kinds.rollouts.core.strategy import GroupRef, OnNewRevision, Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.limit import Limit
from tidegate.model.time import SECOND, Duration

DRAIN, START = "drain", "start"
# How long a set may take to end, and the other to begin.
DEADLINE = Duration(1800 * SECOND)
# What one is called that is not split.
WHOLE = "whole"

# What a workload is a shard of, and of how many; empty: of everything, and whole.
Share = tuple[str, str]


class Reshape(msgspec.Struct, frozen=True, kw_only=True):
    """One set of shards that is to become another."""

    place: ManagedPlace
    # What both sets are shards of; empty: of everything.
    key: str
    was: str
    now: str
    # The workloads that end first, and the units that start then.
    old: tuple[str, ...]
    units: tuple[Unit, ...]
    # The image both run: another one goes out afterwards, by its own rules.
    image: str
    # Workloads of another manager that are split otherwise, too: all of this waits for their end.
    theirs: tuple[str, ...] = ()

    @property
    def partition(self) -> str:
        """What its rollout is called; the next one of the same set goes on in the same journal."""
        return f"{self.place.partition}+{self.key or 'shards'}"

    @property
    def revision(self) -> str:
        """What goes out, and with which image."""
        return f"{self.now} shards/{self.image}"

    @property
    def words(self) -> str:
        """The text for those that wait for it."""
        return f"resharding {self.was} to {self.now}"


def image_in(revision: str) -> str:
    """The image of a reshape's revision."""
    return revision.partition("/")[2]


def share_of(shard: WorkloadShard) -> Share:
    """What a shard is to own a share of."""
    return shard.key, "" if shard.index is None else str(shard.count)


def share_of_workload(workload: LiveWorkload | Pod) -> Share:
    """The same of what runs."""
    return workload.env.get("SHARD_KEY", ""), workload.env.get("SHARDS", "")


class KeyOwner(msgspec.Struct, frozen=True, order=True):
    """An owner of a share: a workload, or a pod of one that may be gone already."""

    workload: str
    key: str
    count: str
    image: str
    is_ours: bool = True


def owners_of(
    workloads: Iterable[LiveWorkload], pods: Iterable[Pod], theirs: Collection[str] = ()
) -> Iterator[KeyOwner]:
    """Every owner; jobs and scheduled runs own nothing for long.

    `theirs`: workloads of another manager.
    """
    for workload in workloads:
        if workload.kind != "CronJob":
            name, share = workload.name, share_of_workload(workload)
            yield KeyOwner(name, *share, workload.image, name not in theirs)
    for pod in pods:
        if "RUN_ONCE" not in pod.env:
            name, share = pod.workload, share_of_workload(pod)
            yield KeyOwner(name, *share, pod.image, name not in theirs)


def reshapes_of(place: ManagedPlace, owners: Iterable[KeyOwner]) -> list[Reshape]:
    """The sets that are split otherwise than they are to be; owners of this place alone."""
    if place.managed.sharding.overlap:
        return []
    wanted = {share_of(shard) for shard in place.shards}
    keys = {key for key, _ in wanted}
    old = [
        each for each in owners if (each.key, each.count) not in wanted and clash(each.key, keys)
    ]
    whole = "" in keys or any(not each.key for each in old)
    domains = {""} if whole and old else {each.key for each in old}
    return [_reshape(place, domain, old) for domain in sorted(domains)]


def clash(key: str, keys: Iterable[str]) -> bool:
    """Whether the owner of one key may own what owners of others own: all keys, or the same."""
    return not key or any(key == each or not each for each in keys)


def _reshape(place: ManagedPlace, domain: str, old: list[KeyOwner]) -> Reshape:
    mine = [each for each in old if not domain or each.key == domain]
    keys = {each.key for each in mine}
    units = tuple(unit for unit in place.units if clash(unit.shards[0].key, keys))
    was = sorted({each.count or WHOLE for each in mine})
    now = sorted({share_of(shard)[1] or WHOLE for unit in units for shard in unit.shards})
    images = sorted(each.image for each in mine)
    return Reshape(
        place=place,
        key=domain,
        was=",".join(was),
        now=",".join(now),
        old=tuple(sorted({each.workload for each in mine if each.is_ours})),
        units=units,
        # Of several, the one most of them run.
        image=max(images, key=images.count),
        theirs=tuple(sorted({each.workload for each in mine if not each.is_ours})),
    )


def declared_of(reshape: Reshape) -> RolloutDeclared:
    """Its rollout: all of the old set end, then all of the new one start."""
    strategy = Strategy(
        StrategyType.PROGRESSIVE_PER_GROUP,
        deadline=DEADLINE,
        max_failures=Limit(0),
        mandatory=(GroupRef(DRAIN),),
        # Once another number is wanted, no rollout waits for this one.
        on_new_revision=OnNewRevision.SUPERSEDE,
    )
    drained = tuple(drain_target(name) for name in reshape.old)
    started = tuple(unit.name for unit in reshape.units)
    labels = reshape.units[0].labels if reshape.units else {}
    return RolloutDeclared(
        strategy=strategy,
        groups=(Membership(DRAIN, 0, drained), Membership(START, 1, started)),
        labels={**dict.fromkeys(drained, labels), **{u.name: u.labels for u in reshape.units}},
        revision=reshape.revision,
        origin=reshape.place.managed.sharding.where,
        busy=dict.fromkeys((*drained, *started), waits_for(reshape)) if reshape.theirs else {},
    )


def waits_for(reshape: Reshape) -> str:
    """What a reshape waits for that is not ours to end."""
    return f"the end of another manager's {some_names(reshape.theirs)}"


def drain_target(workload: str) -> str:
    """What the end of a workload is called."""
    return f"{DRAIN}/{workload}"


def drained_workload(target: str) -> str | None:
    """The workload whose end a target is; None: it is none's."""
    return target.removeprefix(f"{DRAIN}/") if target.startswith(f"{DRAIN}/") else None


def still_there(
    reshape: Reshape, workloads: Mapping[str, LiveWorkload], pods: Mapping[str, Iterable[Pod]]
) -> dict[str, str]:
    """What of the old set is not gone, and how far it is; by the name of the workload."""
    wanted = {share_of(shard) for unit in reshape.units for shard in unit.shards}
    found: dict[str, str] = {}
    for name in reshape.old:
        workload = workloads.get(name)
        if workload is not None and share_of_workload(workload) not in wanted:
            found[name] = "runs"
        elif any(share_of_workload(pod) not in wanted for pod in pods.get(name, ())):
            found[name] = "its pods are ending"
    return found
