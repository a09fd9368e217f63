"""Every metric there is: its name, its labels and what it counts. Names are a public interface."""

import msgspec


class Known(msgspec.Struct, frozen=True):
    """One metric."""

    name: str
    help: str
    labels: tuple[str, ...] = ()


_ROLLOUT = ("kind", "rollout")

# Computed at the moment of a scrape.
GAUGES = (
    Known("tidegate_targets", "Targets of rollouts led here, by state.", (*_ROLLOUT, "state")),
    Known(
        "tidegate_waits",
        "Targets that wait, by the gate and the reason that hold them.",
        (*_ROLLOUT, "gate", "reason"),
    ),
    Known("tidegate_rollouts", "Rollouts led here, by summary.", ("kind", "summary")),
    Known("tidegate_leader", "1 where this process leads a rollout, else 0.", _ROLLOUT),
    Known(
        "tidegate_last_round_timestamp_seconds",
        "When the last round of a rollout led here was completed.",
        _ROLLOUT,
    ),
    Known("tidegate_queue_depth", "Rounds that wait for their turn."),
    Known("tidegate_rounds_under_way", "Rounds in progress."),
    Known(
        "tidegate_journal_lag_entries",
        "Entries in the journals of rollouts led here that no round has taken into account yet.",
    ),
    Known("tidegate_loop_lag_seconds", "How late the event loop last was for its own heartbeat."),
    Known(
        "tidegate_log_dropped_total", "Log records dropped because the log was not read in time."
    ),
    Known("tidegate_notices_waiting", "Notices that wait to be sent."),
    Known("tidegate_build_info", "The version that runs; always 1.", ("version",)),
)

TOTALS = (
    Known(
        "tidegate_notices_total",
        "Notices to people, by outcome: sent, failed, dropped.",
        ("event", "outcome"),
    ),
    Known(
        "tidegate_loop_held_total",
        "How often something held the event loop for more than 5 s, by what did.",
        _ROLLOUT,
    ),
    Known(
        "tidegate_api_refused_total",
        "Requests to the API that were refused, by method and status.",
        ("method", "status"),
    ),
    Known("tidegate_actions_total", "Actions, by outcome.", ("kind", "outcome")),
    Known(
        "tidegate_errors_total",
        "Rounds and other work that failed, by who must act: outside, stale, timeout, system.",
        ("kind", "error"),
    ),
)

HISTOGRAMS = (
    Known("tidegate_round_seconds", "How long a round took: observe, decide, act.", ("kind",)),
    Known(
        "tidegate_api_seconds",
        "How long a request took inside the process that answers, by method and first word.",
        ("method", "route"),
    ),
)
# From a round over nothing to one that is cut off at its limit.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
