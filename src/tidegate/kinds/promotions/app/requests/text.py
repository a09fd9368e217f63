"""The text of a pipeline's merge request, for the people who decide about it.

For each promotion: what is written where, the version with a link to its commits, these by author,
the soak that was shown, the shards that are reached, and what every gate said. The data for the
next worker stands apart, at the end.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidegate.explain.markup import code, folded, image, table
from tidegate.explain.sentence import MARKS, opens, sentence
from tidegate.git.history import SHORT, Commit
from tidegate.kinds.promotions.app.ports import ReachedShards
from tidegate.kinds.promotions.app.proposal_text import LINES_MAX, author_lines, reached_lines
from tidegate.kinds.promotions.core.authors import authors_of
from tidegate.kinds.promotions.core.model import compare_link
from tidegate.kinds.promotions.core.requests.model import ChannelPromotion, SubscriberChange
from tidegate.kinds.promotions.core.requests.reasons import RequestReason
from tidegate.model.counted import counted
from tidegate.model.reason import Gate
from tidegate.model.verdict import Verdict

# From the version that is written to the one that is wanted, of a repository.
VersionStep = tuple[str, str, str]


class RequestFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the text of a request is made of."""

    pipeline: str
    promotions: tuple[ChannelPromotion, ...]
    # The commits of each step, the newest first; one that is not there could not be read.
    commits: Mapping[VersionStep, tuple[Commit, ...]] = {}
    # How to mention each author, by email.
    mentions: Mapping[str, str] = {}
    # What every gate said of a subscriber, by its name.
    said: Mapping[str, tuple[Verdict, ...]] = {}
    reached: tuple[ReachedShards, ...] = ()
    # Why it was opened with just these; None: it is one that was open.
    opened: Verdict | None = None
    # The address of a picture of the pipeline; empty: there is none.
    picture: str = ""


def steps_of(promotion: ChannelPromotion) -> tuple[VersionStep, ...]:
    """The steps between versions that a promotion takes, each once; a configuration is none."""
    moving = (each for each in promotion.changes if each.old != each.version)
    return tuple(dict.fromkeys(map(_step, moving)))


def _step(change: SubscriberChange) -> VersionStep:
    return change.repository, change.old, change.version


def description(facts: RequestFacts) -> str:
    """What people read, as Markdown."""
    return "\n".join(_lines(facts)).rstrip("\n") + "\n"


def commit_message(title: str, promotions: Iterable[ChannelPromotion]) -> str:
    """The message of the commit: every step between versions, with its link."""
    lines = [title, ""]
    for promotion in promotions:
        for url, old, new in steps_of(promotion):
            link = compare_link(url, old, new)
            lines.append(f"{'+'.join(promotion.channels)}: {old[:SHORT]} -> {new[:SHORT]} {link}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def closing_comment(verdict: Verdict) -> str:
    """Why a request is closed, for the people who follow it."""
    return f"Closed by Tidegate: {sentence(verdict)}."


def _lines(facts: RequestFacts) -> Iterator[str]:
    count = counted(len(facts.promotions), "promotion")
    shown = "the version that all publishers of its channels run well"
    yield f"{count} of the pipeline {code(facts.pipeline)}, each to {shown}."
    yield ""
    if facts.opened is not None and facts.opened.reason is RequestReason.RequestHalved:
        yield f"It is {sentence(facts.opened)}."
        yield ""
    yield from image(facts.picture, "the pipeline when this was offered")
    for promotion in facts.promotions:
        yield from _promotion_lines(facts, promotion)
    if facts.reached:
        yield "### Shards reached"
        yield ""
        yield from reached_lines(facts.reached)


def _promotion_lines(facts: RequestFacts, promotion: ChannelPromotion) -> Iterator[str]:
    yield f"### {' + '.join(code(name) for name in promotion.channels)}"
    yield ""
    rows = [
        (code(each.name), code(each.file), code(each.old[:SHORT]), _then(each))
        for each in promotion.changes
    ]
    more = len(rows) - LINES_MAX
    yield from table(("subscriber", "file", "now", "then"), rows[:LINES_MAX])
    if more > 0:
        yield ""
        yield f"and {more} more"
    yield ""
    for step in steps_of(promotion):
        yield from _step_lines(facts, step)
    yield from _why_lines(facts, promotion)


def _then(change: SubscriberChange) -> str:
    """The version that is written, and the configurations of publishers beside it."""
    hashes = ", ".join(f"{each.parent_saas} {each.target_config_hash}" for each in change.hashes)
    return (
        f"{code(change.version)}, configured as {code(hashes)}" if hashes else code(change.version)
    )


def _step_lines(facts: RequestFacts, step: VersionStep) -> Iterator[str]:
    """One step between versions: its link, and its commits by author."""
    url, old, new = step
    shown = f"{old[:SHORT]} … {new[:SHORT]}"
    link = compare_link(url, old, new)
    yield f"Compare [{shown}]({link})" if link else code(shown)
    yield ""
    commits = facts.commits.get(step)
    if commits is None:
        yield f"The commits between them could not be read from {code(url)}."
        yield ""
    else:
        yield from author_lines(authors_of(commits), facts.mentions)


def _why_lines(facts: RequestFacts, promotion: ChannelPromotion) -> Iterator[str]:
    """The soak, and what all gates said; subscribers with the same answer share it."""
    alike: dict[tuple[Verdict, ...], list[str]] = {}
    for each in promotion.changes:
        if verdicts := facts.said.get(each.name):
            alike.setdefault(verdicts, []).append(each.name)
    for verdicts, names in alike.items():
        for one in verdicts:
            if one.gate is Gate.SOAK:
                yield f"Soak of {code(_named(names))}: {code(sentence(one))}"
                yield ""
        yield from folded(f"Why now: {_named(names)}", _said(verdicts))
        yield ""


def _named(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _said(verdicts: Iterable[Verdict]) -> Iterator[str]:
    for each in verdicts:
        then = f" ({opens(each)})" if opens(each) else ""
        yield f"- {MARKS[each.outcome]} {each.gate.value}: {code(sentence(each) + then)}"
