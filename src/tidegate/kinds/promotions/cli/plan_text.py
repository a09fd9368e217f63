"""A plan of a promotion as people read it: tables, and a tree of gates."""

from collections.abc import Iterator

from tidegate.explain.table import layout
from tidegate.explain.verdict_part import part_lines
from tidegate.git.history import FULL, SHORT
from tidegate.kinds.promotions.app.documents import (
    EnvironmentPlan,
    PromotionPlan,
    ReachPart,
)
from tidegate.model.counted import counted
from tidegate.model.time import format_age, parse_instant

# At most so many shards of an environment are named, and so many commits of one author.
NAMED_MAX, COMMITS_MAX = 8, 10
# At most so many lines with the old version are listed.
REMAINING_MAX = 20
# Reasons of an environment that needs nothing, and reasons that are shown although they pass.
_FINISHED = frozenset(("Done", "FollowsBranch"))
_SHOWN = frozenset(("Forward", "BackwardAllowed", "SchemasSuffice"))


def plan_lines(plan: PromotionPlan, width: int | None, user: str = "") -> Iterator[str]:
    """All of it; `user` is the address of the reader, whose own commits are marked."""
    new = plan.version[:SHORT]
    yield f"promote {plan.name} to {new}, on {plan.base[:SHORT]} of {plan.repository}"
    yield ""
    yield from _environments(plan, width)
    if plan.edits:
        yield ""
        yield from _edits(plan, width)
    yield from _followed(plan)
    yield from _authors(plan, user)
    yield from plan.compare
    yield from _shards(plan.shards, new)
    for warning in plan.warnings:
        yield f"warning: {warning}"
    if plan.not_found:
        yield "environments not found:"
    for each in plan.not_found:
        yield f"  {each.name}: {', '.join(each.places)}"
    if plan.remaining:
        yield "the old version still stands in:"
        lines = [f"{each.file}:{each.line} {each.value[:SHORT]}" for each in plan.remaining]
        yield from (f"  {line}" for line in lines[:REMAINING_MAX])
        if len(lines) > REMAINING_MAX:
            yield f"  and {len(lines) - REMAINING_MAX} more (-o json has all)"


def _environments(plan: PromotionPlan, width: int | None) -> Iterator[str]:
    rows = []
    for each in plan.environments:
        values = ", ".join(dict.fromkeys(value[:SHORT] for value in each.holds))
        rows.append((each.name, values or "-", each.state, _why(each)))
    yield from layout(("ENVIRONMENT", "NOW", "STATE", "WHY"), rows, width)


def _why(environment: EnvironmentPlan) -> str:
    for each in environment.verdicts:
        if each.reason in _FINISHED:
            return each.message
    shut = [each for each in environment.verdicts if each.outcome != "pass"]
    if not shut:
        passed = [each for each in environment.verdicts if each.reason in _SHOWN]
        return "; ".join(each.message for each in passed)
    first = shut[0]
    remedy = f"; opens: {first.opens}" if first.opens else ""
    return f"{first.mark} {first.message}{remedy}"


def _edits(plan: PromotionPlan, width: int | None) -> Iterator[str]:
    rows = [
        (
            each.environment,
            f"{each.file}:{each.line}",
            _short(each.old),
            _short(each.new),
            each.target or "",
        )
        for each in plan.edits
    ]
    yield from layout(("ENVIRONMENT", "FILE", "OLD", "NEW", "FOR"), rows, width)


def _short(commit: str) -> str:
    return commit if len(commit) < FULL else f"{commit[:SHORT]}…"


def _followed(plan: PromotionPlan) -> Iterator[str]:
    """Lines that name a branch are not changed, and listed."""
    names = {each.name for each in plan.environments}
    found = [each for each in plan.left_alone if each.environment in names]
    if found:
        yield ""
    for each in found:
        target = f" ({each.target})" if each.target else ""
        yield f"unchanged: {each.file} follows {each.value}{target}"


def _authors(plan: PromotionPlan, user: str) -> Iterator[str]:
    total = len({commit.sha for author in plan.authors for commit in author.commits})
    if not total:
        return
    yield ""
    go = "goes" if total == 1 else "go"
    people = counted(len(plan.authors), "person", "people")
    yield f"{counted(total, 'commit')} by {people} {go} out:"
    now = parse_instant(plan.at)
    for author in plan.authors:
        you = " (you)" if author.email.lower() == user.lower() else ""
        yield f"  {author.name} <{author.email}>{you}"
        for commit in author.commits[:COMMITS_MAX]:
            age = format_age(now - parse_instant(commit.at))
            yield f"    {commit.sha[:SHORT]}  {age:>6}  {commit.subject}"
        if len(author.commits) > COMMITS_MAX:
            yield f"    and {len(author.commits) - COMMITS_MAX} more"


def _shards(reached: tuple[ReachPart, ...], new: str) -> Iterator[str]:
    if reached:
        yield ""
    for each in reached:
        clusters = f"{counted(len(each.clusters), 'cluster')} ({_some(each.clusters)})"
        gets = "gets" if len(each.shards) == 1 else "get"
        yield f"{each.environment}: {counted(len(each.shards), 'shard')} on {clusters} {gets} {new}"
        yield f"  {_some(each.shards)}"
        for pinned in each.pinned:
            yield f"  stays: {pinned.shard}, pinned by {pinned.where}"


def _some(names: tuple[str, ...]) -> str:
    """The first of many names."""
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def gate_lines(plan: PromotionPlan) -> Iterator[str]:
    """Every gate of every environment."""
    now = parse_instant(plan.at)
    for each in plan.environments:
        held = ", ".join(dict.fromkeys(value[:SHORT] for value in each.holds))
        parts = [f"on {held}"] if held else []
        if each.state == "there":
            head = f"{''.join(parts)}: there already"
        else:
            go = "moves" if each.moves else "waits"
            head = ", ".join((*parts, f"wants {each.version[:SHORT]}: {go}"))
        yield f"env/{each.name}  {head}"
        yield from part_lines(each.verdicts, now)
