"""Claims: places of what several rollouts share, taken all or none with their plan.

Taking one is an insert that does nothing where another row exists already.
"""

from collections.abc import Sequence

from tidegate.store.client.database import Driver
from tidegate.store.port import LostClaimError, TakenPlace

# Transactions that take or free claims in PostgreSQL queue at this lock: otherwise two of them
# could each wait for a place that the other is about to free. An arbitrary number.
_LOCK = 7_463_016
# Keys in one statement; databases take 32,766 values at most.
_KEYS_MAX = 1_000

_COLUMNS = "name, place, partition, key, at"
# One row comes back if the place was free, none if it was not.
_TAKE = (
    f"INSERT INTO journal_claims ({_COLUMNS})"
    " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING name"
)
_ALL = f"SELECT {_COLUMNS} FROM journal_claims"
_HELD = f"{_ALL} WHERE name = ? AND place = ?"


def find_claims(driver: Driver) -> list[TakenPlace]:
    """All claims there are, by name and place."""
    rows = driver.execute(_ALL).fetchall()
    return sorted((TakenPlace(*row) for row in rows), key=lambda c: (c.name, c.place))


def queue(driver: Driver) -> None:
    """Wait for transactions that take or free claims right now."""
    if not driver.is_sqlite:
        driver.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")


def free(driver: Driver, keys: Sequence[str]) -> None:
    """End the claims of some keys; a key without a claim is none's business."""
    for first in range(0, len(keys), _KEYS_MAX):
        some = tuple(keys[first : first + _KEYS_MAX])
        marks = ", ".join("?" * len(some))
        driver.execute(f"DELETE FROM journal_claims WHERE key IN ({marks})", some)


def take(driver: Driver, wanted: Sequence[TakenPlace]) -> None:
    """Take every place, or raise LostClaimError with the holders of those that are taken."""
    lost: list[TakenPlace] = []
    for claim in wanted:
        values = (claim.name, claim.place, claim.partition, claim.key, claim.at)
        if driver.execute(_TAKE, values).fetchall():
            continue
        held = TakenPlace(*driver.execute(_HELD, values[:2]).fetchone())
        if (held.partition, held.key) != (claim.partition, claim.key):
            lost.append(held)
    if lost:
        raise LostClaimError(tuple(lost))
