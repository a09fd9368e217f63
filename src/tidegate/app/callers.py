"""Which caller asks, how it is known, and what it may."""

from tidegate.access.roles import Caller
from tidegate.model.document import Document


class CallerReport(Document, frozen=True, kw_only=True):
    """The caller, how it is known, and its roles."""

    actor: str
    via: str
    roles: tuple[str, ...]
    # Whether nothing is kept from it.
    sees_everything: bool


def caller_report(caller: Caller) -> CallerReport:
    """The caller of a question."""
    return CallerReport(
        actor=caller.actor,
        via=caller.via,
        roles=tuple(dict.fromkeys(each.role.value for each in caller.grants)),
        sees_everything=caller.sees_everything,
    )
