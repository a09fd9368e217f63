"""Freezes that are on from the beginning of a simulation, set as a person would set them."""

import click
import msgspec

from tidegate.app.brakes.change import set_brake
from tidegate.app.brakes.request import BrakeRequest, FreezeTimes, check_brake
from tidegate.app.brakes.scope import BrakeScope
from tidegate.app.partitions.journals import Journals
from tidegate.documents.files import read_document
from tidegate.kind_table import rules_of
from tidegate.model.time import Instant
from tidegate.store.port import Store

ACTOR = "user:ops"


class StandingFreeze(FreezeTimes, frozen=True, kw_only=True):
    """A freeze as files of brakes have it."""

    name: str
    scope: BrakeScope
    owner: str
    reason: str


class StandingBrakes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file may set here."""

    freezes: tuple[StandingFreeze, ...] = ()


def read_standing(file: str) -> StandingBrakes:
    """The freezes of a file; UsageError says what is wrong with it."""
    try:
        return msgspec.convert(read_document(file).data, StandingBrakes)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"--brakes {file}: {error}; write freezes") from None


def set_standing(store: Store, brakes: StandingBrakes, now: Instant) -> None:
    """Record them, so that the page lists them and lifts them."""
    for each in brakes.freezes:
        journals = Journals(store, rules_of, now)
        times = {name: getattr(each, name) for name in FreezeTimes.__struct_fields__}
        request = BrakeRequest(
            brake="freeze",
            name=each.name,
            scope=each.scope,
            owner=each.owner,
            reason=each.reason,
            times=FreezeTimes(**times),
        )
        set_brake(journals, check_brake(journals, request), ACTOR, ())
