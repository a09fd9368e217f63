"""A promotion planned for a command: ports and brakes from the settings, the document printed."""

import asyncio
from typing import TYPE_CHECKING

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.kinds.promotions.cli.ports import ports_of
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.kinds.promotions.app.plan import PlannedPromotion
    from tidegate.kinds.promotions.app.survey import PromotionRequest


def planned_promotion(
    settings: Settings, request: "PromotionRequest", *, fetch: bool = True
) -> "PlannedPromotion":
    """Read everything, and decide."""
    from tidegate.cli.by_hand import brakes_now
    from tidegate.kinds.promotions.app.plan import plan_promotion
    from tidegate.wiring import clock

    ports = ports_of(settings, fetch=fetch)
    now = clock().now()
    return asyncio.run(plan_promotion(ports, request, brakes_now(settings, now), now))


def show_plan(planned: "PlannedPromotion", settings: Settings, output: str) -> None:
    """Print a plan as tables, or as data."""
    from tidegate.kinds.promotions.cli.plan_text import plan_lines

    document = planned.document()
    if output != "table":
        emit(document, output)
        return
    colour = wants_colour(settings.color)
    for line in plan_lines(document, terminal_width(), planned.checkout.repository.user):
        say(line, colour)


def show_gates(settings: Settings, environment: str, promotion: str | None, output: str) -> None:
    """Print what every gate says of the newest version in one environment."""
    from tidegate.kinds.promotions.app.survey import PromotionRequest
    from tidegate.kinds.promotions.cli.plan_text import gate_lines

    request = PromotionRequest(promotion=promotion, to=(environment,))
    document = planned_promotion(settings, request).document()
    if output != "table":
        emit(document, output)
        return
    colour = wants_colour(settings.color)
    for line in gate_lines(document):
        say(line, colour)
