"""What AUS keeps of an organisation, beside our ledger, and what is new in it."""

from tidegate.kinds.upgrades.core.history import (
    SoakHistory,
    Workloads,
    WorkloadSoak,
    format_check_in,
)
from tidegate.kinds.upgrades.core.journal.facts import HistoryNews
from tidegate.kinds.upgrades.core.rules.soak import DAY, SoakLedger


def history_of(ledger: SoakLedger) -> SoakHistory:
    """Our ledger as AUS would have kept it."""
    versions: dict[str, Workloads] = {}
    for version, workload in sorted({*ledger.days, *ledger.reporting}):
        key = (version, workload)
        soak = WorkloadSoak(ledger.days.get(key, 0) / DAY, list(ledger.reporting.get(key, ())))
        versions.setdefault(version, Workloads()).workloads[workload] = soak
    checked = None if ledger.checked_at is None else format_check_in(ledger.checked_at)
    return SoakHistory(checked, versions, ledger.minima)


def news_of(known: SoakHistory, found: SoakHistory) -> HistoryNews | None:
    """What is not as it was; None: all is."""
    soak: list[tuple[str, str, float, tuple[str, ...]]] = []
    for version, one in found.versions.items():
        before = known.versions.get(version, Workloads()).workloads
        for workload, each in one.workloads.items():
            was = before.get(workload)
            if was != each:
                # Names only ever come.
                names = each.reporting[len(was.reporting) if was is not None else 0 :]
                soak.append((version, workload, each.soak_days, tuple(names)))
    if not soak and (known.check_in, known.stats) == (found.check_in, found.stats):
        return None
    stats = None if found.stats == known.stats else found.stats
    return HistoryNews(check_in=found.check_in, soak=tuple(soak), stats=stats)


def patched(known: SoakHistory, news: HistoryNews) -> SoakHistory:
    """A history with what is new in it."""
    versions = {version: Workloads(dict(one.workloads)) for version, one in known.versions.items()}
    for version, workload, days, names in news.soak:
        workloads = versions.setdefault(version, Workloads()).workloads
        before = workloads.get(workload, WorkloadSoak()).reporting
        workloads[workload] = WorkloadSoak(days, [*before, *names])
    stats = news.stats if news.stats is not None else known.stats
    return SoakHistory(news.check_in, versions, stats)
