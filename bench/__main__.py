"""`make bench`: every section in turn, tables to stdout, progress to stderr, always exit code 0.

A timing is never an assertion: a goal that is missed is a word in a table. What must hold on every
machine belongs into the tests.
"""

import argparse
import gc
import os
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

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
from bench.fleet import LEGEND
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


def main() -> None:
    """Run what was asked for."""
    options = _options()
    effort = QUICK if options.quick else FULL
    names = options.only or list(SECTIONS)
    # Imported modules are never garbage; collecting them would only slow the rounds.
    gc.collect()
    gc.freeze()
    print(f"{_machine()}\n\n{LEGEND}")
    found: dict[str, Report] = {}
    for name in names:
        found[name] = SECTIONS[name](effort, _say)
        _say("")
        for table in found[name].tables:
            print(f"\n{table}", flush=True)
    if options.json:
        rows = {name: report.rows for name, report in found.items()}
        document = {"machine": _machine(), "sections": rows}
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="up to 10,000 targets, no Go: seconds")
    parser.add_argument(
        "--only", action="append", choices=list(SECTIONS), help="this section; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    return parser.parse_args()


def _machine() -> str:
    """What a reader needs to judge absolute figures; no more of the machine is shown."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _say(what: str) -> None:
    """Progress: one line that is overwritten on a terminal, a line each elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)
    elif what:
        print(what, file=sys.stderr)


if __name__ == "__main__":
    main()
