"""`make bench`: every section in turn, tables to stdout, progress to stderr, always exit code 0.

A timing is never an assertion: a goal that is missed is a word in a table. What must hold on every
machine belongs into the tests. Each section has a process of its own, so that none pays for what
another left in memory, and a figure is the same whether its section runs alone or not.
"""

import argparse
import os
import platform
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import msgspec

from bench.fleet import LEGEND
from bench.sections import FULL, QUICK, SECTIONS, measured, say
from bench.table import Report


def main() -> None:
    """Run what was asked for."""
    options = _options()
    effort = QUICK if options.quick else FULL
    names = options.only or list(SECTIONS)
    print(f"{_machine()}\n\n{LEGEND}")
    found: dict[str, Report] = {}
    for name in names:
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            found[name] = alone.submit(measured, name, effort).result()
        say("")
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


if __name__ == "__main__":
    main()
