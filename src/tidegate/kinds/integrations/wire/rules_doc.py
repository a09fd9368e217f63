"""How images move through shards, as a bundle says it: a strategy, and who goes together.

And when everything else is changed that is declared of them.

type: ProgressivePerGroup
progressivePerGroup: {minSuccessTime: 30m, progressDeadline: 2h, maxConcurrency: 5}
onFailure: rollback
groups:
- {name: canary, matchLabels: {tier: dev}}
- {name: stage, matchLabels: {tier: stage}}
runs: 3
failingRuns: 3
dryRun: {shard: ter-int-dev}
changes: {new: atOnce, overrides: atOnce, fields: waves, drift: atOnce, removals: byHand}
via: git
"""

from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import read_selector
from tidegate.kinds.integrations.core.waves.rules import (
    FAILING_RUNS_DEFAULT,
    REST,
    RUNS_DEFAULT,
    ChangePace,
    ChangeRules,
    Cohort,
    DryRunRule,
    ImageRules,
    MoveVia,
)
from tidegate.kinds.rollouts.core.strategy import StrategyType
from tidegate.kinds.rollouts.wire.strategy_doc import read_strategy
from tidegate.model.problem import nearest, shown


def read_rules(reader: Reader, where: str) -> ImageRules:
    """The rules; their problems are collected on the way."""
    groups = _groups(reader)
    runs = _runs(reader, "runs", RUNS_DEFAULT)
    failing = _runs(reader, "failingRuns", FAILING_RUNS_DEFAULT)
    dry_run = _dry_run(reader) if reader.has("dryRun") else None
    changes = reader.child("changes") if reader.has("changes") else None
    via = reader.choice("via", MoveVia, MoveVia.CLUSTER)
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
        via=via,
        changes=_changes(changes, strategy.type) if changes is not None else ChangeRules(),
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


# Strategies whose groups go one after the other by themselves.
_IN_WAVES = (StrategyType.PROGRESSIVE, StrategyType.PROGRESSIVE_PER_GROUP)
_PACES = {each.value: each for each in ChangePace}


def _changes(body: Reader, strategy: StrategyType) -> ChangeRules:
    found = ChangeRules(
        new=_pace(body, "new", strategy),
        overrides=_pace(body, "overrides", strategy),
        fields=_pace(body, "fields", strategy),
        drift=_pace(body, "drift", None),
        removals=_pace(body, "removals", None),
    )
    body.close()
    return found


def _pace(body: Reader, name: str, strategy: StrategyType | None) -> ChangePace:
    """When a class of change is carried out; `strategy` is None where waves have no meaning."""
    written = body.text(name)
    if written is None:
        return ChangePace.AT_ONCE
    pace = _PACES.get(written)
    if pace is None or (pace is ChangePace.WAVES and strategy is None):
        known = [each for each in _PACES if strategy is not None or each != ChangePace.WAVES.value]
        hint = nearest(written, known) or f"write one of {', '.join(known)}"
        body.problems.add(body.at(name), f"{shown(written)} is not known here", hint)
        return ChangePace.BY_HAND
    if pace is ChangePace.WAVES and name != "new" and strategy not in _IN_WAVES:
        names = " or ".join(each.value for each in _IN_WAVES)
        body.problems.add(body.at(name), "there are no waves", f"write type: {names}, or atOnce")
    return pace
