"""`--soak FILE|URL`: what was published of soak, for whoever cannot look into the journal."""

import asyncio
from pathlib import Path

import click
import msgspec

from tidegate import wiring
from tidegate.cli.render.progress import Waiting
from tidegate.kinds.upgrades.wire.published_soak import Soak, read_soak
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

_URLS = ("http://", "https://")


def published(place: str) -> Soak:
    """What a file or an address has; nothing if none is named."""
    if not place:
        return Soak()
    raw = _raw(place)
    try:
        return read_soak(msgspec.json.decode(raw))
    except msgspec.DecodeError as error:
        what = str(error).removeprefix("JSON is malformed: ")
        problem = Problem("--soak", f"not JSON: {what}", "name what was published, as JSON")
        raise UserError((problem,), where=place) from None
    except UserError as error:
        raise UserError(error.problems, where=place) from None


def _raw(place: str) -> bytes:
    if place.startswith(_URLS):
        with Waiting(f"fetching {place}"):
            return asyncio.run(wiring.published(place))
    try:
        return Path(place).read_bytes()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise click.UsageError(f"--soak {place}: {why}") from None
