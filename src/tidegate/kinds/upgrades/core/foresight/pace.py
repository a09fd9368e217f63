"""How long upgrades are expected to take, how often clusters are surveyed, and the horizon."""

import msgspec

from tidegate.model.time import SECOND, Duration

_MINUTE = 60 * SECOND
_DAY = 24 * 60 * _MINUTE


class UpgradePace(msgspec.Struct, frozen=True, kw_only=True):
    """How long upgrades are assumed to take."""

    # A cluster whose control plane is its own.
    classic: Duration = Duration(60 * _MINUTE)
    # A hosted control plane, and each of its node pools after it.
    control_plane: Duration = Duration(30 * _MINUTE)
    pool: Duration = Duration(20 * _MINUTE)
    # An add-on.
    addon: Duration = Duration(10 * _MINUTE)
    # Between two looks. More than two hours would be no look at all: nothing would soak.
    round: Duration = Duration(10 * _MINUTE)
    # Dates further off say nothing: by then there are other versions.
    horizon: Duration = Duration(90 * _DAY)
