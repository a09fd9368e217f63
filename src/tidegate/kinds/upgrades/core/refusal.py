"""What OpenShift Cluster Manager refused is not asked again at once: the pause doubles each time.

    refused once        10 minutes
    twice, three times  20, 40
    seven times, more   6 hours

Only that very step is paused: a version, a node pool, a channel, an agreement. Whatever else may be
done for the cluster is done.
"""

import msgspec

from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.model.time import SECOND, Duration, Instant

PAUSE = Duration(10 * 60 * SECOND)
PAUSE_MAX = Duration(6 * 60 * 60 * SECOND)
# Six hours are reached long before; the bound keeps the power small.
_DOUBLINGS_MAX = 16


class OcmRefusal(msgspec.Struct, frozen=True):
    """Something that was asked for and refused."""

    at: Instant
    # How often in a row.
    tries: int
    # In its own words.
    detail: str

    @property
    def until(self) -> Instant:
        """When it is asked for again."""
        doublings = min(max(self.tries - 1, 0), _DOUBLINGS_MAX)
        return Instant(self.at + min(PAUSE << doublings, PAUSE_MAX))


def what_of(step: UpgradeStep) -> str:
    """What a step asks for, as it is remembered by: upgrade/4.21.3, pool/workers/4.21.3."""
    parts = (step.doing.value, step.addon, step.pool, step.revision or "", step.ident)
    return "/".join(each for each in parts if each)
