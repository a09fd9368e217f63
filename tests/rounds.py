"""Rounds of upgrades in a simulated OpenShift Cluster Manager, in virtual time: look, decide, act.

As little of an engine as there can be, so that what is foreseen can be held against what happens.
"""

import asyncio
from typing import Any

import msgspec

from tidegate.kinds.upgrades.app.read.survey import survey
from tidegate.kinds.upgrades.app.read.worlds import world_of
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation, UpgradeWorld
from tidegate.kinds.upgrades.ocm.port import ManagedClusters, Upgradable
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.model.time import Duration, Instant, format_second

Reached = dict[tuple[str, str, str], Instant]
"""When somebody saw a cluster, or a node pool of it, on a version."""


class Hands:
    """A clock that is set by hand."""

    def __init__(self, at: Instant) -> None:
        self.at = at

    def now(self) -> Instant:
        """What it shows."""
        return self.at


class Lived:
    """A simulated environment that goes through rounds."""

    def __init__(self, document: dict[str, Any], **of_the_world: Any) -> None:
        read = read_world(document)
        self.clock = Hands(read.now)
        self.manager = SimulatedClusters(found(read), self.clock)
        self.orgs = [Organisation(each.id, each.name, each.env) for each in read.orgs]
        self.ledgers: dict[str, SoakLedger] = {}
        self._more = of_the_world

    def look(self) -> UpgradeWorld:
        """What is read of it now."""
        read = asyncio.run(survey(self.manager))
        world = world_of(read, self.orgs, self.clock.now())
        return msgspec.structs.replace(world, ledgers=self.ledgers, **self._more)

    def live(self, rounds: int, every: Duration) -> Reached:
        """Simulate so many rounds; when each version was first seen where."""
        reached: Reached = {}
        before: dict[tuple[str, str], str] = {}
        for _ in range(rounds):
            world = self.look()
            now = self.clock.now()
            for cluster in world.clusters:
                for pool, version in (("", cluster.version), *_pools(cluster)):
                    if before.get((cluster.name, pool), version) != version:
                        reached[cluster.name, pool, version] = now
                    before[cluster.name, pool] = version
            self.act(world, now)
            self.clock.at = Instant(now + every)
        return reached

    def act(self, world: UpgradeWorld, now: Instant) -> None:
        """Agree to gates, then do what is decided."""
        if world.gates:
            self._do(decide(msgspec.structs.replace(world, approver=True), now), world)
            world = self.look()
        plan = decide(world, now)
        self.ledgers = self.ledgers | plan.ledgers
        self._do(plan, world)

    def _do(self, plan: UpgradePlan, world: UpgradeWorld) -> None:
        by_uuid = {each.uuid: each for each in world.clusters}
        for action in plan.actions:
            if isinstance(action.change, UpgradeStep):
                asyncio.run(ask(self.manager, by_uuid[action.target], action.change))


def _pools(cluster: ManagedCluster) -> list[tuple[str, str]]:
    return [(pool.id, pool.version) for pool in cluster.node_pools]


async def ask(manager: ManagedClusters, cluster: ManagedCluster, step: UpgradeStep) -> None:
    """One step, asked of OpenShift Cluster Manager."""
    version = step.revision or ""
    of = Upgradable(cluster.ident, cluster.is_hosted and not step.pool, step.pool)
    if step.doing is StepKind.CHANNEL:
        await manager.switch_channel(cluster.ident, version)
    elif step.doing is StepKind.AGREE:
        await manager.agree(cluster.ident, step.ident)
    elif step.doing is StepKind.CANCEL:
        await manager.delete_policy(of, step.ident)
    else:
        assert step.starts_at is not None
        await manager.create_policy(of, version, format_second(step.starts_at))
