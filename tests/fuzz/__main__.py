"""`make fuzz`: 100,000 documents through all readers; the first one that hurts, by its seed."""

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.api.stage import Service, rollout_journal
from tests.fuzz.hostile import document
from tests.fuzz.readers import Readers, refused

# What one document may take: CPU time, and memory beyond what the process had.
CPU_S_MAX = 10.0
GROWTH_MB_MAX = 600


def fuzz(documents: int, first: int, folder: Path) -> Counter[str]:
    """So many documents; AssertionError names the seed and the reader of one that hurts."""
    return fuzz_with(Readers(folder, Service(rollout_journal(folder))), documents, first)


def fuzz_with(readers: Readers, documents: int, first: int) -> Counter[str]:
    """The same, by readers that say afterwards what they met."""
    names = sorted(readers.table)
    seen: Counter[str] = Counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(first, first + documents):
        # One after the other, and the next round begins with another: all meet all ways.
        name = names[(seed + seed // len(names)) % len(names)]
        raw, began = document(seed), time.process_time()
        try:
            seen[f"{name}: {'refused' if refused(readers.table[name], raw) else 'read'}"] += 1
        except BaseException as error:
            what = f"{type(error).__name__}: {error}"[:500]
            raise AssertionError(f"{name}, seed {seed}, {len(raw)} bytes: {what}") from error
        took_s = time.process_time() - began
        assert took_s < CPU_S_MAX, f"{name}, seed {seed}: {took_s:.1f} s for {len(raw)} bytes"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < GROWTH_MB_MAX, f"the process has grown by {grown:.0f} MB"
    seen["MB grown"] = round(grown)
    return seen


def main() -> None:
    """Run it, and say what was met."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = fuzz(options.documents, options.seed, Path(folder))
    for what, count in sorted(found.items()):
        print(f"{count:>8,}  {what}")
    sys.exit(0)


if __name__ == "__main__":
    main()
