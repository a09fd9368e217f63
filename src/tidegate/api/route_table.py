"""Every route there is: those of every kind, and those that a kind adds."""

from tidegate.api.acts import ACTS as SHARED_ACTS
from tidegate.api.questions import QUESTIONS as SHARED_QUESTIONS
from tidegate.api.route import ActRoute, QuestionRoute
from tidegate.kinds.upgrades.api.questions import UPGRADE_QUESTIONS

QUESTIONS: tuple[QuestionRoute, ...] = (*SHARED_QUESTIONS, *UPGRADE_QUESTIONS)
ACTS: tuple[ActRoute, ...] = SHARED_ACTS
