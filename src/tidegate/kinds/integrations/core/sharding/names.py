"""Names of workloads: as they always were where that is possible, else shortened by a stable hash.

A name says which integration and which shard; Kubernetes takes 63 characters (52 for a CronJob,
which adds its own), of a to z, digits and hyphens. Whatever does not fit is cut, or replaced, and
ends in eight hex digits of the whole: two names never become one, and a name never changes.
"""

import re
from hashlib import blake2b

PREFIX = "qontract-reconcile-"
LENGTH_MAX, CRON_LENGTH_MAX = 63, 52
_ODD = re.compile(r"[^a-z0-9-]+")
_GOOD = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def workload_name(integration: str, suffix: str, length_max: int = LENGTH_MAX) -> str:
    """The name of the workload of one shard of an integration."""
    whole = f"{PREFIX}{integration}{suffix}"
    if len(whole) <= length_max and _GOOD.fullmatch(whole):
        return whole
    mark = blake2b(whole.encode(), digest_size=4).hexdigest()
    plain = _ODD.sub("-", whole.lower())[: length_max - len(mark) - 1]
    return f"{plain.strip('-')}-{mark}"
