"""Every section of the benchmarks, and how much each measures."""

import gc
import sys
from collections.abc import Callable, Mapping

from bench import (
    against_compat,
    against_peer,
    bundle,
    channels,
    command,
    commit,
    estate,
    forecast,
    journal,
    kube,
    load,
    ocm,
    page,
    placement,
    policies,
    promotion,
    replicas,
    restart,
    rollout,
    service,
    upgrades,
)
from bench.table import Report
from bench.timing import Effort

SECTIONS: Mapping[str, Callable[[Effort, Callable[[str], None]], Report]] = {
    "rollout": rollout.run,
    "peer": against_peer.run,
    "compat": against_compat.run,
    "placement": placement.run,
    "journal": journal.run,
    "restart": restart.run,
    "kube": kube.run,
    "policies": policies.run,
    "load": load.run,
    "replicas": replicas.run,
    "service": service.run,
    "page": page.run,
    "ocm": ocm.run,
    "bundle": bundle.run,
    "estate": estate.run,
    "commit": commit.run,
    "promotion": promotion.run,
    "channels": channels.run,
    "upgrades": upgrades.run,
    "forecast": forecast.run,
    "lines": command.run_lines,
    "startup": command.run_startup,
}

FULL = Effort((1_000, 10_000, 100_000), patience_s=0.1, lines=10_000, startups=20, peer=True)
QUICK = Effort((1_000, 10_000), patience_s=0.02, lines=3_000, startups=5, peer=False)
SMOKE = Effort((100,), patience_s=0.0, lines=100, startups=1, peer=False, smoke=True)


def measured(name: str, effort: Effort) -> Report:
    """One section, in a process that has done nothing else."""
    # Imported modules are never garbage; collecting them would only slow the rounds.
    gc.collect()
    gc.freeze()
    return SECTIONS[name](effort, say)


def say(what: str) -> None:
    """Progress: one line that is overwritten on a terminal, a line each elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)
    elif what:
        print(what, file=sys.stderr)
