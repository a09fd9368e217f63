"""Every route there is: those of every kind, and those that a kind adds."""

from tidegate.api.acts import ACTS as SHARED_ACTS
from tidegate.api.change_requests import REQUEST_ACTS
from tidegate.api.history import HISTORY_QUESTIONS
from tidegate.api.login.sessions import SESSION_ACTS, SESSION_QUESTIONS
from tidegate.api.questions import QUESTIONS as SHARED_QUESTIONS
from tidegate.api.route import ActRoute, QuestionRoute, RouteQuery, RouteQuestion
from tidegate.api.tokens import TOKEN_ACTS, TOKEN_QUESTIONS
from tidegate.app.access.callers import PermissionReport, permission
from tidegate.kinds.promotions.api.acts import PROMOTION_ACTS
from tidegate.kinds.promotions.api.questions import PROMOTION_QUESTIONS
from tidegate.kinds.upgrades.api.acts import UPGRADE_ACTS
from tidegate.kinds.upgrades.api.questions import UPGRADE_QUESTIONS
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all

ACTS: tuple[ActRoute, ...] = (
    *SHARED_ACTS,
    *REQUEST_ACTS,
    *UPGRADE_ACTS,
    *PROMOTION_ACTS,
    *TOKEN_ACTS,
    *SESSION_ACTS,
)


class PermissionQuery(RouteQuery, frozen=True):
    """What a caller would like to do, and to what."""

    # The first word of a path: approve, hold, why.
    verb: str
    # A rollout, or a target of one; empty: everything.
    rollout: str = ""
    group: tuple[str, ...] = ()


def can_i(ask: RouteQuestion[PermissionQuery]) -> PermissionReport:
    """Whether the caller may do something, and if not, why."""
    query = ask.query
    rights = {each.verb: each.right for each in QUESTIONS} | {
        each.verb: each.right for each in ACTS
    }
    if query.verb not in rights:
        raise NotFoundError("verb", query.verb, nearest_or_all(query.verb, sorted(rights)))
    if query.group and not query.rollout:
        raise UserError((Problem("group", "is of a rollout", "name that, too"),))
    if not query.rollout:
        return permission(ask.caller, query.verb, rights[query.verb], None, query.group)
    one, target, _ = ask.journals.find_target(query.rollout)
    known = {each.group for each in one.reached}
    for group in query.group:
        if group not in known:
            raise NotFoundError("group", group, nearest_or_all(group, sorted(known)))
    # An act reaches all that is there; a question only what is seen.
    acts = query.verb in {each.verb for each in ACTS}
    whole = ask.every.read(one.partition) if acts else one
    return permission(ask.caller, query.verb, rights[query.verb], whole, query.group, target)


QUESTIONS: tuple[QuestionRoute, ...] = (
    *SHARED_QUESTIONS,
    *HISTORY_QUESTIONS,
    *UPGRADE_QUESTIONS,
    *PROMOTION_QUESTIONS,
    *TOKEN_QUESTIONS,
    *SESSION_QUESTIONS,
    QuestionRoute("/can-i", can_i, (PermissionReport,)),
)
