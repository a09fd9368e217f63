"""Policies as a worker runs them: rollouts, with what earlier readings make of a new one."""

from collections.abc import Sequence

from msgspec.structs import replace

from tidegate.journal.fact import Fact
from tidegate.kinds.policies.core.memory import grouped, weighed
from tidegate.kinds.policies.core.requests import new_requests
from tidegate.kinds.policies.fleet import PolicyObservation
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.kind import RolloutKind
from tidegate.model.time import Instant


class PolicyKind(RolloutKind):
    """The policies of one hub."""

    def news(
        self, state: RolloutState, seen: Observation, now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """What differs from what is known, and what its document asks for anew."""
        assert isinstance(seen, PolicyObservation)
        known, declared = state.declared, seen.declared
        groups = grouped(
            known.groups if known is not None else (),
            declared.groups,
            complete=seen.complete,
            offline=seen.offline,
            stable=seen.stable,
        )
        reports = weighed(state.reports, seen.reports, declared.strategy, now)
        weighed_seen = replace(seen, declared=replace(declared, groups=groups), reports=reports)
        asked = new_requests(
            known.requests if known is not None else None,
            declared.requests,
            state.rollout,
            declared.revision or "",
            declared.origin,
        )
        # Asked last: what a request is about has to be declared by then.
        return [*super().news(state, weighed_seen, now), *((now, fact) for fact in asked)]
