"""Changes that are requested and withdrawn, as lines for people."""

from collections.abc import Iterator

from tidegate.app.change_requests import ChangeRequestReport, WithdrawalReport
from tidegate.app.documents import RequestDoc
from tidegate.app.text.consequence_text import consequence_words
from tidegate.explain.names import ranged


def replaced_lines(report: ChangeRequestReport) -> Iterator[str]:
    """The requests that a new one takes the place of."""
    for each in report.replaces:
        yield f"replaces {each.id}: {each.change}, requested by {each.by}"


def requested_line(report: ChangeRequestReport, request: RequestDoc) -> str:
    """What was requested, and the command that shows what becomes of it."""
    return f"requested: {request.id}; `tidegate show {report.rollout}` follows it"


def withdrawal_lines(report: WithdrawalReport) -> Iterator[str]:
    """What is withdrawn, and what follows from that."""
    wanted = report.request
    about = f" for {ranged(wanted.targets, None)}" if wanted.targets else ""
    yield f"{wanted.id}: {wanted.change}{about}, requested by {wanted.by}"
    if wanted.state == "Updating":
        yield f"what was done of it stays: {wanted.why}"
    yield "; ".join(consequence_words(report.leads_to)) or "nothing starts by it at once"


def withdrawn_line(report: WithdrawalReport) -> str:
    """What was withdrawn."""
    return f"withdrew {report.request.id} of {report.rollout}"
