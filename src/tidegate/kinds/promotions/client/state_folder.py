"""The state store of the existing deployer, as files: what each publisher was deployed with.

A key is `promotions_v2/CHANNEL/UID/SHA`, a file below a folder: the root of a copy of the bucket,
or the folder that has `promotions_v2` in it. Only the entry of the version that a publisher is to
have is read: `check_in` is kept while a version succeeds again and again, so entries of several
versions do not say which was deployed last.
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.sources import PipelineReading, SaasPublisher
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.model.time import SECOND, Instant

STATE = "promotions_v2"
# Of one entry, which has five short fields.
_BYTES_MAX = 1 << 16
# Folders of a copy of the bucket between its root and the keys: state/INTEGRATION/.
_PREFIXES = ("", "*", "*/*")


class StateFolder:
    """Reads entries of the existing state store."""

    name = "state store"

    def __init__(self, folder: Path, *, fips: bool = False) -> None:
        self._folder, self._fips = folder, fips

    async def read(self, reading: PipelineReading, now: Instant) -> tuple[DeploymentSeen, ...]:
        """The entry of each publisher's version; OutsideError if there is no store."""
        return await asyncio.to_thread(lambda: tuple(self._read(reading, now)))

    def _read(self, reading: PipelineReading, now: Instant) -> Iterator[DeploymentSeen]:
        roots = self._roots()
        for publisher in reading.publishers:
            if publisher.version is None:
                continue
            entries = [
                entry
                for root in roots
                for channel in publisher.channels
                if (entry := self._entry(root, channel, publisher)) is not None
            ]
            if entries:
                yield _seen(publisher, entries, now)

    def _roots(self) -> list[Path]:
        if not self._folder.is_dir():
            raise OutsideError(f"{self._folder} is no folder")
        for prefix in _PREFIXES:
            below = [self._folder] if not prefix else sorted(self._folder.glob(prefix))
            if found := [each / STATE for each in below if (each / STATE).is_dir()]:
                return found
        raise OutsideError(f"{self._folder} has no {STATE}")

    def _entry(self, root: Path, channel: str, publisher: SaasPublisher) -> dict[str, Any] | None:
        """The entry of one key; None: there is none, or it counts as missing."""
        uid = publisher.place.uid(fips=self._fips)
        parts = (channel, uid, publisher.version or "")
        if any(part in ("", ".", "..") or "/" in part for part in parts):
            return None
        path = root.joinpath(*parts)
        try:
            with path.open("rb") as file:
                found = decode_json(file.read(_BYTES_MAX))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise OutsideError(f"{path}: {error}") from None
        # Without a saas file or a hash the existing manager takes it for missing, too.
        whole = isinstance(found, dict) and found.get("saas_file")
        return found if whole and found.get("target_config_hash") else None


def _seen(publisher: SaasPublisher, entries: list[dict[str, Any]], now: Instant) -> DeploymentSeen:
    """What the entries say together: good where all are, since the latest of them."""
    moments = [_moment(each.get("check_in")) for each in entries]
    known = [each for each in moments if each is not None]
    # One that does not say since when it runs has run since it was first seen here.
    at = max(known) if len(known) == len(moments) else now
    good = all(each.get("success") is True for each in entries)
    return DeploymentSeen(
        target=publisher.name,
        version=publisher.version or "",
        at=min(at, now),
        good=good,
        why="" if good else "the deployer recorded a failure",
        config=_config(entries),
    )


def _config(entries: list[dict[str, Any]]) -> str:
    """The hash of its configuration; entries of several channels that differ say none."""
    found = {str(each["target_config_hash"]) for each in entries}
    return found.pop() if len(found) == 1 else ""


def _moment(text: object) -> Instant | None:
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    whole = found.replace(microsecond=0)
    return Instant(int(whole.timestamp()) * SECOND + found.microsecond * 1000)
