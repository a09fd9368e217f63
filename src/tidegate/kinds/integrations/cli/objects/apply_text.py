"""Results of `apply` and `release` as people read them: a line each, then counts and hints."""

from collections import Counter
from collections.abc import Iterator

from tidegate.cli.render.causes import cause_lines
from tidegate.kinds.integrations.app.apply import ApplyReport
from tidegate.kinds.integrations.app.executor import ObjectResult
from tidegate.kinds.integrations.app.plan import ObjectPlan
from tidegate.kinds.integrations.core.workloads.change import ObjectAction


class ApplyProgress:
    """How far an apply is, for one that is interrupted."""

    def __init__(self, total: int) -> None:
        self.total = total
        # Sent to a cluster, and of those answered.
        self.begun = 0
        self.ended = 0

    def interrupted(self) -> str:
        """What was done and what was not."""
        under_way, left = self.begun - self.ended, self.total - self.begun
        parts = [f"{self.ended:,} of {self.total:,} answered as listed, and recorded"]
        if under_way:
            parts.append(f"{under_way:,} sent and not answered, perhaps made")
        if left:
            parts.append(f"{left:,} not begun")
        return f"interrupted: {'; '.join(parts)}. `tidegate apply` goes on where this ended"


def result_line(result: ObjectResult, end: str = "") -> str:
    """The result of one change."""
    change = result.change
    why = f": {result.detail}" if result.detail else ""
    return f"{change.where} {result.outcome}{end} in {change.cluster}/{change.namespace}{why}"


def unchanged_lines(plan: ObjectPlan) -> Iterator[str]:
    """Every object that is as declared."""
    for each in plan.changes:
        if each.verb is ObjectAction.UNCHANGED:
            yield f"{each.where} unchanged in {each.cluster}/{each.namespace}"


def result_lines(plan: ObjectPlan, report: ApplyReport, dry_run: str, adopt: bool) -> Iterator[str]:
    """What was done, and what to do next."""
    counts = Counter(each.outcome for each in report.objects)
    verbs = Counter({ObjectAction(word): count for word, count in plan.counts.items()})
    counts["unchanged"] += verbs[ObjectAction.UNCHANGED]
    words = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    mode = " (server dry run: nothing was changed)" if dry_run == "server" else ""
    if dry_run == "client":
        yield "client dry run: nothing was changed"
    else:
        unread = verbs[ObjectAction.UNREAD]
        nothing = f"nothing was done: {unread:,} could not be read" if unread else "nothing to do"
        yield f"{words or nothing}{mode}"
    if report.failed:
        yield "fix what failed and apply again; what is done stays done"
    if verbs[ObjectAction.ADOPT] and not adopt:
        again = sum(each.restarts for each in plan.changes if each.verb is ObjectAction.ADOPT)
        restarts = f"{again:,} restart" + ("" if again == 1 else "s")
        one = f"{verbs[ObjectAction.ADOPT]:,} of other managers"
        yield f"{one}: `tidegate apply --adopt` takes them over, with {restarts}"
    if verbs[ObjectAction.HELD]:
        yield f"{verbs[ObjectAction.HELD]:,} held by brakes: `tidegate plan` names them"
    if any(each.held for each in plan.changes):
        yield "images wait for their rollout: `tidegate status` shows its progress"
    if verbs[ObjectAction.KEPT]:
        yield f"{verbs[ObjectAction.KEPT]:,} kept: `tidegate plan` says why"


def undone_lines(report: ApplyReport, *, verbose: bool = False) -> Iterator[str]:
    """What is declared and was not done, a line for each cause; the exit code is 1 for it."""
    unread = [each for each in report.undone if each.action == ObjectAction.UNREAD]
    if unread:
        # Why is told of each cluster already.
        yield f"not done: {len(unread):,} could not be read"
    told = (
        f"{each.object}: {each.action}: {each.reason}"
        for each in report.undone
        if each.action != ObjectAction.UNREAD
    )
    for line in cause_lines(told, verbose=verbose):
        yield f"not done: {line}"
