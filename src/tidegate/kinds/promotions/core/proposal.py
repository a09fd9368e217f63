"""What a merge request says of a promotion: which lines, which shards, whose work, and what to look
at. The same facts make the same text, so that asking again changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tidegate.explain.markup import code, table
from tidegate.kinds.promotions.core.authors import Author
from tidegate.kinds.promotions.core.model import SHORT, Held
from tidegate.kinds.promotions.core.reach import Reached
from tidegate.model.counted import counted

# So many lines of one list are written; forges cut long descriptions, and nobody reads them.
LINES_MAX = 50


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to say."""

    name: str
    version: str
    environments: tuple[str, ...]
    edits: tuple[Held, ...]
    authors: tuple[Author, ...]
    # How to address each author, by email.
    mentions: Mapping[str, str] = {}
    # The compare link by what is held now.
    links: Mapping[str, str] = {}
    reached: tuple[Reached, ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str = ""


def title(facts: Facts) -> str:
    """The same for every version, so that a newer one takes the place of an older one."""
    return f"promote {facts.name}{_where(facts, ', ', ' to ')}"


def branch(facts: Facts) -> str:
    """The branch it is offered on."""
    return f"tidegate/promote-{plain(facts.name + _where(facts, '-', '-to-'))}"


def _where(facts: Facts, between: str, to: str) -> str:
    """Where it goes; empty for schemas, which are what they are moved to."""
    alone = facts.environments == (facts.name,)
    return "" if alone else to + between.join(facts.environments)


def plain(text: str) -> str:
    """A text as a part of a branch's name may be."""
    kept = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in text)
    return "-".join(part for part in kept.lower().split("-") if part)


def commit_message(facts: Facts) -> str:
    """What the one commit says."""
    lines = [title(facts), "", f"Version {facts.version}"]
    lines += [f"{link}" for link in dict.fromkeys(facts.links.values())]
    if facts.reason:
        lines += ["", facts.reason]
    return "\n".join(lines) + "\n"


def description(facts: Facts) -> str:
    """The text of the merge request, as Markdown."""
    return "\n".join(_lines(facts)).rstrip("\n") + "\n"


def _lines(facts: Facts) -> Iterator[str]:
    yield f"Version `{facts.version}`."
    if facts.reason:
        yield ""
        yield code(facts.reason)
    yield ""
    for warning in facts.warnings:
        yield f"- **Look at this:** {code(warning)}"
    if facts.warnings:
        yield ""
    rows = [
        (
            code(held.environment),
            code(f"{held.file}:{held.line}"),
            code(held.value),
            code(held.written(facts.version)),
        )
        for held in facts.edits
    ]
    yield from table(("environment", "file", "now", "then"), rows)
    yield ""
    yield from _reached(facts.reached)
    yield from _authors(facts)
    for old, link in facts.links.items():
        yield f"- [{old[:SHORT]} … {facts.version[:SHORT]}]({link})"


def _reached(reached: Sequence[Reached]) -> Iterator[str]:
    for each in reached:
        clusters = ", ".join(code(name) for name in each.clusters)
        yield f"**{code(each.environment)}**: {counted(len(each.shards), 'shard')} on {clusters}"
        yield ""
        if each.pinned:
            whose = "its own stays" if len(each.pinned) == 1 else "their own stay"
            yield f"{counted(len(each.pinned), 'shard')} with an image of {whose}:"
            yield from _some([f"- {code(name)} ({code(where)})" for name, where in each.pinned])
            yield ""


def _authors(facts: Facts) -> Iterator[str]:
    total = {commit.sha for author in facts.authors for commit in author.commits}
    if not total:
        return
    people = counted(len(facts.authors), "person", "people")
    yield f"{counted(len(total), 'commit')} by {people} go out; nobody's word is waited for:"
    yield ""
    for author in facts.authors:
        yield f"- {facts.mentions.get(author.email) or code(author.name)}"
        lines = (f"  - `{each.sha[:SHORT]}` {code(each.subject)}" for each in author.commits)
        yield from _some(list(lines))
    yield ""


def _some(lines: list[str]) -> Iterator[str]:
    yield from lines[:LINES_MAX]
    if len(lines) > LINES_MAX:
        yield f"- and {len(lines) - LINES_MAX} more"
