"""The settings of upgrades: the organisations served, and an owner's own token and address."""

from tidegate.settings.setting_forms import Setting, SettingForm

UPGRADES = (
    Setting(
        name="upgrades",
        flag="--upgrades",
        form=SettingForm.PATH,
        default="",
        help="A file with the environments and organisations that are served.",
    ),
    Setting(
        name="ocm.every",
        flag="--look-every",
        form=SettingForm.DURATION,
        default="10m",
        least="1s",
        help="How often clusters are observed; gaps of over two hours do not count as soak.",
    ),
    Setting(
        name="ocm.url",
        flag="--ocm-url",
        form=SettingForm.TEXT,
        default="",
        help="Use this OpenShift Cluster Manager with your own token, without such a file.",
    ),
    Setting(
        name="ocm.tokenUrl",
        flag="--token-url",
        form=SettingForm.TEXT,
        default="",
        help="The address that exchanges that token for others; without it, it is sent as it is.",
    ),
    Setting(
        name="ocm.token",
        flag="--token",
        form=SettingForm.BEARER,
        default="",
        help="That token; else OCM_TOKEN.",
    ),
)
