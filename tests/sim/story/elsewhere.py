"""The same story told by another process, in which sets and dicts of strings have another order."""

import subprocess
import sys


def ends_elsewhere(story: str, call: str, hash_seed: str) -> str:
    """The ends of all chains of a story: `call` of the module `story`, in a process of its own."""
    code = f"from {story} import live_through; print({call}.ends)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": "src:."},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.strip()
