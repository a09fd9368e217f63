"""What AUS decides, run for run, its silences and failures included.

Frozen: it follows the predecessor decision for decision, has no verdicts, and gets no new features.
Start reading at `run.py`. Its peculiarities, on purpose:

- one cluster with a bad label stops its whole organisation, soak included
- one organisation with a circle of sectors, or one cluster that OCM describes badly, stops a whole
  environment; so does a registry without organisations
- a bad pattern, a day that never comes, a limit that is no number, two upgrades on one cluster and
  a version that is none end the organisation's run, after its history was kept
- patterns are Python's, searched anywhere; an empty one blocks everything; one that takes for ever
  takes for ever. A cluster's own are tried first; the predecessor tries all in no order, so that
  beside a bad one it may or may not see the one that matches
- any upgrade OCM knows of holds its cluster's mutexes, whatever became of it
- limits of sectors count upgrades mutex by mutex, and only within the sector
- node pools follow their control plane at once: no window, no soak, no block
- channels are switched whatever is blocked; the first cluster of a version answers for the others
- soak is added up in floats, in the order of the clusters
"""

from tidegate.kinds.upgrades.core.compat.run import run

__all__ = ["run"]
