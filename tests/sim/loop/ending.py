"""The end of a story: the journal holds, replays and agrees with the fleet; nothing is stuck."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.sim.drawing import describe
from tests.sim.story.ending import check_journal
from tests.sim.truth import check_end
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.journal.replay import replay
from tidegate.kinds.rollouts.core.journal.state import world_of
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.model.target import State, Status
from tidegate.model.time import Instant

if TYPE_CHECKING:
    from tests.sim.loop.scene import RolloutScene


@dataclass
class _Cluster:
    """A simulated cluster as the other simulation's truth knows one."""

    name: str
    runs: str | None
    status: Status
    ends_at: Instant | None
    undated: bool = False

    @property
    def is_busy(self) -> bool:
        return self.status is Status.Progressing


@dataclass
class _Fleet:
    clusters: dict[str, _Cluster]


def check_partition(scene: "RolloutScene", partition: str) -> None:
    """Everything that must be true of one rollout when nothing more happens."""
    witness = scene.witness
    entries, state = check_journal(scene, partition, RolloutRules())
    differs = [one for one in replay(entries) if one.difference is not None]
    assert not differs, f"{partition}: replayed otherwise: {differs[:1]}"
    world = world_of(state, state.brakes)
    assert world is not None, f"{partition}: nothing was ever declared"
    now = scene.loop.now()
    plan = decide(world, now)
    if not witness.partitions[partition].acts:
        told = [task for _, name, task in witness.carried if name == partition]
        assert not told, f"{partition}: only observed, and told {told}"
        return
    assert not state.pending, f"{partition}: nobody carries out {sorted(state.pending)}"
    _check_truth(scene, partition, world, plan, now)
    clusters = scene.fleet.fleets[partition].clusters
    mirror = _Fleet(
        {
            one.name: _Cluster(one.name, one.revision, one.status, one.ends_at)
            for one in clusters.values()
        }
    )
    try:
        check_end(mirror, world, now, plan, state.rollout)  # type: ignore[arg-type]
    except AssertionError as error:
        raise AssertionError(f"{partition}: {error}") from error


def _check_truth(
    scene: "RolloutScene", partition: str, world: RolloutWorld, plan: RolloutPlan, now: Instant
) -> None:
    """What the journal believes of every cluster is what the cluster is."""
    clusters = scene.fleet.fleets[partition].clusters
    drawing = describe(world, now, plan)
    for target, state in zip(world.targets, plan.states, strict=True):
        one = clusters.get(target.name)
        assert one is not None, f"{partition}: {target.name} is not there any more\n{drawing}"
        if state is State.DONE:
            there = (one.revision, one.status) == (plan.course.revision, Status.Succeeded)
            what = f"{partition}: {target.name} is done, and truly {one.status.name} {one.revision}"
            assert there, f"{what}\n{drawing}"
