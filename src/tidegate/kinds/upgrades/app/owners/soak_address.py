"""Where owners find what has soaked: an address in a label of their organisation.

OpenShift Cluster Manager keeps no soak, and a label is for small things. So the service writes the
address at which it publishes soak into a label, and commands of owners, who see the labels of their
organisation, read what is published there. No credentials are sent to that address.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

import msgspec

from tidegate.kinds.upgrades.core.service import Registration
from tidegate.kinds.upgrades.ocm.port import LabelOwner, LabelType, ManagedClusters
from tidegate.kinds.upgrades.wire.published_soak import PublishedSoak, read_soak
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND, Duration, Instant

LABEL = "sre-capabilities.tidegate.soak-url"
"""The label; no label of upgrades, which AUS takes any of for a wish to be served."""
# A label that was removed by hand is back within a day; a refused one is tried again in an hour.
CHECKED_EVERY = Duration(24 * 3600 * SECOND)
RETRIED_AFTER = Duration(3600 * SECOND)
_SCHEMES = ("https://", "http://")

FetchSoak = Callable[[str], Awaitable[bytes]]
"""What is published at an address; OutsideError if it cannot be fetched."""


class SoakAddresses:
    """Writes the address of each organisation's soak into its label."""

    def __init__(self, bases: Mapping[str, str] | None = None) -> None:
        # The address of this service as owners reach it, by environment; empty: they do not.
        self._bases = bases or {}
        self._due: dict[str, Instant] = {}

    async def write(
        self, manager: ManagedClusters, of: Registration, now: Instant, left_s: float
    ) -> dict[str, str]:
        """Write it where it is missing or another; why it could not be written."""
        base = self._bases.get(of.environment, "")
        if not base or left_s <= 0 or now < self._due.get(of.partition, now):
            return {}
        try:
            async with asyncio.timeout(left_s):
                wanted = soak_address(base, of)
                if await written_address(manager, of.id) != wanted:
                    owner = LabelOwner(LabelType.ORGANIZATION, of.id)
                    await manager.set_label(owner, LABEL, wanted)
        except (OutsideError, TimeoutError, OSError) as error:
            self._due[of.partition] = Instant(now + RETRIED_AFTER)
            return {f"label {LABEL}": str(error) or "no answer in time"}
        self._due[of.partition] = Instant(now + CHECKED_EVERY)
        return {}


def soak_address(base: str, of: Registration) -> str:
    """Where the soak of an organisation is published."""
    return f"{base}/soak/{quote(of.environment, safe='')}/{quote(of.id, safe='')}"


async def written_address(manager: ManagedClusters, org: str) -> str:
    """The address in the label of an organisation; empty: there is none."""
    read = await manager.labels(LABEL, LabelType.ORGANIZATION, [org])
    mine = (each for each in read.items if each.key == LABEL and each.organization_id == org)
    return next((each.value for each in mine), "")


class FoundSoak(msgspec.Struct, frozen=True):
    """What an owner finds without naming a place."""

    soak: PublishedSoak = PublishedSoak()
    # Why it could not be read; empty: it was, or none is published.
    trouble: str = ""


async def find_soak(manager: ManagedClusters, org: str, fetch: FetchSoak) -> FoundSoak:
    """What the service publishes of an organisation, if it says where."""
    try:
        place = await written_address(manager, org)
        return FoundSoak() if not place else FoundSoak(await _read(place, fetch))
    except (OutsideError, UserError) as error:
        text = error.text() if isinstance(error, UserError) else str(error)
        return FoundSoak(trouble=f"soak cannot be read: {text}")


async def _read(place: str, fetch: FetchSoak) -> PublishedSoak:
    if not place.startswith(_SCHEMES):
        raise UserError((Problem(f"label {LABEL}", f'"{place}" is no address'),))
    try:
        return read_soak(decode_json(await fetch(place)))
    except msgspec.DecodeError as error:
        raise UserError((Problem("", str(error)),), where=place) from None
    except UserError as error:
        raise UserError(error.problems, where=place) from None
