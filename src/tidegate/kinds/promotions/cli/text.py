"""A promotion as people read it, and as programs do; the names of fields are API."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tidegate.explain.sentence import MARKS, opens, sentence
from tidegate.explain.table import layout
from tidegate.explain.verdict_doc import verdict_doc
from tidegate.git.history import Commit
from tidegate.kinds.promotions.core.authors import Author
from tidegate.kinds.promotions.core.model import FULL, SHORT, Held
from tidegate.kinds.promotions.core.reach import Reached
from tidegate.kinds.promotions.core.reasons import PromotionReason
from tidegate.model.counted import counted
from tidegate.model.plan import Option
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant, format_age, format_second
from tidegate.model.verdict import Verdict, all_pass

if TYPE_CHECKING:
    from tidegate.kinds.promotions.cli.plan import Planned

# So many shards of an environment are named, and so many commits of one person.
NAMED_MAX, COMMITS_MAX = 8, 10


def plan_lines(planned: "Planned", width: int | None) -> Iterator[str]:
    """All of it, in lines."""
    world, ground = planned.world, planned.ground
    new, subject = world.version[:SHORT], f"promote {world.promotion.name}"
    base = f"on {ground.base[:SHORT]} of {ground.repository.url or ground.folder}"
    yield f"{subject} to {new}, {base}"
    yield ""
    yield from _environments(planned, width)
    if planned.changes:
        yield ""
        yield from _edits(planned, width)
    yield from _alone(planned)
    yield from _people(planned)
    yield from planned.facts.links.values()
    yield from _shards(planned.facts.reached, new)
    for warning in planned.facts.warnings:
        yield f"warning: {warning}"


def _environments(planned: "Planned", width: int | None) -> Iterator[str]:
    rows = []
    for option, environment in zip(planned.plan.options, planned.world.asked(), strict=True):
        held = planned.world.moving(environment.name)
        values = ", ".join(dict.fromkeys(each.value[:SHORT] for each in held))
        rows.append((environment.name, values or "-", _state(option), _why(option)))
    yield from layout(("ENVIRONMENT", "NOW", "STATE", "WHY"), rows, width)


def _state(option: Option) -> str:
    if all_pass(option.verdicts):
        return "moves"
    return "there" if finished(option) else "waits"


def finished(option: Option) -> Verdict | None:
    """Why an environment needs nothing; None: it does."""
    return next((each for each in option.verdicts if each.reason in _FINISHED), None)


def _why(option: Option) -> str:
    if (done := finished(option)) is not None:
        return sentence(done)
    shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
    if not shut:
        passed = [each for each in option.verdicts if each.reason in _SAID]
        return "; ".join(sentence(each) for each in passed)
    first = shut[0]
    remedy = opens(first)
    return f"{MARKS[first.outcome]} {sentence(first)}" + (f"; opens: {remedy}" if remedy else "")


# An environment with one of these needs nothing.
_FINISHED = frozenset((ProgressReason.Done, PromotionReason.FollowsBranch))
# What is worth a word though it passes.
_SAID = frozenset(
    (PromotionReason.Forward, PromotionReason.BackwardAllowed, PromotionReason.SchemasSuffice)
)


def _edits(planned: "Planned", width: int | None) -> Iterator[str]:
    version = planned.world.version
    rows = [
        (
            each.environment,
            _where(planned, each),
            _shown(each.value),
            _shown(each.written(version)),
            each.note,
        )
        for each in planned.changes
    ]
    yield from layout(("ENVIRONMENT", "FILE", "OLD", "NEW", "FOR"), rows, width)


def _shown(commit: str) -> str:
    return commit if len(commit) < FULL else f"{commit[:SHORT]}…"


def _where(planned: "Planned", held: Held) -> str:
    return f"{planned.ground.root}{held.file}:{held.line}"


def _alone(planned: "Planned") -> Iterator[str]:
    """What follows a branch is left alone, and said to be."""
    names = {each.name for each in planned.world.asked()}
    left = [h for h in planned.world.held if not h.is_commit and h.environment in names]
    if left:
        yield ""
    for held in left:
        whom = f" ({held.note})" if held.note else ""
        yield f"left alone: {_where(planned, held)} follows {held.value}{whom}"


def _people(planned: "Planned") -> Iterator[str]:
    authors = planned.facts.authors
    total = len({commit.sha for author in authors for commit in author.commits})
    if not total:
        return
    yield ""
    go = "goes" if total == 1 else "go"
    yield f"{counted(total, 'commit')} by {counted(len(authors), 'person', 'people')} {go} out:"
    me = planned.ground.repository.user.lower()
    for author in authors:
        you = " (you)" if author.email.lower() == me else ""
        yield f"  {author.name} <{author.email}>{you}"
        for commit in author.commits[:COMMITS_MAX]:
            yield f"    {commit.sha[:SHORT]}  {_age(commit, planned.now):>6}  {commit.subject}"
        if len(author.commits) > COMMITS_MAX:
            yield f"    and {len(author.commits) - COMMITS_MAX} more"


def _age(commit: Commit, now: Instant) -> str:
    return format_age(now - commit.at)


def _shards(reached: tuple[Reached, ...], new: str) -> Iterator[str]:
    if reached:
        yield ""
    for each in reached:
        clusters = f"{counted(len(each.clusters), 'cluster')} ({some(each.clusters)})"
        gets = "gets" if len(each.shards) == 1 else "get"
        yield f"{each.environment}: {counted(len(each.shards), 'shard')} on {clusters} {gets} {new}"
        yield f"  {some(each.shards)}"
        for name, where in each.pinned:
            yield f"  stays: {name}, pinned by {where}"


def some(names: tuple[str, ...]) -> str:
    """The first of many names."""
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def plan_doc(planned: "Planned") -> dict[str, Any]:
    """All of it, for programs."""
    world, facts = planned.world, planned.facts
    asked = zip(planned.plan.options, world.asked(), strict=True)
    return {
        "kind": "PromotionPlan",
        "name": world.promotion.name,
        "version": world.version,
        "base": planned.ground.base,
        "image": world.image or None,
        "environments": [
            {
                "name": environment.name,
                "moves": all_pass(option.verdicts),
                "state": _state(option),
                "holds": list(dict.fromkeys(h.value for h in world.moving(environment.name))),
                "verdicts": [verdict_doc(each) for each in option.verdicts],
            }
            for option, environment in asked
        ],
        "edits": [_edit_doc(planned, each) for each in planned.changes],
        "leftAlone": [
            {"file": _where(planned, each), "value": each.value, "environment": each.environment}
            for each in world.held
            if not each.is_commit
        ],
        "authors": [author_doc(each) for each in facts.authors],
        "compare": list(facts.links.values()),
        "shards": [
            {
                "environment": each.environment,
                "shards": list(each.shards),
                "clusters": list(each.clusters),
                "pinned": [{"shard": name, "where": where} for name, where in each.pinned],
            }
            for each in planned.facts.reached
        ],
        "warnings": list(facts.warnings),
    }


def _edit_doc(planned: "Planned", held: Held) -> dict[str, Any]:
    return {
        "environment": held.environment,
        "moves": held.environment in planned.versions,
        "file": f"{planned.ground.root}{held.file}",
        "line": held.line,
        "old": held.value,
        "new": held.written(planned.world.version),
        "for": held.note or None,
    }


def author_doc(author: Author) -> dict[str, Any]:
    """Somebody and their commits."""
    return {
        "name": author.name,
        "email": author.email,
        "commits": [commit_doc(each) for each in author.commits],
    }


def commit_doc(commit: Commit) -> dict[str, Any]:
    """One commit."""
    return {"sha": commit.sha, "at": format_second(commit.at), "subject": commit.subject}
