"""Every metric of upgrades: the first design's two, the predecessor's, and ours beside them.

The names and labels of the first two kinds are those that dashboards know, to the letter.
"""

from tidegate.telemetry.metric_table import Known

_ORG = ("ocm_env", "org_id")
_THEIRS = ("integration", "ocm_env")
_POLICY = (
    *("channel", "current_version", "cluster_name", "schedule", "sector", "mutexes", "soak_days"),
    *("workloads", "product", "hypershift"),
)

_CLUSTER = (*_ORG, "org_name", "cluster_id", "cluster_name")
_WRITTEN = ("schedule", "sector", "mutexes", "soak_days", "workloads")

# Of the last round of every organisation led here.
ROUND_GAUGES = (
    Known(
        "aus_cluster_info",
        "Clusters that are upgraded by their labels; always 1.",
        (
            *("cluster_id", "cluster_name", "org_id", "version", "channel", "schedule", "sector"),
            *("mutexes", "soak_days", "workloads"),
        ),
    ),
    Known(
        "aus_remaining_soak_days",
        "Cluster-days a version still has to run before a cluster may go to it: true numbers.",
        ("cluster_id", "version"),
    ),
    Known(
        "aus_cluster_upgrade_policy_info",
        "AUS's aus_cluster_info; always 1.",
        (*_THEIRS, "cluster_uuid", "org_id", "org_name", *_POLICY),
    ),
    Known(
        "aus_cluster_version_remaining_soak_days",
        "AUS's number: rounded, nothing behind what is ready;"
        " -1 scheduled, -2 started, -3 for six hours or more, -4 blocked.",
        (*_THEIRS, "cluster_uuid", "soaking_version"),
    ),
    Known(
        "aus_addon_upgrade_policy_info",
        "The same of an add-on, where add-ons are upgraded too; always 1.",
        (*_THEIRS, "cluster_uuid", "org_id", "org_name", *_POLICY, "addon"),
    ),
    Known(
        "aus_addon_version_remaining_soak_days",
        "The same of an add-on.",
        (*_THEIRS, "cluster_uuid", "soaking_version", "addon"),
    ),
    Known(
        "aus_cluster_health_state",
        "1 if a cluster is well, 0 if a critical alert is firing.",
        (*_THEIRS, "cluster_uuid", "health_source"),
    ),
    Known(
        "aus_cluster_missing_version_gate_agreements",
        "Version gates of a minor without an agreement, by the cluster's external id.",
        (*_THEIRS, "org_id", "cluster_uuid", "version_prefix"),
    ),
    Known(
        "aus_cluster_channel_switch",
        "1 if the last round put a cluster on another channel.",
        (*_THEIRS, "org_id", "cluster_uuid", "from_channel", "to_channel"),
    ),
    Known(
        "aus_organization_version_data",
        "Cluster-days a workload has run on a version here, without what is inherited.",
        (*_THEIRS, "org_id", "version", "workload"),
    ),
    Known(
        "aus_organization_validation_errors",
        "Clusters with labels that cannot be read, and mistakes in those of the organisation.",
        (*_THEIRS, "org_id"),
    ),
    Known(
        "tidegate_upgrade_cluster_info",
        "Clusters with labels, excluded ones too, with their labels as written; always 1.",
        (*_CLUSTER, "version", "channel", "timezone", *_WRITTEN),
    ),
    Known(
        "tidegate_upgrade_problem",
        "Labels at fault, of clusters and, without a cluster, of organisations; why else clusters"
        " are excluded; always 1.",
        (*_CLUSTER, "label", "message"),
    ),
    Known(
        "tidegate_upgrade_soaked_timestamp_seconds",
        "When a version will have soaked enough for a cluster, if those that run it keep it.",
        ("cluster_id", "version"),
    ),
    Known(
        "tidegate_upgrade_clusters",
        "Clusters by where they stand: current, waiting, starting, under_way, failed, set_aside.",
        (*_ORG, "phase"),
    ),
    Known(
        "tidegate_upgrade_waits",
        "Clusters that wait, by the gate and the reason that hold them, and whose fault it is.",
        (*_ORG, "gate", "reason", "fault"),
    ),
    Known(
        "tidegate_upgrade_oldest_wait_timestamp_seconds",
        "Since when the first of them waits for that, as far as this process has seen it.",
        (*_ORG, "gate", "reason", "fault"),
    ),
    Known(
        "tidegate_upgrade_cluster_wait",
        "What each cluster waits for, and the version nearest to a start; always 1.",
        ("cluster_id", "version", "gate", "reason"),
    ),
    Known(
        "tidegate_upgrade_start_timestamp_seconds",
        "When upgrades that are to start, are under way or failed start or started; 0: not said.",
        ("cluster_id", "version", "node_pool", "addon", "policy_state"),
    ),
)

# Read off whatever runs, at the moment of a scrape.
GAUGES = (
    Known(
        "tidegate_upgrade_environment_info",
        "Environments of OpenShift Cluster Manager that are served, with the severity of alerts"
        " about them; always 1.",
        ("ocm_env", "severity"),
    ),
    Known(
        "tidegate_upgrade_organization_info",
        "Organisations that are served, whichever worker leads them; always 1.",
        (*_ORG, "org_name", "rules"),
    ),
    Known(
        "tidegate_upgrade_last_round_timestamp_seconds",
        "When the clusters of an organisation led here were looked at for the last round that went"
        " well: its numbers are of then.",
        _ORG,
    ),
    Known("tidegate_upgrade_round_seconds", "How long that round took: read, decide, act.", _ORG),
    Known(
        "tidegate_upgrade_failing",
        "1 while the last round of an organisation failed, by whose fault it is.",
        (*_ORG, "fault"),
    ),
    Known(
        "tidegate_upgrade_survey_timestamp_seconds",
        "When an environment was last read whole.",
        ("ocm_env",),
    ),
    Known("tidegate_upgrade_survey_seconds", "How long that took.", ("ocm_env",)),
    Known(
        "tidegate_upgrade_survey_set_aside",
        "Documents that could not be read in it, by their kind.",
        ("ocm_env", "kind"),
    ),
)

TOTALS = (
    Known(
        "aus_organization_reconciled_total",
        "Rounds of an organisation, well or not.",
        (*_THEIRS, "org_id"),
    ),
    Known(
        "aus_organization_reconcile_errors_total",
        "Rounds of an organisation that failed.",
        (*_THEIRS, "org_id"),
    ),
    Known(
        "aus_ocm_environment_errors_total",
        "Surveys of an environment that failed.",
        _THEIRS,
    ),
    Known(
        "qontract_reconcile_ocm_request_total",
        "Calls to OpenShift Cluster Manager, by the name AUS has for them.",
        ("verb", "client_id"),
    ),
    Known(
        "tidegate_upgrade_acts_total",
        "What was asked of OpenShift Cluster Manager (upgrade, pool, channel, cancel, agree),"
        " and what came of it.",
        (*_ORG, "doing", "outcome"),
    ),
    Known(
        "tidegate_upgrade_told_total",
        "Service logs to owners, by what came of them: sent, failed.",
        (*_ORG, "outcome"),
    ),
    Known(
        "tidegate_upgrade_errors_total",
        "Rounds that failed, by whose fault it is, with the severity of alerts about the"
        " environment.",
        (*_ORG, "fault", "severity"),
    ),
)

EVERY = (*ROUND_GAUGES, *GAUGES, *TOTALS)
