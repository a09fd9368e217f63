"""The settings of upgrades: who is served, and whom somebody asks with a token of his own."""

from tidegate.settings.setting_forms import Form, Setting

UPGRADES = (
    Setting(
        name="upgrades",
        flag="--upgrades",
        form=Form.PATH,
        default="",
        help="A file with the environments and organisations that are served.",
    ),
    Setting(
        name="ocm.every",
        flag="--look-every",
        form=Form.DURATION,
        default="10m",
        least="1s",
        help="How often clusters are observed; gaps of over two hours do not count as soak.",
    ),
    Setting(
        name="ocm.url",
        flag="--ocm-url",
        form=Form.TEXT,
        default="",
        help="Use this OpenShift Cluster Manager with your own token, without such a file.",
    ),
    Setting(
        name="ocm.tokenUrl",
        flag="--token-url",
        form=Form.TEXT,
        default="",
        help="Where that token is exchanged for others; without it, it is used as it is.",
    ),
    Setting(
        name="ocm.token",
        flag="--token",
        form=Form.BEARER,
        default="",
        help="That token; else OCM_TOKEN.",
    ),
)
