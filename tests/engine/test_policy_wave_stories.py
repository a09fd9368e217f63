"""Whole histories of waves from a seed: whatever happens, no cluster is harmed or believed.

A witness looks at the hub and at the clusters only, after every step:

- an object is deleted only on a cluster that left, or that the hub itself took the policy from;
- a cluster is enforced only where our decisions say so, unless a person deleted our Placement;
- what counts as a success is a policy that the cluster's agent evaluated as enforced;
- what counts as taken back is one that it evaluated as informing.

In the end everything is well again, and every cluster is enforced.
"""

import asyncio
import random

import pytest

from tests.engine.test_policy_stories import History
from tests.hub_stage import NAME, Propagation
from tests.sim import sized
from tests.wave_stage import OWN, WaveStage
from tidegate.kinds.policies.wire.hub_doc import is_enforced
from tidegate.kubernetes.port import PLACEMENT, PLACEMENT_BINDING
from tidegate.model.target import Status

STEPS = 20
# Of 5,810 branches that the first 16 histories reach, these miss none.
CHOSEN = (8, 6, 3, 0, 14)
# Fresh ones beside them.
SEEDS = sized(0, 0, 300)


class WaveHistory(History):
    """One policy that informs, and what happens to it."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.waves = WaveStage()
        self.stage = self.waves
        self.worker = self.stage.start()
        self.labels = {name: {"env": name.split("-")[0]} for name in self.stage.hub.agents}
        self.bad = set()
        self.left = set()
        self.plain = set()
        self.values = 1
        self.told = []
        # Our Placement was deleted: clusters may stay enforced by nothing.
        self.stuck = False

    async def run(self) -> None:
        """Steps at random, and then an end in which nothing is wrong any more."""
        acts = (
            self.revise, self.revise_badly, self.join, self.leave, self.lose, self.regain,
            self.silence, self.restart, self.unbind, self.displace, self.wait, self.wait,
        )  # fmt: skip
        propagate = Propagation(self.stage)

        def call(_: str) -> None:
            propagate()

        self.stage.hub.api.fault = call
        for _ in range(STEPS):
            act = self.draw.choice(acts)
            self.told.append(act.__name__)
            act()
            await self.worker.live(60.0 * self.draw.choice((1, 3, 10, 30)))
            self.witness()
        self.regain()
        self.revise()
        await self.worker.live(6 * 3600.0)
        self.witness()
        wanted = {name for name in self.labels if name not in self.left}
        assert self.waves.enforced() == wanted, self.told
        assert self.worker.summary() == "Succeeded", self.told

    def lose(self) -> None:
        """The author's placement takes the policy from a cluster with a taint, and we do not."""
        before = self.is_staged
        super().lose()
        assert not before()

    def unbind(self) -> None:
        if (PLACEMENT_BINDING, "policies", OWN) in self.stage.hub.api.records:
            self.stage.hub.drop(PLACEMENT_BINDING, "policies", OWN)

    def displace(self) -> None:
        if (PLACEMENT, "policies", OWN) in self.stage.hub.api.records:
            self.stage.hub.drop(PLACEMENT, "policies", OWN)
            self.stuck = True

    def witness(self) -> None:
        hub = self.stage.hub
        for name, agent in hub.agents.items():
            assert not agent.deleted or name in self.left | self.plain, (name, self.told)
        if not self.stuck:
            assert self.waves.enforced() <= self.waves.decided(), self.told
        for report in self.worker.part.state.reports.values():
            agent = hub.agents[report.name]
            if report.status is not Status.Succeeded or report.name in self.left | self.plain:
                continue
            was_enforced = is_enforced(agent.evaluated(NAME))
            assert was_enforced == (report.revision or "").startswith("enforce"), (
                report,
                self.told,
            )


@pytest.mark.parametrize("seed", sorted({*CHOSEN, *range(SEEDS)}))
def test_no_history_of_waves_harms_a_cluster(seed: int) -> None:
    """The seed repeats it."""
    asyncio.run(WaveHistory(seed).run())
