"""Claims: places of what several rollouts share, taken all or none with their plan.

Taking one is an insert that does nothing where another row exists already.
"""

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from tidegate.store.client.schema import claims
from tidegate.store.port import LostClaimError, TakenPlace

# Transactions that take or free claims in PostgreSQL queue at this lock: otherwise two of them
# could each wait for a place that the other is about to free. An arbitrary number.
_LOCK = 7_463_016
# Keys in one statement; databases take 32,766 values at most.
_KEYS_MAX = 1_000

# One row comes back if the place was free, none if it was not.
_TAKE = sa.text(
    "INSERT INTO journal_claims (name, place, partition, key, at)"
    " VALUES (:name, :place, :partition, :key, :at) ON CONFLICT DO NOTHING RETURNING name"
)


def queue(connection: sa.Connection) -> None:
    """Wait for transactions that take or free claims right now."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def free(connection: sa.Connection, keys: Sequence[str]) -> None:
    """End the claims of some keys; a key without a claim is none's business."""
    for first in range(0, len(keys), _KEYS_MAX):
        some = keys[first : first + _KEYS_MAX]
        connection.execute(sa.delete(claims).where(claims.c.key.in_(some)))


def take(connection: sa.Connection, wanted: Sequence[TakenPlace]) -> None:
    """Take every place, or raise LostClaimError with the holders of those that are taken."""
    lost: list[TakenPlace] = []
    for claim in wanted:
        if connection.execute(_TAKE, msgspec.structs.asdict(claim)).first() is not None:
            continue
        here = sa.and_(claims.c.name == claim.name, claims.c.place == claim.place)
        held = TakenPlace(*connection.execute(sa.select(claims).where(here)).one())
        if (held.partition, held.key) != (claim.partition, claim.key):
            lost.append(held)
    if lost:
        raise LostClaimError(tuple(lost))
