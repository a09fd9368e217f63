"""How a worker works: what it acts on, how often it looks, how long it waits."""

import msgspec

from tidegate.model.time import SECOND, Duration


class WorkerSettings(msgspec.Struct, frozen=True):
    """How a worker works; every wait has a limit."""

    holder: str
    # Partitions that are acted on; all others are only observed.
    act: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("*",)
    lease_term: Duration = Duration(30 * SECOND)
    # How soon a fact written by another process (an approval, a hold) is noticed.
    listen_s: float = 0.5
    # How long a partition goes without a round if nothing calls for one.
    resync_s: float = 30.0
    discover_s: float = 5.0
    # How often a worker that does not lead all that it could looks for what it may take.
    follow_s: float = 1.0
    # Whether it asks other workers for its share of what they lead.
    shares: bool = True
    # How long changes of a partition collect before its next round.
    settle_s: float = 0.0
    # As of `RoundContext`; only for a journal on this machine: a read of it waits for no other.
    short_s: float = 0.0
    rounds_max: int = 8
    observe_timeout_s: float = 60.0
    backoff_first_s: float = 1.0
    backoff_max_s: float = 120.0
    # How long rounds under way may take to end once the worker is stopped.
    grace_s: float = 20.0
    # How soon a task that does not end is cancelled again.
    cancel_s: float = 5.0
