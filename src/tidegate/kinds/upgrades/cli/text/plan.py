"""Plans as tables: what would be written for each organisation, and why."""

from collections.abc import Iterator

from tidegate.explain.table import BENEATH, Row, layout
from tidegate.kinds.upgrades.app.plan import (
    BOTH,
    COMPAT,
    STRICT,
    PlannedAction,
    PlannedUpgrades,
    UpgradePlanList,
)
from tidegate.kinds.upgrades.core.explain.writes import TELL
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.model.counted import counted

HEAD: Row = ("DO", "CLUSTER", "FROM", "TO", "STARTS", "WHY")
_RULES = {STRICT: "our rules", COMPAT: "the rules of AUS", BOTH: "both rules"}


def plan_lines(document: UpgradePlanList, width: int | None) -> Iterator[str]:
    """A table an organisation, and beneath it the service logs for owners."""
    for at, each in enumerate(document.items):
        both = each.mode == BOTH
        if at:
            yield ""
        yield _headline(each)
        rows = [_row(one, both) for one in each.actions if one.do != TELL]
        if rows:
            yield from layout(("RULES", *HEAD) if both else HEAD, rows, width)
        for one in each.actions:
            if one.do == TELL:
                yield from _service_log(one, both)


def _headline(each: PlannedUpgrades) -> str:
    steps = sum(one.do != TELL for one in each.actions)
    logs = len(each.actions) - steps
    parts = [f"{PARTITION}/{each.environment}/{each.org}", each.name, _RULES[each.mode]]
    parts.append(counted(steps, "change") if steps else "no change")
    if logs:
        parts.append(counted(logs, "service log"))
    if each.mode == BOTH:
        apart = sum(one.rules != BOTH for one in each.actions)
        parts.append(f"{apart} by one of them only" if apart else "no difference")
    return " · ".join(parts)


def _service_log(action: PlannedAction, both: bool) -> Iterator[str]:
    """A service log, word for word."""
    by = f" ({action.rules})" if both else ""
    yield f"service log for {action.cluster or '-'}{by}: {action.after or ''}"
    yield from (f"{BENEATH}{line}" for line in (action.text or "").splitlines())


def _row(action: PlannedAction, both: bool) -> Row:
    cells = (
        action.do,
        " ".join(filter(None, (action.cluster or "-", action.pool, action.addon))),
        action.before or "-",
        action.after or "-",
        action.starts_at or "-",
        action.why,
    )
    return (action.rules, *cells) if both else cells
