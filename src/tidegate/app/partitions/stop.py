"""What ended a partition, from the end of its journal: the same work however long that is."""

from tidegate.app.partitions.decision import Decision
from tidegate.store.port import Store, last_entries

# In so many entries it is looked for, and then in more: a rollout that is aborted hardly goes on,
# and of one that does for longer than these it is not known any more.
STOP_ENTRIES = (2_000, 20_000)


def stopped_by(store: Store, one: Decision) -> str:
    """The failures or the person that ended a partition; empty: nothing did, or not of late."""
    for count in STOP_ENTRIES:
        found = one.rules.stopped_by(last_entries(store, one.partition, count), one.plan)
        if found or store.head(one.partition).seq <= count:
            return found
    return ""
