"""The settings of `check`: the runner, how many at once, how long, and where logs go."""

from tidegate.settings.setting_forms import Setting, SettingForm

CHECK = (
    Setting(
        name="check.runner",
        flag="--runner",
        form=SettingForm.CHOICE,
        choices=("auto", "command", "podman", "docker", "job"),
        default="auto",
        help="What runs integrations; auto: the command if one is set, podman, or docker.",
    ),
    Setting(
        name="check.command",
        flag="--command",
        form=SettingForm.TEXT,
        default="",
        help="Of the runner `command`: its words, with {integration}, {image}, {arguments}, ….",
    ),
    Setting(
        name="check.containerArguments",
        flag="--container-argument",
        form=SettingForm.TEXTS,
        default=(),
        help="For `podman run` and `docker run`, a word each: --volume=/etc/it:/config:ro.",
    ),
    Setting(
        name="check.parallel",
        flag="--parallel",
        form=SettingForm.WHOLE,
        default=4,
        least="1",
        help="How many runs are in progress at once.",
    ),
    Setting(
        name="check.timeLimit",
        flag="--time-limit",
        form=SettingForm.DURATION,
        default="10m",
        least="1ms",
        help="How long one run may take.",
    ),
    Setting(
        name="check.retries",
        flag="--retries",
        form=SettingForm.WHOLE,
        default=1,
        least="0",
        help="How often a run that failed is tried again; one that works then is a flake.",
    ),
    Setting(
        name="check.logs",
        flag="--logs",
        form=SettingForm.PATH,
        default="check-logs",
        help="The directory for logs: reconcile-INTEGRATION_IMAGE.txt.",
    ),
)
