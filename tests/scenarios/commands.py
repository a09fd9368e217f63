"""The commands of a story. Those that set things print nothing, those that ask print an answer."""

from collections.abc import Callable

from tests.scenarios import drawing, rehearsal
from tests.scenarios.braking import brake_command
from tests.scenarios.declaring import (
    declare_groups,
    declare_placement,
    declare_strategy,
    join,
    leave,
)
from tests.scenarios.story import BEGINNING, Story, StoryError, names_of, pairs_of
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.core.explain.tree import find_target, target_tree
from tidegate.kinds.rollouts.wire import compat_line
from tidegate.model.errors import UserError
from tidegate.model.time import Instant, parse_duration

Lines = tuple[str, ...]


def _revision(story: Story, rest: str, lines: Lines) -> list[str]:
    """The revision that is declared; none without a name."""
    story.revision = rest or None
    return []


def _complete(story: Story, rest: str, lines: Lines) -> list[str]:
    story.complete = rest != "no"
    return []


def _labels(story: Story, rest: str, lines: Lines) -> list[str]:
    """`c1 c2 env=dev`: these clusters have these labels, and no others."""
    for line in lines or (rest,):
        words = line.split()
        its = dict(word.split("=", 1) for word in words if "=" in word)
        for name in names_of([w for w in words if "=" not in w]):
            story.labels[name] = its
    return []


def _report(story: Story, rest: str, lines: Lines) -> list[str]:
    """`c1 c2 Progressing -2m rev=r1`; a cluster that reports again keeps its revision."""
    heard: list[tuple[str, str, Instant | None, str | None]] = []
    for line in lines or (rest,):
        words = line.split()
        at = next((i for i, word in enumerate(words) if word[0].isupper()), 0)
        if not at:
            raise StoryError(f"{line.strip()}: write names, a status, and since when")
        since: Instant | None = None
        revisions = []
        for word in words[at + 1 :]:
            if word.startswith("rev="):
                revisions.append(word.removeprefix("rev="))
            else:
                since = story.moment(word)
        for name in names_of(words[:at]):
            revision = revisions[0] if revisions else story.status(name).get("revision")
            heard.append((name, words[at], since, None if revision == "-" else revision))
    story.forget({name for name, *_ in heard})
    for one in heard:
        story.hear(*one)
    return []


def _forget(story: Story, rest: str, lines: Lines) -> list[str]:
    story.forget(set(names_of(rest.split())))
    return []


def _rollout(story: Story, rest: str, lines: Lines) -> list[str]:
    """Set parts of what is remembered; `key=null` drops one, no argument drops everything."""
    said = pairs_of(rest.split())
    story.rollout = {} if not said else {**story.rollout, **said}
    story.rollout = {key: value for key, value in story.rollout.items() if value is not None}
    return []


def _approve(story: Story, rest: str, lines: Lines) -> list[str]:
    """`approve dev stage for r2`; without `for` it is good for every revision."""
    names, _, version = rest.partition(" for ")
    approvals = story.rollout.setdefault("approvals", {})
    approvals.pop("forVersion", None)
    if version:
        approvals["forVersion"] = version
    return _allow(story, names.split(), True)


def _revoke(story: Story, rest: str, lines: Lines) -> list[str]:
    return _allow(story, rest.split(), False)


def _allow(story: Story, names: list[str], given: bool) -> list[str]:
    approvals = story.rollout.setdefault("approvals", {})
    groups = set(approvals.get("groups", ()))
    named = set(names) - {"ungrouped"}
    approvals["groups"] = sorted(groups | named if given else groups - named)
    if "ungrouped" in names:
        approvals["ungrouped"] = given
    return []


def _retry(story: Story, rest: str, lines: Lines) -> list[str]:
    """Everything again, of the rollout under way or of the one named; or `retry failed`.

    `group=NAME` at the end: of that group alone.
    """
    uid = story.rollout.setdefault("uid", f"u{story.uids}")
    rest, _, group = rest.partition("group=")
    rest = rest.strip()
    what = {"failedOnly": True} if rest == "failed" else {"uid": rest or uid}
    story.rollout["retry"] = {**what, "group": group} if group else what
    return []


def _flag(name: str, value: bool) -> Callable[[Story, str, Lines], list[str]]:
    def command(story: Story, rest: str, lines: Lines) -> list[str]:
        story.rollout[name] = value
        return []

    return command


def _at(story: Story, rest: str, lines: Lines) -> list[str]:
    """`at +2h` after the beginning of the story, or `at 2026-03-01T00:00:00Z`."""
    story.now = BEGINNING if rest.startswith("+") else story.now
    story.now = story.moment(rest)
    return []


def _wait(story: Story, rest: str, lines: Lines) -> list[str]:
    story.now = Instant(story.now + parse_duration(rest))
    return []


def _reverse(story: Story, rest: str, lines: Lines) -> list[str]:
    """Hand everything over in the opposite order."""
    story.groups = {name: groups[::-1] for name, groups in reversed(story.groups.items())}
    for group in (one for groups in story.groups.values() for one in groups):
        group["clusters"] = group["clusters"][::-1]
    story.statuses = story.statuses[::-1]
    return []


def _decide(story: Story, rest: str, lines: Lines) -> list[str]:
    """What the strict rules decide."""
    try:
        reading = story.read()
    except UserError as error:
        return drawing.problem_lines(error)
    plan = decide(reading.world, reading.now)
    return drawing.plan_lines(reading, plan)


def _status(story: Story, rest: str, lines: Lines) -> list[str]:
    reading = story.read()
    return drawing.status_lines(reading.world, decide(reading.world, reading.now))


def _why(story: Story, rest: str, lines: Lines) -> list[str]:
    reading = story.read()
    plan = decide(reading.world, reading.now)
    position = find_target(reading.world, rest)
    if position is None:
        raise StoryError(f"{rest} is nobody")
    return target_tree(reading.world, plan, position, reading.now)


def _compat(story: Story, rest: str, lines: Lines) -> list[str]:
    """What the existing library decides on the same document."""
    try:
        return [drawing.compat_line(compat_line.reply(story.document()))]
    except UserError as error:
        return drawing.problem_lines(error, "compat  refused ")


COMMANDS: dict[str, Callable[[Story, str, Lines], list[str]]] = {
    "abort": _flag("aborted", True),
    "act": rehearsal.act_command,
    "approve": _approve,
    "brake": brake_command,
    "at": _at,
    "compat": _compat,
    "complete": _complete,
    "decide": _decide,
    "forget": _forget,
    "groups": declare_groups,
    "join": join,
    "labels": _labels,
    "leave": leave,
    "pause": _flag("paused", True),
    "placement": declare_placement,
    "report": _report,
    "resume": _flag("paused", False),
    "retry": _retry,
    "reverse": _reverse,
    "revision": _revision,
    "revoke": _revoke,
    "rollout": _rollout,
    "run": rehearsal.run_command,
    "status": _status,
    "strategy": declare_strategy,
    "wait": _wait,
    "why": _why,
}
