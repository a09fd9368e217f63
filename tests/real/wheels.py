"""The wheel as it is published, installed into an environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
# Packages come from a cache or from a registry that may be slow.
INSTALL_TIMEOUT_S = 300


def run(*words: str | Path, cwd: Path = ROOT, **settings: str) -> str:
    """What a command prints; what it said if it fails. It sees nothing of our own environment."""
    clean = {k: v for k, v in os.environ.items() if "TIDEGATE" not in k and k != "VIRTUAL_ENV"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**clean, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_TIMEOUT_S,
    )
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}"
    return done.stdout


def built(folder: Path, source: Path = ROOT) -> Path:
    """The wheel of a checkout."""
    run(UV, "build", "--wheel", "--no-build-isolation", "--out-dir", folder, source, cwd=source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, folder: Path) -> Path:
    """The `tidegate` of a fresh environment: this wheel, and what was locked. Nothing is built."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    of = ("--python", folder / "bin/python", "--no-build")
    run(UV, "pip", "sync", *of, "--require-hashes", "requirements/runtime.txt")
    run(UV, "pip", "install", *of, "--no-deps", wheel)
    return folder / "bin/tidegate"
