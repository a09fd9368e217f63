"""Questions about promotions, over HTTP, from what was read last."""

from tidegate.api.questions import NoQuery
from tidegate.api.route import QuestionRoute, RouteQuestion
from tidegate.kinds.promotions.app.lanes import PromotionLaneList, promotion_lanes


def promotions(ask: RouteQuestion[NoQuery]) -> PromotionLaneList:
    """Which version is in which environment, what is offered, and what waits for what."""
    return promotion_lanes(ask.journals)


PROMOTION_QUESTIONS: tuple[QuestionRoute, ...] = (
    QuestionRoute("/promotions", promotions, (PromotionLaneList,)),
)
