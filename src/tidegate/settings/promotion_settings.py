"""The settings of promotions: where repositories are, and what the existing manager left."""

from tidegate.settings.setting_forms import Setting, SettingForm

PROMOTIONS = (
    Setting(
        name="source",
        flag="--source",
        form=SettingForm.TEXT,
        default="",
        help="The repository of the artifact, an address or a clone, instead of the declared one.",
    ),
    Setting(
        name="schemasSource",
        flag="--schemas-source",
        form=SettingForm.TEXT,
        default="",
        help="The repository of the schemas, an address or a clone, instead of the declared one.",
    ),
    Setting(
        name="promotionState",
        flag="--promotion-state",
        form=SettingForm.PATH,
        default="",
        help="The state store of qontract-reconcile's deployer, copied: what publishers run.",
    ),
    Setting(
        name="promotionRequests",
        flag="--promotion-requests",
        form=SettingForm.CHOICE,
        choices=("leave", "adopt"),
        default="leave",
        help="Merge requests of qontract-reconcile's manager: leave them, or adopt them.",
    ),
)
