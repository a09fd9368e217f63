"""`tidegate promote schemas`: the schemas moved in a merge request of their own, before what needs
them.
"""

from typing import Any

import click

from tidegate.cli.proposing import Proposing, proposing_options
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.promotions.cli.ground import SETTINGS
from tidegate.kinds.promotions.cli.promote import FORMATS, carried_out, promotion_options
from tidegate.settings.settings import Merged


@click.command(
    cls=Command,
    examples="""
    tidegate promote schemas                    what would move, and which pinned images are at risk
    tidegate promote schemas --ref 5d3e2f1 --open-mr
    """,
)
@promotion_options
@proposing_options
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@settings_options(*SETTINGS)
def schemas(merged: Merged, proposing: Proposing, output: str, **asked: Any) -> None:
    """Show what moving the schemas changes, then propose it alone.

    Every shard with an image of its own is named: that image must understand the new schemas.
    """
    from tidegate.kinds.promotions.cli.plan import plan_promotion

    planned = plan_promotion(
        merged.settings(), **asked, to=(), no_registry_check=True, of_schemas=True
    )
    carried_out(planned, proposing, output)
