"""`tidegate promote schemas`: the schemas moved in a merge request of their own, before what needs
them.
"""

import click

from tidegate.cli.proposal_options import Proposing, proposing_options
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.promotions.cli.ports import SETTINGS
from tidegate.kinds.promotions.cli.promote import FORMATS, carry_out, promotion_options
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
def schemas(
    merged: Merged,
    proposing: Proposing,
    output: str,
    ref: str,
    name: str | None,
    base: str,
    allow_backward: bool,
    no_fetch: bool,
) -> None:
    """Show what moving the schemas changes, then propose it alone.

    Every shard with an image of its own is named: that image must understand the new schemas.
    """
    from tidegate.kinds.promotions.app.survey import PromotionRequest
    from tidegate.kinds.promotions.cli.plan import planned_promotion

    request = PromotionRequest(
        promotion=name,
        ref=ref,
        base=base,
        allow_backward=allow_backward,
        check_image=False,
        of_schemas=True,
    )
    settings = merged.settings()
    planned = planned_promotion(settings, request, fetch=not no_fetch)
    carry_out(planned, settings, proposing, output, newest=not ref)
