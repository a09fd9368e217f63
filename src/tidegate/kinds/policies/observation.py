"""What a reading of one policy, or of one set, holds beside what every rollout reports."""

from collections.abc import Iterable, Sequence

from tidegate.kinds.policies.core.requests import requests_of
from tidegate.kinds.policies.hub.set_view import SetView
from tidegate.kinds.policies.hub.view import PolicyView
from tidegate.kinds.policies.hub.wave_view import WaveView
from tidegate.kinds.policies.wire.rollout_doc import GroupKeeping
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.model.target import Target


class PolicyObservation(Observation, frozen=True):
    """A reading of one policy."""

    # Clusters that are there and whose agents are not heard: they have not left.
    offline: frozenset[str] = frozenset()
    # All clusters that are registered.
    registered: frozenset[str] = frozenset()
    # Whether clusters keep their group.
    stable: bool = True
    # Whether its clusters are given revisions by pointers.
    staged: bool = False
    # Whether a pointer that another moved is left where it is.
    leaves_drift: bool = False
    # Whether its author writes several policies, one after the other.
    several: bool = False


def observation_of(
    view: PolicyView | SetView | WaveView,
    named: Sequence[str],
    groups: tuple[Membership, ...],
    revision: str,
    reports: Iterable[Target],
    *,
    staged: bool = False,
    leaves_drift: bool = False,
    author: str = "",
    several: bool = False,
) -> PolicyObservation:
    """What is declared of a policy or a set, and what every named cluster reports of it."""
    rollout = view.rollout
    declared = RolloutDeclared(
        strategy=rollout.strategy,
        groups=groups,
        labels={name: view.clusters[name].labels for name in named if name in view.clusters},
        revision=revision,
        last_good=view.last_good,
        origin=rollout.origin,
        author=author,
        requests=requests_of(
            rollout.approved,
            rollout.ungrouped,
            rollout.approvals_for,
            view.version,
            revision,
            paused=rollout.paused,
            retry=rollout.retry_uid,
            failed_only=rollout.retry_failed_only,
            retry_group=rollout.retry_group,
        ),
    )
    return PolicyObservation(
        declared,
        tuple(reports),
        complete=view.reading.complete,
        dated=False,
        offline=view.offline,
        registered=frozenset(view.clusters),
        stable=rollout.membership is GroupKeeping.STABLE,
        staged=staged,
        leaves_drift=leaves_drift,
        several=several,
    )
