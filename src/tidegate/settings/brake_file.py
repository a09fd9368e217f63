"""Brakes in files: in the bundle, where they must be there, and on the disk, where they may be.

A file on the worker's disk works when nothing else does: once it is there, it holds; an empty one
holds everything. A file of the bundle that cannot be read holds everything too.
"""

from pathlib import Path
from typing import Any

from tidegate.documents.files import bounded_text
from tidegate.documents.strict_yaml import read_yaml
from tidegate.engine.brakes.source import Written
from tidegate.model.errors import UserError


class BrakeFile:
    """One file of brakes, read again when it changes."""

    def __init__(self, path: Path, *, must_exist: bool) -> None:
        self._path = path
        self._must_exist = must_exist
        self._seen: object = None
        self._read: tuple[Written, ...] = ()

    def read(self) -> tuple[Written, ...]:
        """The content of the file now."""
        seen = self._look()
        if seen != self._seen:
            self._read = self._written(seen)
            self._seen = seen
        return self._read

    def _look(self) -> object:
        """What distinguishes one state of the file from another."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            return error.strerror or "unreadable"
        return (found.st_mtime_ns, found.st_size, found.st_ino)

    def _written(self, seen: object) -> tuple[Written, ...]:
        if seen == "missing" and not self._must_exist:
            return ()
        origin, lift = f"file {self._path}", f"change {self._path}"
        if isinstance(seen, str):
            return (Written(origin, problem=f"the file is {seen}", lift=lift),)
        try:
            text = bounded_text(self._path)
            if not text.strip():
                if self._must_exist:
                    return ()
                emergency = {"holds": [_emergency(self._path)]}
                return (Written(origin, emergency, lift=f"remove {self._path}"),)
            document = read_yaml(str(self._path), text).data
        except UserError as error:
            return (Written(origin, problem=error.text(), lift=lift),)
        except (OSError, ValueError) as error:
            return (Written(origin, problem=str(error), lift=lift),)
        if not isinstance(document, dict):
            problem = "not an object; write holds, freezes, blocks, pins …"
            return (Written(origin, problem=problem, lift=lift),)
        return (Written(origin, document, self._beside, lift=lift),)

    def _beside(self, name: str) -> str:
        return bounded_text(self._path.parent / name)


def _emergency(path: Path) -> dict[str, Any]:
    """The hold that an empty file means."""
    return {
        "name": "emergency",
        "scope": {"everything": True},
        "owner": "the owner of the file",
        "reason": f"the empty file {path} holds everything",
    }
