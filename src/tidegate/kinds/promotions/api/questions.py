"""Questions about promotions, over HTTP, from what was read last."""

from tidegate.api.questions import NoQuery
from tidegate.api.route import QuestionRoute, RouteQuery, RouteQuestion
from tidegate.kinds.promotions.app.lanes import PromotionLaneList, promotion_lanes
from tidegate.kinds.promotions.app.pipelines.suspects import SuspectList, suspect_list


class SuspectQuery(RouteQuery, frozen=True):
    """Which pipeline, where several quarantined a version."""

    pipeline: str = ""


def promotions(ask: RouteQuestion[NoQuery]) -> PromotionLaneList:
    """Which version is in which environment, what is offered, and what waits for what."""
    return promotion_lanes(ask.journals)


def suspects(ask: RouteQuestion[SuspectQuery]) -> SuspectList:
    """Commits and authors between the last good version of a pipeline and one that failed."""
    # They are of the whole pipeline.
    return suspect_list(ask.journals.only_whole(), ask.name, ask.query.pipeline or None)


PROMOTION_QUESTIONS: tuple[QuestionRoute, ...] = (
    QuestionRoute("/promotions", promotions, (PromotionLaneList,)),
    QuestionRoute("/suspects/{name}", suspects, (SuspectList,)),
)
