"""The Go peer of bench/peer: built once, kept in the user's cache, run on one scenario at a time.

The binary is kept under a name made from its sources and the Go that built it, so a change of
either builds it anew. Where there is no Go, or it cannot be built, there is no peer, and that is
no failure.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

SOURCES = Path(__file__).parent / "peer"
# A first build fetches and compiles the library.
BUILD_TIMEOUT_S = 120
# The longest run, one decision over 100,000 clusters, takes a sixth of this on two busy cores.
RUN_TIMEOUT_S = 300


class Timing(msgspec.Struct, frozen=True, rename={"cpu_ms": "cpuMs", "to_rollout": "toRollout"}):
    """What the peer prints of one scenario: the best of its rounds."""

    cpu_ms: float
    to_rollout: int
    sdk: str


def build_peer(say: Callable[[str], None]) -> Path | None:
    """The peer's binary; None where it is not available; `say` reports why."""
    go = shutil.which("go")
    if go is None:
        say("no Go on this machine: the peer's figures are the recorded ones")
        return None
    binary = _cache() / f"peer-{_fingerprint(go)}"
    if binary.exists():
        return binary
    binary.parent.mkdir(parents=True, exist_ok=True)
    say("building the Go peer (once)")
    unfinished = binary.with_suffix(f".{os.getpid()}")
    try:
        subprocess.run(
            [go, "build", "-mod=readonly", "-o", str(unfinished), "."],
            cwd=SOURCES,
            check=True,
            capture_output=True,
            timeout=BUILD_TIMEOUT_S,
        )
    except (subprocess.SubprocessError, OSError) as error:
        say(f"the Go peer cannot be built ({error}): its figures are the recorded ones")
        return None
    return unfinished.replace(binary)


def run_peer(
    binary: Path, say: Callable[[str], None], scenario: str, size: int, rounds: int
) -> Timing | None:
    """One scenario by the peer, in a process of its own; None if it fails; `say` reports it."""
    arguments = ["-scenario", scenario, "-clusters", str(size), "-repeat", str(rounds)]
    try:
        done = subprocess.run(
            [str(binary), *arguments], check=True, capture_output=True, timeout=RUN_TIMEOUT_S
        )
    except (subprocess.SubprocessError, OSError) as error:
        say(f"the Go peer failed at {scenario}, {size:,} targets: {error}")
        return None
    return msgspec.json.decode(done.stdout, type=Timing)


def _cache() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "tidegate-bench"


def _fingerprint(go: str) -> str:
    version = subprocess.run([go, "version"], check=True, capture_output=True, timeout=60)
    digest = hashlib.sha256(version.stdout)
    for name in ("main.go", "go.mod", "go.sum"):
        digest.update((SOURCES / name).read_bytes())
    return digest.hexdigest()[:16]
