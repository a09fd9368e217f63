"""Fields that do nothing beside others: they look effective, and are not.

What runs by the clock keeps no cache, has no logs of its own to ship and never rests between runs;
what runs all the time has no runs to count. tests/golden holds this table to what is rendered.
"""

from collections.abc import Iterator, Mapping
from typing import Any

# These have no effect on a CronJob.
ALL_THE_TIME = (
    "cache",
    "environmentAware",
    "fluentdResources",
    "internalCertificates",
    "logs",
    "sleepDurationSecs",
    "state",
    "storage",
    "storageClassName",
    "trigger",
)
# And these of nothing else.
BY_THE_CLOCK = (
    "concurrencyPolicy",
    "dashdotdb",
    "enablePushgateway",
    "failedJobHistoryLimit",
    "restartPolicy",
    "successfulJobHistoryLimit",
)
OF_A_CACHE = ("storage", "storageClassName")


def idle(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each field that is written and does nothing, and why."""
    cron, cache = bool(spec.get("cron")), bool(spec.get("cache"))
    for fields, applies, why in (
        (ALL_THE_TIME, cron, "beside cron"),
        (BY_THE_CLOCK, not cron, "without cron"),
        (OF_A_CACHE, not cron and not cache, "without cache"),
    ):
        if applies:
            yield from ((name, why) for name in fields if _says_something(spec.get(name)))


def _says_something(value: object) -> bool:
    """0 is an answer; false and nothing at all ask for nothing."""
    return value is not None and value is not False and value != {}
