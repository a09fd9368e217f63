"""Whether a name is one of upgrades, and what is looked at then; for `why` and `when`."""

from typing import TYPE_CHECKING

import click

from tidegate.cli.live import journals, opened
from tidegate.kinds.upgrades.cli.look.flags import Asked
from tidegate.model.errors import UserError

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.cli.look.ground import Looked

# Organisations whose clusters upgrade by labels are called so, and clusters so.
ORGANISATION, CLUSTER = "upgrades/", "cluster/"


def looked_for(asked: Asked, what: str) -> "Looked | None":
    """What is looked at, if a name is of upgrades; None: look it up in the journal of rollouts."""
    plainly = what.startswith(ORGANISATION) or asked.alone
    if not plainly and not asked.given:
        return None
    if not plainly and not what.startswith(CLUSTER) and _is_rolled_out(asked, what):
        return None
    from tidegate.kinds.upgrades.cli.why import is_there

    looked = asked.look()
    if not plainly and not is_there(looked, what) and _is_rolled_out(asked, what):
        return None
    return looked


def _is_rolled_out(asked: Asked, what: str) -> bool:
    """Whether the journal knows a rollout or a target of a name."""
    try:
        with opened(asked.settings.database) as store:
            journals(store).find_target(what)
    except (UserError, click.UsageError):
        return False
    return True
