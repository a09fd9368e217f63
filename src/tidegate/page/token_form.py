"""The form of a token: its fields, as the API takes them and as a command is written."""

from typing import Any

from tidegate.access.tokens import hash_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.page.brake_form import Fields, one

CREATE, REVOKE = "token", "revoke-token"
# Fields with several words, their names in the API, and the options of the command.
_LISTS = (
    ("kinds", "--kind"),
    ("rollouts", "--rollout"),
    ("organisations", "--org"),
    ("environments", "--env"),
    ("groups", "--group"),
)
# A dry run needs a hash, too; no token has this one.
NO_HASH = "0" * 64


def token_body(sent: Fields, name: str, secret: str) -> dict[str, Any]:
    """What the API takes beside the reason; no secret: for a dry run."""
    if not name.strip():
        raise UserError((Problem("name", "is empty", "write what the token is for"),))
    made: dict[str, Any] = {field: one(sent, field).split() for field, _ in _LISTS}
    return made | {
        "hash": hash_of(secret) if secret else NO_HASH,
        "role": one(sent, "role") or "viewer",
        "selector": one(sent, "selector"),
        "expires": one(sent, "expires"),
    }


def token_words(name: str, sent: Fields) -> list[str]:
    """The words of the command, up to its reason."""
    words = ["token", "create", name or "NAME", "--role", one(sent, "role") or "viewer"]
    for field, option in _LISTS:
        words += [part for each in one(sent, field).split() for part in (option, each)]
    if selector := one(sent, "selector"):
        words += ["--selector", selector]
    if expires := one(sent, "expires"):
        words += ["--expires", expires]
    return words
