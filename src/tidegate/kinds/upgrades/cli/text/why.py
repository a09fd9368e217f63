"""Explanations as text: one cluster as a tree of versions and gates, an organisation as a table."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from tidegate.app.text.view_text import request_lines
from tidegate.explain.table import layout
from tidegate.explain.verdict_part import VerdictPart, part_lines
from tidegate.kinds.upgrades.app.explanation import (
    ClusterExplanation,
    ExplainedCluster,
    ExplainedOrganisation,
    OrganisationExplanationList,
    UpgradeOption,
)
from tidegate.kinds.upgrades.cli.text.clusters import (
    CLUSTER_HEAD,
    age_between,
    cluster_cells,
    organisation_words,
)
from tidegate.kinds.upgrades.core.explain.dates import NO_DATE, NOT_BEFORE, date_text, doubted
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.model.time import parse_instant

EVERY_VERSION = "whatever the version"


def cluster_tree(one: ClusterExplanation | ExplainedCluster, now: str) -> list[str]:
    """Every version a cluster could go to, newest first, and what all gates say of it.

    What gates say whatever the version stands once, above the versions.
    """
    lines = [_headline(one, now), *_expected(one, now)]
    upgrades = [each for each in one.options if each.do == StepKind.UPGRADE.value]
    shared = _shared(upgrades)
    if shared:
        lines += [EVERY_VERSION, *_verdict_lines(shared, now)]
    for option in one.options:
        said: Sequence[VerdictPart] = option.verdicts
        if option in upgrades:
            said = [each for each in said if each not in shared]
        if option.title is not UNSET:
            lines.append(f"{option.title}: {option.state}")
        lines += _verdict_lines(said, now)
    for each in one.requests if isinstance(one, ClusterExplanation) else ():
        lines.append(f"requested by {each.by}, {each.id}: {each.change}")
        lines += part_lines(each.verdicts, parse_instant(now))
    return [*lines, *(f"also: {each}" for each in one.problems[1:])]


def _headline(one: ClusterExplanation | ExplainedCluster, now: str) -> str:
    age = f" for {age_between(one.since, now)}" if one.since is not None else ""
    behind = [f"{each.pool} {each.version}" for each in one.behind]
    pools = f" (node pool {', '.join(behind)})" if behind else ""
    journal = f"({PARTITION}/{one.environment}/{one.org})"
    return "  ".join((one.called, f"on {one.version}{age}{pools}", one.headline, journal))


def _expected(one: ClusterExplanation | ExplainedCluster, now: str) -> list[str]:
    """When its next step starts, by the foresight of `when`; nothing of one that is up to date."""
    start = one.expected
    if start is None or (start.version is None and one.next is None):
        return []
    asked = f"`tidegate when cluster/{one.cluster}`"
    if start.not_before is not None:
        until = date_text(parse_instant(start.not_before))
        return [f"expected: {NOT_BEFORE} {until}; {asked} looks further"]
    if start.starts_at is None:
        return [f"expected: {NO_DATE}; {asked} says why"]
    at = parse_instant(start.starts_at)
    what = f"node pool {start.pool} to {start.version}" if start.pool else f"to {start.version}"
    if at <= parse_instant(now):
        return [f"expected: {what}, under way"]
    date = doubted(at, estimate=start.estimate)
    return [f"expected: {what} {date} (in {age_between(now, start.starts_at)})"]


def _shared(options: Sequence[UpgradeOption]) -> list[VerdictPart]:
    """What is said of every one of them; nothing where there is only one."""
    if len(options) < 2:
        return []
    first, *rest = options
    return [each for each in first.verdicts if all(each in one.verdicts for one in rest)]


def _verdict_lines(verdicts: Sequence[VerdictPart], now: str) -> list[str]:
    """What every gate says, those that are shut first."""
    return part_lines(verdicts, parse_instant(now))


def organisation_lines(document: OrganisationExplanationList, width: int | None) -> Iterator[str]:
    """A table an organisation, and when to look again."""
    now = document.now or ""
    for at, each in enumerate(document.items):
        if at:
            yield ""
        yield from _organisation(each, now, width)
    if document.recheck_at is not None:
        yield f"\nlook again in {age_between(now, document.recheck_at)}"


def _organisation(one: ExplainedOrganisation, now: str, width: int | None) -> Iterator[str]:
    words = organisation_words(one.name, (each.phase for each in one.targets))
    yield f"{PARTITION}/{one.environment}/{one.org} · {words}"
    yield from (f"✗ {each}" for each in one.problems)
    yield ""
    yield from request_lines(one.requests, parse_instant(now), width)
    yield from layout(CLUSTER_HEAD, [cluster_cells(each, now) for each in one.targets], width)
