"""The metrics of promotions. Environments are declared by hand and few: a label names them."""

from tidegate.telemetry.metric_table import Known

_ENVIRONMENT = ("promotion", "environment")

OPEN = Known(
    "tidegate_promotion_requests_open",
    "1 where an environment has an open merge request, else 0.",
    _ENVIRONMENT,
)
OLDEST = Known(
    "tidegate_promotion_oldest_request_timestamp_seconds",
    "When the oldest open merge request of a promotion was offered; absent if none is open.",
    ("promotion",),
)
EVENTS = Known(
    "tidegate_promotion_events_total",
    "What was recorded of environments: offered, merged, closed, refused, verified, differs.",
    ("promotion", "event"),
)
_SIDES = (
    "channel",
    "app",
    "publisher",
    "publisher_namespace",
    "subscriber",
    "subscriber_namespace",
)
COMMIT_DISTANCE = Known(
    "commit_distance",
    "Commits that a publisher has and a subscriber of its channel has not; absent if not known.",
    _SIDES,
)
OLDEST_COMMIT = Known(
    "tidegate_pipeline_oldest_commit_timestamp_seconds",
    "When the oldest commit was merged that a subscriber of a pipeline has not; absent if none.",
    ("pipeline",),
)
PIPELINE_REQUESTS = Known(
    "tidegate_pipeline_requests_open",
    "Open merge requests of a pipeline, by what their check says.",
    ("pipeline", "check"),
)
PIPELINE_QUARANTINED = Known(
    "tidegate_pipeline_quarantined_versions",
    "Versions that failed in an environment and were not lifted.",
    ("pipeline",),
)
PIPELINE_EVENTS = Known(
    "tidegate_pipeline_events_total",
    "What was recorded: deployed, failed, lifted, reported good, reported bad.",
    ("pipeline", "event"),
)
PIPELINE_REQUEST_EVENTS = Known(
    "tidegate_pipeline_requests_total",
    "Merge requests of a pipeline that were opened, merged, or closed: failed (halves of it are "
    "offered), outdated, doubled, unreadable, adopted, declined (by a person).",
    ("pipeline", "event"),
)
EVERY = (
    OPEN,
    OLDEST,
    EVENTS,
    COMMIT_DISTANCE,
    OLDEST_COMMIT,
    PIPELINE_REQUESTS,
    PIPELINE_QUARANTINED,
    PIPELINE_EVENTS,
    PIPELINE_REQUEST_EVENTS,
)
