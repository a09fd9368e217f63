"""How images move through shards, as a bundle says it: a strategy, and who goes together.

type: ProgressivePerGroup
progressivePerGroup: {minSuccessTime: 30m, progressDeadline: 2h, maxConcurrency: 5}
onFailure: rollback
groups:
- {name: canary, matchLabels: {tier: dev}}
- {name: stage, matchLabels: {tier: stage}}
runs: 3
failingRuns: 3
dryRun: {shard: ter-int-dev}
"""

from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import read_selector
from tidegate.kinds.integrations.core.waves.rules import (
    FAILING_RUNS_DEFAULT,
    REST,
    RUNS_DEFAULT,
    Cohort,
    DryRunRule,
    ImageRules,
)
from tidegate.kinds.rollouts.core.strategy import StrategyType
from tidegate.kinds.rollouts.wire.strategy_doc import read_strategy
from tidegate.model.problem import shown


def read_rules(reader: Reader, where: str) -> ImageRules:
    """The rules; their problems are collected on the way."""
    groups = _groups(reader)
    runs = _runs(reader, "runs", RUNS_DEFAULT)
    failing = _runs(reader, "failingRuns", FAILING_RUNS_DEFAULT)
    dry_run = _dry_run(reader) if reader.has("dryRun") else None
    reader.raw("$schema")
    reader.raw("name")
    strategy = read_strategy(reader)
    if groups and strategy.type is StrategyType.ALL:
        reader.problems.warn(
            reader.at("groups"),
            "not read under All: all shards go at once",
            "write type: ProgressivePerGroup, or drop them",
        )
    if dry_run is not None and strategy.type is StrategyType.ALL:
        reader.problems.add(
            reader.at("dryRun"), "not awaited under All", "write type: Progressive, or drop it"
        )
    return ImageRules(
        strategy=strategy,
        groups=groups,
        runs=runs,
        failing_runs=failing,
        dry_run=dry_run,
        where=where,
    )


def _groups(reader: Reader) -> tuple[Cohort, ...]:
    found: list[Cohort] = []
    for each in reader.children("groups"):
        name = each.text("name") or ""
        if not name:
            each.problems.add(each.at("name"), "missing", "name the group: canary, stage, prod")
        elif name == REST or name in {known.name for known in found}:
            taken = "is the name of those that no group chooses" if name == REST else "is twice"
            each.problems.add(each.at("name"), f"{shown(name)} {taken}", "choose another name")
        selector = read_selector(each)
        if name and not selector.requirements:
            each.problems.add(
                each.path,
                f"group {shown(name)} chooses all shards",
                f"write matchLabels; those that no group chooses go last as {shown(REST)}",
            )
        found.append(Cohort(name, selector))
    return tuple(found)


def _runs(reader: Reader, name: str, default: int) -> int:
    count = reader.whole(name)
    if count == 0 and name == "failingRuns":
        reader.problems.add(reader.at(name), "0 would fail all shards at once", "write 1 or more")
    return default if count is None else count


def _dry_run(reader: Reader) -> DryRunRule:
    body = reader.child("dryRun")
    found = DryRunRule(body.text("shard"), tuple(body.texts("accepts")))
    body.close()
    return found
