"""Policies as a worker runs them: rollouts, with what earlier readings make of a new one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tidegate.journal.fact import Fact, Mode
from tidegate.kinds.policies.core.memory import grouped, lingering, named, weighed
from tidegate.kinds.policies.core.requests import new_requests
from tidegate.kinds.policies.fleet import PolicyFleet
from tidegate.kinds.policies.observation import PolicyObservation
from tidegate.kinds.policies.wire.status_doc import status_of
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.target import UNGROUPED
from tidegate.model.time import Instant

if TYPE_CHECKING:
    from tidegate.engine.round import Round


class PolicyKind(RolloutKind):
    """The policies of one hub."""

    def __init__(self, fleet: PolicyFleet) -> None:
        super().__init__(fleet)
        self._policies = fleet
        # What was decided last of each policy, until its object says so.
        self._untold: dict[str, tuple[RolloutWorld, RolloutPlan]] = {}
        # Since when members of each policy are in no decision. Another worker begins anew, which
        # keeps them for longer.
        self._missed: defaultdict[str, dict[str, Instant]] = defaultdict(dict)

    def news(
        self, state: RolloutState, seen: Observation, now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """What differs from what is known, and what its document asks for anew."""
        assert isinstance(seen, PolicyObservation)
        known, declared = state.declared, seen.declared
        before = known.groups if known is not None else ()
        kept = seen.offline
        if seen.complete:
            kept = lingering(
                self._missed[declared.origin],
                before,
                declared.groups,
                offline=seen.offline,
                registered=seen.registered,
                now=now,
            )
        groups = grouped(
            before, declared.groups, complete=seen.complete, offline=kept, stable=seen.stable
        )
        reports = weighed(state.reports, seen.reports, declared.strategy, now)
        weighed_seen = replace(seen, declared=replace(declared, groups=groups), reports=reports)
        asked = new_requests(
            known.requests if known is not None else None,
            declared.requests,
            state.rollout,
            declared.revision or "",
            declared.origin,
            [each.name or UNGROUPED for each in groups],
        )
        # Asked last: what a request is about has to be declared by then.
        return [*super().news(state, weighed_seen, now), *((now, fact) for fact in asked)]

    async def after_round(self, round_: "Round") -> Mapping[str, str]:
        """Have the Rollout object say what was decided, where this worker acts."""
        partition = round_.part.partition
        if round_.acting is not Mode.ACT:
            return {}
        return {**await self._tidied(round_), **await self._told(round_, partition)}

    async def _tidied(self, round_: "Round") -> dict[str, str]:
        """Remove revisions that nothing names any more; what could not be is told."""
        try:
            await self._policies.tidy(round_.part.partition, named(round_.part.state))
        except (OutsideError, StaleError) as error:
            return {"revisions that are not in use": str(error)}
        return {}

    async def _told(self, round_: "Round", partition: str) -> dict[str, str]:
        if round_.made is not None:
            self._untold[partition] = (round_.made.world, round_.made.plan)
        document = self._policies.rollout_object(partition)
        if partition not in self._untold or document is None:
            return {}
        world, plan = self._untold[partition]
        status = status_of(world, plan, round_.part.state.rollout, document, round_.clock.now())
        try:
            await self._policies.write_status(document, status)
        except (OutsideError, StaleError) as error:
            return {"status of the Rollout": str(error)}
        del self._untold[partition]
        return {}

    def on_lease_lost(self, partition: str) -> None:
        """Another worker writes it."""
        self._untold.pop(partition, None)
