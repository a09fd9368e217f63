"""The reasons of upgrades: gate, outcome, sentence and what opens it."""

from tidegate.kinds.upgrades.core.reasons.label_reasons import LabelReason
from tidegate.kinds.upgrades.core.reasons.rules_reasons import LegacyReason
from tidegate.kinds.upgrades.core.reasons.sharing_reasons import SharingReason
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.model.reason import Reason

UPGRADE_REASONS: tuple[type[Reason], ...] = (
    UpgradeReason,
    VersionReason,
    SharingReason,
    LegacyReason,
    LabelReason,
)
