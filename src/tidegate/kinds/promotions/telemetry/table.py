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
EVERY = (OPEN, OLDEST, EVENTS)
