"""The text of a promotion's merge request: lines, shards, authors and warnings.

The same facts make the same text, so that offering the same again changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tidegate.explain.markup import code, image, table
from tidegate.git.history import SHORT
from tidegate.kinds.promotions.app.ports import ReachedShards
from tidegate.kinds.promotions.core.authors import Author
from tidegate.kinds.promotions.core.model import WrittenVersion
from tidegate.kinds.promotions.files.remains import RemainingVersion
from tidegate.model.counted import counted
from tidegate.propose.branch_name import branch_part

# At most so many lines of a list are written: forges cut long descriptions.
LINES_MAX = 50


class ProposalFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the text is made of."""

    name: str
    version: str
    environments: tuple[str, ...]
    edits: tuple[WrittenVersion, ...]
    authors: tuple[Author, ...]
    # How to mention each author, by email.
    mentions: Mapping[str, str] = {}
    # The compare link by what is written now.
    links: Mapping[str, str] = {}
    reached: tuple[ReachedShards, ...] = ()
    warnings: tuple[str, ...] = ()
    # Lines that still name a version that is replaced.
    remaining: tuple[RemainingVersion, ...] = ()
    reason: str = ""
    # The address of a picture of the promotion; empty: there is none.
    picture: str = ""


def title(facts: ProposalFacts) -> str:
    """The same for every version, so that a newer one replaces an older one."""
    return f"promote {facts.name}{_where(facts, ', ', ' to ')}"


def key(facts: ProposalFacts) -> str:
    """The key of the offer, which names its branch."""
    return f"promote-{branch_part(facts.name + _where(facts, '-', '-to-'))}"


def _where(facts: ProposalFacts, between: str, to: str) -> str:
    """The environments; empty for schemas, whose only environment has their name."""
    alone = facts.environments == (facts.name,)
    return "" if alone else to + between.join(facts.environments)


def commit_message(facts: ProposalFacts) -> str:
    """The message of the commit."""
    lines = [title(facts), "", f"Version {facts.version}"]
    lines += [f"{link}" for link in dict.fromkeys(facts.links.values())]
    if facts.reason:
        lines += ["", facts.reason]
    return "\n".join(lines) + "\n"


def description(facts: ProposalFacts) -> str:
    """The text of the merge request, as Markdown."""
    return "\n".join(_lines(facts)).rstrip("\n") + "\n"


def _lines(facts: ProposalFacts) -> Iterator[str]:
    yield f"Version `{facts.version}`."
    if facts.reason:
        yield ""
        yield code(facts.reason)
    yield ""
    for warning in facts.warnings:
        yield f"- **Check this:** {code(warning)}"
    if facts.warnings:
        yield ""
    rows = [
        (
            code(each.environment),
            code(f"{each.file}:{each.line}"),
            code(each.value),
            code(each.text_for(facts.version)),
        )
        for each in facts.edits
    ]
    yield from table(("environment", "file", "now", "then"), rows)
    yield ""
    yield from reached_lines(facts.reached)
    if facts.remaining:
        yield "The old version still stands in:"
        yield ""
        yield from _some([f"- {code(str(each))}" for each in facts.remaining])
        yield ""
    yield from image(facts.picture, "the promotion when this was offered")
    yield from author_lines(facts.authors, facts.mentions)
    for old, link in facts.links.items():
        yield f"- [{old[:SHORT]} … {facts.version[:SHORT]}]({link})"


def reached_lines(reached: Sequence[ReachedShards]) -> Iterator[str]:
    """The shards and clusters that a change reaches."""
    for each in reached:
        clusters = ", ".join(code(name) for name in each.clusters)
        yield f"**{code(each.environment)}**: {counted(len(each.shards), 'shard')} on {clusters}"
        yield ""
        if each.pinned:
            whose = "its own stays" if len(each.pinned) == 1 else "their own stay"
            yield f"{counted(len(each.pinned), 'shard')} with an image of {whose}:"
            yield from _some([f"- {code(name)} ({code(where)})" for name, where in each.pinned])
            yield ""


def author_lines(authors: Sequence[Author], mentions: Mapping[str, str]) -> Iterator[str]:
    """The commits that go out, by author; `mentions` is by email."""
    total = {commit.sha for author in authors for commit in author.commits}
    if not total:
        return
    people = counted(len(authors), "person", "people")
    yield f"{counted(len(total), 'commit')} by {people} go out; their approval is not required:"
    yield ""
    for author in authors:
        yield f"- {mentions.get(author.email) or code(author.name)}"
        lines = (f"  - `{each.sha[:SHORT]}` {code(each.subject)}" for each in author.commits)
        yield from _some(list(lines))
    yield ""


def _some(lines: list[str]) -> Iterator[str]:
    yield from lines[:LINES_MAX]
    if len(lines) > LINES_MAX:
        yield f"- and {len(lines) - LINES_MAX} more"
