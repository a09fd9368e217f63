"""Groups, strategies and placements, written tersely."""

import re

from tests.scenarios.drawing import problem_lines
from tests.scenarios.story import Doc, Story, StoryError, names_of, pairs_of, yaml_of
from tidegate.kinds.policies.core.placement import scheduler_groups, stable_groups
from tidegate.kinds.policies.wire.placement_line import Grouping, decode
from tidegate.model.errors import UserError

Lines = tuple[str, ...]

# `dev: c1 c2`, `dev@3: c1`, `@1: c1` (without a name), `dev of 3: c1` (three members are known).
_GROUP = re.compile(r"\s*(?P<name>[^@:\s]*)(@(?P<index>\d+))?( of (?P<count>\d+))?:(?P<names>.*)")
_BODIES = {
    "All": "all",
    "Progressive": "progressive",
    "ProgressivePerGroup": "progressivePerGroup",
    "ManualPerGroup": "manualPerGroup",
    "manualPerGroup": "manualPerGroup",
}
# Fields of the strategy itself; all others belong to the object of its type.
_OUTER = ("onFailure", "onNewRevision")


def declare_groups(story: Story, rest: str, lines: Lines) -> list[str]:
    """The groups, or those of one placement; indexes count from 0 unless they are given."""
    found: list[Doc] = []
    for place, line in enumerate(lines):
        match = _GROUP.fullmatch(line)
        if match is None:
            raise StoryError(f"{line.strip()}: write `dev: c1 c2`")
        group: Doc = {"name": match["name"], "index": int(match["index"] or place)}
        group["clusters"] = names_of(match["names"].split())
        if match["count"]:
            group["clusterCount"] = int(match["count"])
        found.append(group)
    if not rest:
        story.groups = {"": found}
        return []
    story.groups = {name: groups for name, groups in story.groups.items() if name}
    story.groups[rest] = found
    return []


def join(story: Story, rest: str, lines: Lines) -> list[str]:
    """`join dev c9`: clusters come into a group."""
    name, *words = rest.split()
    every = [group for groups in story.groups.values() for group in groups]
    group = next((one for one in every if one["name"] == name), None)
    if group is None:
        raise StoryError(f"there is no group {name}")
    group["clusters"] += names_of(words)
    return []


def leave(story: Story, rest: str, lines: Lines) -> list[str]:
    """Clusters leave every group, and the fleet; what they reported last stays."""
    gone = set(names_of(rest.split()))
    for group in (one for groups in story.groups.values() for one in groups):
        group["clusters"] = [name for name in group["clusters"] if name not in gone]
    story.labels = {name: its for name, its in story.labels.items() if name not in gone}
    return []


def declare_strategy(story: Story, rest: str, lines: Lines) -> list[str]:
    """`strategy Progressive maxConcurrency=2 order=spread:region`, or a whole document as input."""
    if not rest:
        story.strategy = yaml_of(lines)
        return []
    kind, *words = rest.split()
    strategy: Doc = {"type": kind}
    body: Doc = {}
    for word in words:
        key, _, value = word.partition("=")
        if key == "mandatory":
            body["mandatoryDecisionGroups"] = [_group_ref(one) for one in value.split(",")]
        elif key == "order":
            by, _, label = value.partition(":")
            strategy["order"] = {"by": by, "label": label} if label else {"by": by}
        elif key == "ignore":
            label, _, wanted = value.partition(":")
            strategy["ignoreClusterRolloutStatus"] = {"matchLabels": {label: wanted}}
        else:
            (strategy if key in _OUTER else body).update(pairs_of([word]))
    if body:
        strategy[_BODIES.get(kind, "all")] = body
    story.strategy = strategy
    return []


def _group_ref(word: str) -> Doc:
    """`canary` by name, `@2` by index, `{}` by nothing."""
    if word == "{}":
        return {}
    return {"groupIndex": int(word[1:])} if word.startswith("@") else {"groupName": word}


def declare_placement(story: Story, rest: str, lines: Lines) -> list[str]:
    """Form the groups anew from labels: `placement stable per=3`, with `dev: env=dev` as input."""
    grouping, *words = rest.split()
    options = pairs_of(words)
    strategy = _group_strategy(lines)
    if "per" in options:
        strategy["clustersPerDecisionGroup"] = options["per"]
    spec: Doc = {"decisionStrategy": {"groupStrategy": strategy}}
    doc: Doc = {
        "placement": {"metadata": {"name": "p"}, "spec": spec},
        "clusters": [{"name": name, "labels": its} for name, its in story.labels.items()],
        "grouping": grouping,
    }
    if grouping == Grouping.STABLE.value:
        doc["previous"] = story.groups.get("", [])
    try:
        question = decode(doc)
    except UserError as error:
        return problem_lines(error)
    if question.grouping is Grouping.STABLE:
        groups = stable_groups(question.placement, question.clusters, question.previous)
    else:
        groups = scheduler_groups(question.placement, question.clusters)
    story.groups = {
        "": [{"name": g.name, "index": g.index, "clusters": list(g.clusters)} for g in groups]
    }
    rows = [f"{g.name}@{g.index}: {' '.join(g.clusters)}".rstrip() for g in groups]
    return rows + [f"warning {warning.text()}" for warning in question.warnings]


def _group_strategy(lines: Lines) -> Doc:
    """Lines like `dev: env=dev`, or the groupStrategy as a document."""
    if lines and lines[0].strip() == "decisionGroups:":
        whole: Doc = yaml_of(lines)
        return whole
    return {"decisionGroups": [_declared(line) for line in lines]}


def _declared(line: str) -> Doc:
    name, _, wanted = line.strip().partition(":")
    words = wanted.split()
    selector = yaml_of((wanted,)) if wanted.strip()[:1] == "{" else {"matchLabels": pairs_of(words)}
    return {"groupName": name, "groupClusterSelector": {"labelSelector": selector}}
