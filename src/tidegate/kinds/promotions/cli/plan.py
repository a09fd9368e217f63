"""A promotion planned for a command: ports and brakes from the settings, the document printed."""

import asyncio
from typing import TYPE_CHECKING

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.kinds.promotions.cli.ports import ports_of
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.kinds.promotions.app.plan import PlannedPromotion
    from tidegate.kinds.promotions.app.survey import PromotionRequest
    from tidegate.kinds.promotions.core.journal.known import PromotionState
    from tidegate.propose.change import ProposedChange


def planned_promotion(
    settings: Settings,
    request: "PromotionRequest",
    *,
    fetch: bool = True,
    with_journal: bool = False,
) -> "PlannedPromotion":
    """Read everything, and decide; with the journal, knowing what was offered before."""
    from tidegate.cli.by_hand import any_store, brakes_now
    from tidegate.kinds.promotions.app.offer_record import promotion_state
    from tidegate.kinds.promotions.app.plan import plan_promotion
    from tidegate.wiring import clock

    ports = ports_of(settings, fetch=fetch)
    now = clock().now()
    brakes = brakes_now(settings, now)
    if not with_journal:
        return asyncio.run(plan_promotion(ports, request, brakes, now))

    def known(name: str) -> "PromotionState":
        with any_store(settings.database) as store:
            return promotion_state(store, name)

    return asyncio.run(plan_promotion(ports, request, brakes, now, known))


def record_offer(
    settings: Settings,
    planned: "PlannedPromotion",
    done: "ProposedChange",
    reason: str,
    *,
    newest: bool,
) -> None:
    """Record an offer by hand in the journal of the settings."""
    from tidegate.cli.live import actor, opened
    from tidegate.kinds.promotions.app.offer_record import record_offer as record
    from tidegate.wiring import clock

    with opened(settings.database, writes=True, creates=True) as store:
        record(store, planned, done, reason, actor(), clock().now(), newest=newest)


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
    document = planned_promotion(settings, request, with_journal=True).document()
    if output != "table":
        emit(document, output)
        return
    colour = wants_colour(settings.color)
    for line in gate_lines(document):
        say(line, colour)
