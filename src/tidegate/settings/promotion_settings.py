"""The settings of promotions: where repositories are, and what the existing manager left."""

from tidegate.settings.setting_forms import Setting, SettingForm

PROMOTIONS = (
    Setting(
        name="source",
        flag="--source",
        form=SettingForm.TEXT,
        default="",
        help="Where the artifact's repository is, if not where it says: an address or a clone.",
    ),
    Setting(
        name="schemasSource",
        flag="--schemas-source",
        form=SettingForm.TEXT,
        default="",
        help="The same of the schemas' repository.",
    ),
    Setting(
        name="promotionState",
        flag="--promotion-state",
        form=SettingForm.PATH,
        default="",
        help="A copy of the existing deployer's state store: what publishers were deployed with.",
    ),
    Setting(
        name="promotionRequests",
        flag="--promotion-requests",
        form=SettingForm.CHOICE,
        choices=("leave", "adopt"),
        default="leave",
        help="Open merge requests of the existing promotions manager: leave them, or adopt them.",
    ),
)
