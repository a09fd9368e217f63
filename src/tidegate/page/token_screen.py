"""Tokens on the page: each with what it may, and the buttons that create and revoke."""

from tidegate.access.roles import Caller, Right, refusal
from tidegate.app.access.tokens import TokenRow, token_list
from tidegate.app.text.token_text import token_scope
from tidegate.model.time import Instant
from tidegate.page.frame import ActButton, offer
from tidegate.page.token_form import CREATE, REVOKE
from tidegate.store.archive_port import Archive

TokenLine = tuple[TokenRow, str, ActButton]


def token_lines(
    archive: Archive, caller: Caller, now: Instant
) -> tuple[ActButton, str, list[TokenLine]]:
    """The button that creates one, why none is shown, and all of them, those that work first."""
    create = offer(caller, CREATE, "", "", Right.ADMINISTER, None)
    if why := refusal(caller, Right.ADMINISTER, None, "list tokens"):
        return create, why, []
    rows = sorted(token_list(archive, now).items, key=lambda row: not row.works)
    lines = [
        (each, token_scope(each), offer(caller, REVOKE, each.name, "", Right.ADMINISTER, None))
        for each in rows
    ]
    return create, "", lines
