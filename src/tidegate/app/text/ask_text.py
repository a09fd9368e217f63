"""What a request reaches and leads to, as the line that is asked about."""

from tidegate.app.asks import AskReport
from tidegate.app.text.consequence_text import consequence_words
from tidegate.journal.facts import Verb
from tidegate.model.counted import counted

_ANSWERS = (Verb.APPROVE.value, Verb.REJECT.value, Verb.REVOKE.value)


def ask_line(report: AskReport, *, standing: bool = False) -> str:
    """What is said before a request is recorded."""
    reach = _answer(report, standing) if report.verb in _ANSWERS else _simple(report)
    said = [*consequence_words(report.leads_to), *filter(None, [report.not_undone])]
    return "; ".join((reach, *said))


def answered_words(report: AskReport, *, standing: bool = False) -> str:
    """What an answer is for."""
    return "every revision" if standing else report.version or "a revision without a name"


def _answer(report: AskReport, standing: bool) -> str:
    names = ", ".join((*report.groups, *report.gates))
    what = answered_words(report, standing=standing)
    return f"{report.rollout}: {names}, {counted(report.targets, 'target')}, {what}"


def _simple(report: AskReport) -> str:
    reach = f"{report.rollout}: {report.moving} moving, {report.waiting} waiting"
    if report.verb == Verb.ABORT.value and report.waiting:
        reach += f"; {counted(report.waiting, 'waiting target')} will not start"
    if report.verb == Verb.ABORT.value and not report.leads_to.returns:
        reach += "; nothing is rolled back"
    return reach
