"""When a task that failed is tried again: after a pause that doubles, up to a limit."""

from tidegate.model.time import Duration, Instant


def retry_at(
    decided_at: Instant, tried_at: Instant | None, tries: int, first: Duration, most: Duration
) -> Instant:
    """When a task without an outcome is to be tried next; one that was never tried, at once."""
    if tried_at is None:
        return decided_at
    return Instant(tried_at + min(most, first << min(tries - 1, 16)))
