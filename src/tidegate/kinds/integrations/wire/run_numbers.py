"""The numbers a reconcile loop gives out, in the text form metrics have.

    qontract_reconcile_last_run_status{integration="…",shards="…",shard_id="…"} 0.0
    qontract_reconcile_execution_counter_total{…} 4.0

Sub-shards of one key give out the same labels; each pod is asked by itself, so that mixes nothing.
"""

import math
import re
from collections.abc import Iterable

from tidegate.kinds.integrations.core.waves.trial import ShardRun

STATUS, COUNTER = "qontract_reconcile_last_run_status", "qontract_reconcile_execution_counter"
_SAMPLE = re.compile(
    rf"^({STATUS}|{COUNTER}(?:_total)?)"
    r"(?:\{[^}]*\})?\s+([-+0-9.eE]+|NaN|[-+]?Inf)(?:\s+\d+)?\s*$",
    re.MULTILINE,
)


NAMES = f"{STATUS}|{COUNTER}|{COUNTER}_total"


def read_run(text: str) -> ShardRun | None:
    """What a pod says of its runs; None if it says nothing of them."""
    return run_of((name, float(value)) for name, value in _SAMPLE.findall(text))


def run_of(samples: Iterable[tuple[str, float]]) -> ShardRun | None:
    """The same of numbers that were read elsewhere."""
    found = {name.removesuffix("_total"): value for name, value in samples}
    status, completed = found.get(STATUS), found.get(COUNTER)
    if completed is None or not math.isfinite(completed):
        return None
    # A loop that has not ended a run yet has no status; whatever is no number is no success.
    if status is None:
        return ShardRun(0, 0) if completed == 0 else None
    return ShardRun(int(completed), 0 if status == 0 else 1)
