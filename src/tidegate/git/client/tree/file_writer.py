"""Files of a working tree, changed if they are still what was read; none is if one is not."""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tidegate.model.errors import StaleError

# So many files that are in the way are named.
NAMED_MAX = 5


def write_files(root: Path, old: Mapping[str, bytes], new: Mapping[str, bytes | None]) -> None:
    """Give files their new bytes, or take them away; what is so already stays as it is.

    Each file is complete at any moment, and keeps its mode. Local edits of these files are never
    lost: StaleError names such files before anything is written.
    """
    found = {path: _there(root, path) for path in new}
    stale = [path for path in sorted(new) if found[path] not in (old.get(path), new[path])]
    if stale:
        named = ", ".join(stale[:NAMED_MAX])
        more = f" and {len(stale) - NAMED_MAX} more" if len(stale) > NAMED_MAX else ""
        what = f"not what was read: {named}{more}"
        raise StaleError(f"{what}; commit or stash those changes, and run the same again")
    for path, content in new.items():
        if content is None:
            (root / path).unlink(missing_ok=True)
        elif found[path] != content:
            _write(root / path, content)


def _there(root: Path, path: str) -> bytes | None:
    """What a file has; None: it is not there. What leads elsewhere is not followed."""
    place = root / path
    if any(each.is_symlink() for each in (place, *place.parents) if each.is_relative_to(root)):
        raise StaleError(f"{path} leads elsewhere, by a link; change that file instead")
    return place.read_bytes() if place.exists() else None


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:40]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(descriptor, mode)
        Path(name).replace(place)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
