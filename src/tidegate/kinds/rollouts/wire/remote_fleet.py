"""What a worker and a fleet in another process say to each other, over HTTP and in JSON.

    GET  /partitions                the names of the rollouts there are
    GET  /observe?partition=…       one reading (`Observation` of the port)
    POST /act                       a task; 200 and what to note, 409 if it does not fit any more
    GET  /changes                   names of rollouts that may have changed, a line each, for ever
    GET  /carried                   every task that was carried out, in order

409 is a StaleError, anything else that is not 200 an OutsideError; the body is the reason.
"""

import msgspec

from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.model.time import Instant

PARTITIONS, OBSERVE, ACT = "/partitions", "/observe", "/act"
CHANGES, CARRIED = "/changes", "/carried"
OK, REFUSED, STALE = 200, 404, 409


class TaskDoc(msgspec.Struct, frozen=True):
    """A task to be carried out."""

    partition: str
    task: RolloutTask


class Carried(msgspec.Struct, frozen=True):
    """A task that was carried out, and when, by the clock of the fleet."""

    at: Instant
    partition: str
    task: RolloutTask
