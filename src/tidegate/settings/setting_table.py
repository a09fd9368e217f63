"""Every setting there is: its name, its form, its default and what it is for.

One table makes the flags, the variables, the reader of files, `config view` and the reference page,
so that none of them can know a setting the others do not.
"""

from tidegate.explain.notice import NoticeKind
from tidegate.settings.check_settings import CHECK
from tidegate.settings.promotion_settings import PROMOTIONS
from tidegate.settings.service_settings import SERVICE
from tidegate.settings.setting_forms import Setting, SettingForm
from tidegate.settings.upgrade_settings import UPGRADES

_ALL = (
    Setting(
        name="database",
        flag="--database",
        form=SettingForm.PATH,
        default="tidegate.db",
        help="A file for SQLite, or postgresql://…",
    ),
    Setting(
        name="kinds",
        flag="--kind",
        form=SettingForm.TEXTS,
        default=("*",),
        help="Which kinds of change to run: a name or a pattern.",
    ),
    Setting(
        name="act",
        flag="--act",
        form=SettingForm.TEXTS,
        default=(),
        help="Rollouts to act on, by kind and name: 'simulated/*'. All others are observed.",
    ),
    Setting(
        name="scenarios",
        flag="--scenario",
        form=SettingForm.PATHS,
        default=(),
        help="Simulated fleets, a file each.",
    ),
    Setting(
        name="fleet",
        flag="--fleet",
        form=SettingForm.TEXT,
        default="scenarios",
        help="Which fleet: a bundle, scenarios, or where `tidegate fleet` serves one: http://….",
    ),
    Setting(
        name="brakes",
        flag="--brakes",
        form=SettingForm.PATHS,
        default=(),
        help="Files of brakes in the bundle; one that cannot be read holds everything.",
    ),
    Setting(
        name="holdFiles",
        flag="--hold-file",
        form=SettingForm.PATHS,
        default=(),
        help="Files that hold while they exist; an empty one holds everything.",
    ),
    Setting(
        name="prometheus",
        flag="--prometheus",
        form=SettingForm.PATHS,
        default=(),
        help="Files of Prometheus servers that health gates may ask: servers: [{name, url}].",
    ),
    Setting(
        name="registry",
        flag="--registry",
        form=SettingForm.TEXTS,
        default=(),
        help="Registries to ask for the digests of tags: quay.io, or http://host:5000.",
    ),
    Setting(
        name="registryAuth",
        flag="--registry-auth",
        form=SettingForm.PATH,
        default="",
        help="A docker config file with logins for them; without it, this user's own.",
    ),
    Setting(
        name="color",
        flag="--color",
        form=SettingForm.CHOICE,
        choices=("auto", "always", "never"),
        default="auto",
        help="Colour in tables and on terminals; auto respects NO_COLOR.",
    ),
    Setting(
        name="log.format",
        flag="--log-format",
        form=SettingForm.CHOICE,
        choices=("auto", "json", "human"),
        default="auto",
        help="Of `serve`: auto is human on a terminal and JSON lines elsewhere; of `apply`, human.",
    ),
    Setting(
        name="log.level",
        flag="--log-level",
        form=SettingForm.CHOICE,
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="The lowest level that `serve` and `apply` log.",
    ),
    Setting(
        name="limits.actions",
        flag="--actions",
        form=SettingForm.WHOLE,
        default=10,
        least="1",
        help="How many actions are in progress at once.",
    ),
    Setting(
        name="limits.actionsPerSecond",
        flag="--actions-per-second",
        form=SettingForm.WHOLE,
        default=50,
        least="1",
        help="How many actions begin in a second.",
    ),
    Setting(
        name="limits.actionTime",
        flag="--action-time",
        form=SettingForm.DURATION,
        default="10s",
        least="1ms",
        help="How long one action may take.",
    ),
    Setting(
        name="limits.rounds",
        flag="--rounds",
        form=SettingForm.WHOLE,
        default=8,
        least="1",
        help="How many rounds are in progress at once.",
    ),
    Setting(
        name="limits.roundTime",
        flag="--round-time",
        form=SettingForm.DURATION,
        default="1m",
        least="1ms",
        help="How long one round may take.",
    ),
    Setting(
        name="lease",
        flag="--lease",
        form=SettingForm.DURATION,
        default="5s",
        least="1s",
        help="How long a rollout stays with a worker that has stopped renewing.",
    ),
    Setting(
        name="resync",
        flag="--resync",
        form=SettingForm.DURATION,
        default="30s",
        least="100ms",
        help="How long a rollout without changes waits for its next round.",
    ),
    Setting(
        name="discover",
        flag="--discover",
        form=SettingForm.DURATION,
        default="5s",
        least="100ms",
        help="How often to look for new rollouts.",
    ),
    Setting(
        name="grace",
        flag="--grace",
        form=SettingForm.DURATION,
        default="20s",
        least="0s",
        help="How long rounds in progress may take to end after SIGTERM.",
    ),
)

_NOTIFY = (
    Setting(
        name="notify.webhook",
        flag="--notify-webhook",
        form=SettingForm.SECRET,
        default="",
        help="The webhook for notices, as of Slack; `env:NAME` and `file:PATH` keep it secret.",
    ),
    Setting(
        name="notify.on",
        flag="--notify-on",
        form=SettingForm.TEXTS,
        choices=tuple(each.value for each in NoticeKind),
        default=tuple(each.value for each in NoticeKind),
        help="The events to send notices of.",
    ),
    Setting(
        name="notify.template",
        flag="--notify-template",
        form=SettingForm.TEMPLATE,
        default="${rollout} ${revision} ${what}: ${why}",
        help="The text of a notice.",
    ),
    Setting(
        name="notify.time",
        flag="--notify-time",
        form=SettingForm.DURATION,
        default="10s",
        least="1ms",
        help="How long one attempt to send a notice may take.",
    ),
    Setting(
        name="notify.queue",
        flag="--notify-queue",
        form=SettingForm.WHOLE,
        default=100,
        least="1",
        help="How many notices may wait; beyond that, the oldest is dropped.",
    ),
)

_INTEGRATIONS = (
    Setting(
        name="bundle",
        flag="--bundle",
        form=SettingForm.PATH,
        default=".",
        help="The directory of the bundle, if no DIR is given.",
    ),
    Setting(
        name="revision",
        flag="--revision",
        form=SettingForm.TEXT,
        default="",
        help="Read this revision of the Git repository of the bundle, without a checkout.",
    ),
    Setting(
        name="kubeconfig",
        flag="--kubeconfig",
        form=SettingForm.TEXT,
        default="",
        help="The kubeconfig, instead of KUBECONFIG; several files, as there.",
    ),
    Setting(
        name="hub",
        flag="--hub",
        form=SettingForm.TEXT,
        default="",
        help="The kubeconfig of a hub of Open Cluster Management: roll its policies out.",
    ),
    Setting(
        name="policies",
        flag="--policies",
        form=SettingForm.PATH,
        default="",
        help="A directory with Rollouts and the authors' Policies, beside those on the hub.",
    ),
    Setting(
        name="contexts",
        flag="--context-of",
        form=SettingForm.TEXTS,
        default=(),
        help="CLUSTER=CONTEXT, if the context is not called like the cluster.",
    ),
    Setting(
        name="image",
        flag="--image",
        form=SettingForm.TEXT,
        default="",
        help="The repository of the image, instead of quay.io/app-sre/qontract-reconcile.",
    ),
    Setting(
        name="parameters",
        flag="--parameter",
        form=SettingForm.TEXTS,
        default=(),
        help="NAME=VALUE: overrides a parameter of the environments.",
    ),
    Setting(
        name="overlay",
        flag="--overlay",
        form=SettingForm.PATH,
        default="",
        help="A patch of your site that is applied to every workload.",
    ),
    Setting(
        name="pods",
        flag="--pods",
        form=SettingForm.CHOICE,
        choices=("proxy", "direct"),
        default="proxy",
        help="How to reach pods: through the API server, or at their addresses, from inside.",
    ),
    Setting(
        name="runs.through",
        flag="--runs",
        form=SettingForm.CHOICE,
        choices=("pods", "prometheus"),
        default="pods",
        help="The source of the results of runs.",
    ),
    Setting(
        name="runs.port",
        flag="--runs-port",
        form=SettingForm.WHOLE,
        default=9090,
        least="1",
        help="The port of the pods' metrics.",
    ),
    Setting(
        name="runs.prometheus",
        flag="--runs-prometheus",
        form=SettingForm.TEXT,
        default="",
        help="Which Prometheus of --prometheus has them, where there are several.",
    ),
    Setting(
        name="runs.clusterLabel",
        flag="--runs-cluster-label",
        form=SettingForm.TEXT,
        default="",
        help="The label by which that Prometheus distinguishes clusters.",
    ),
    Setting(
        name="limits.concurrency",
        flag="--concurrency",
        form=SettingForm.WHOLE,
        default=10,
        least="1",
        help="How many objects are changed at once on one cluster.",
    ),
    Setting(
        name="limits.removals",
        flag="--removals",
        form=SettingForm.LIMIT,
        default="10%",
        help="How many of the objects that Tidegate manages may be removed at once.",
    ),
)

_FORGE = (
    Setting(
        name="forge",
        flag="--forge",
        form=SettingForm.CHOICE,
        choices=("auto", "gitlab", "github", "gitea", "local"),
        default="auto",
        help="The forge of merge requests; auto: by the address of the remote.",
    ),
    Setting(
        name="forgeUrl",
        flag="--forge-url",
        form=SettingForm.TEXT,
        default="",
        help="The address of the forge, where it is not at the host of the remote.",
    ),
    Setting(
        name="forgeToken",
        flag="--forge-token",
        form=SettingForm.TOKEN,
        default="",
        help="Where its token is, env:NAME or file:PATH; else GITLAB_TOKEN, GITHUB_TOKEN, GH_TOKEN "
        "or GITEA_TOKEN.",
    ),
)

TABLE: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        *_ALL,
        *SERVICE,
        *_NOTIFY,
        *_INTEGRATIONS,
        *_FORGE,
        *PROMOTIONS,
        *CHECK,
        *UPGRADES,
    )
}
