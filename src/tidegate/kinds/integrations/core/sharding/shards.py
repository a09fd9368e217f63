"""Which shards there are: every item of an inventory, or every number, with what is set for it.

What the existing system passes over in silence is a problem here: an override for a shard that does
not exist, two for the same one, a count of 0, two shards of one name. A problem is of one place an
integration runs in, and stops no other.
"""

from collections.abc import Iterable, Mapping, Sequence

from tidegate.kinds.integrations.core.sharding.model import (
    Integration,
    Managed,
    Override,
    ShardKey,
    WorkloadShard,
)
from tidegate.kinds.integrations.core.sharding.names import (
    CRON_LENGTH_MAX,
    LENGTH_MAX,
    workload_name,
)
from tidegate.kinds.integrations.core.sharding.strategies import ALIASES, STATIC, STRATEGIES
from tidegate.model.problem import Problems, nearest, shown

# Items by inventory, in the order in which they are listed.
Inventories = Mapping[str, Sequence[ShardKey]]
# What each integration takes on its command line; None: everything, as far as is known.
Options = Mapping[str, Sequence[str]] | None


def shards_of(
    integration: Integration,
    managed: Managed,
    inventories: Inventories,
    options: Options,
    problems: Problems,
) -> tuple[WorkloadShard, ...]:
    """The shards of an integration in one place; none where something is wrong with it."""
    before = len(problems.errors)
    sharding = managed.sharding
    strategy = ALIASES.get(sharding.strategy, sharding.strategy)
    if strategy == STATIC:
        found = _static(integration, managed, problems)
    elif strategy in STRATEGIES:
        found = _by_key(integration, managed, strategy, inventories, options, problems)
    else:
        known = (STATIC, *STRATEGIES)
        hint = nearest(strategy, known) or f"write one of {', '.join(known)}"
        problems.add(sharding.where, f"no strategy {shown(strategy)}", hint)
        found = ()
    return found if len(problems.errors) == before else ()


def _static(
    integration: Integration, managed: Managed, problems: Problems
) -> tuple[WorkloadShard, ...]:
    sharding = managed.sharding
    count = 1 if sharding.shards is None else sharding.shards
    if count < 1:
        remedy = "write 1 or more; to stop it, take it out of managed"
        problems.add(sharding.where, f"{count} shards would remove every workload", remedy)
        return ()
    names = [str(i) for i in range(count)]
    overrides = _by_shard(sharding.overrides, names, (), "shard", problems)
    for each in sharding.overrides:
        if each.sub_shards is not None:
            problems.add(each.where, "a static shard has no sub-shards", "write more shards")
    return tuple(
        _shard(
            integration,
            managed,
            suffix=f"-{i}" if count > 1 else "",
            override=overrides.get(str(i)),
            index=i,
            count=count,
        )
        for i in range(count)
    )


def _by_key(
    integration: Integration,
    managed: Managed,
    strategy: str,
    inventories: Inventories,
    options: Options,
    problems: Problems,
) -> tuple[WorkloadShard, ...]:
    sharding, row = managed.sharding, STRATEGIES[strategy]
    if sharding.shards is not None:
        remedy = "drop it, or write subSharding for one shard"
        problems.add(sharding.where, f"shards stands beside {strategy}", remedy)
    if options is not None and row.option not in options.get(integration.name, ()):
        what = f"{integration.name} does not take {row.option}, which {strategy} needs"
        problems.add(sharding.where, what, "choose another strategy, or teach it the option")
        return ()
    every = inventories.get(row.inventory, ())
    items = [item for item in every if integration.name not in item.disabled_for]
    away = [item.name for item in every if integration.name in item.disabled_for]
    names = [item.name for item in items]
    overrides = _by_shard(sharding.overrides, names, away, row.noun, problems)
    found: list[WorkloadShard] = []
    for item in items:
        override = overrides.get(item.name)
        count = override.sub_shards if override is not None else None
        if count is not None and count < 1 and override is not None:
            problems.add(override.where, f"{count} sub-shards", "write 1 or more, or drop it")
            continue
        for index in range(count) if count is not None else (None,):
            suffix = item.suffix if index is None else f"{item.suffix}-{index}"
            found.append(
                _shard(integration, managed, suffix, override, index, count, item, row.option)
            )
    return tuple(found)


def _by_shard(
    overrides: Iterable[Override],
    names: Sequence[str],
    away: Sequence[str],
    noun: str,
    problems: Problems,
) -> dict[str, Override]:
    """Overrides by the shard they are for: one each, and each for a shard there is."""
    found: dict[str, Override] = {}
    for each in overrides:
        if each.shard in found:
            first = found[each.shard].where
            problems.add(
                each.where,
                f"a second override for {shown(each.shard)}" + (f"; see {first}" if first else ""),
                "keep one of them",
            )
        elif each.shard in away:
            what = f"{noun} {shown(each.shard)} disables this integration"
            problems.warn(each.where, what, "drop the override")
        elif each.shard not in names:
            hint = nearest(each.shard, names) or "drop the override"
            problems.add(each.where, f"no {noun} {shown(each.shard)}", hint)
        found.setdefault(each.shard, each)
    return found


def _shard(
    integration: Integration,
    managed: Managed,
    suffix: str,
    override: Override | None,
    index: int | None,
    count: int | None,
    item: ShardKey | None = None,
    option: str = "",
) -> WorkloadShard:
    spec, namespace = managed.spec, managed.namespace
    own = str(spec.get("extraArgs") or "").strip()
    given = f"{option} {item.argument}" if item is not None else ""
    labels = {
        **namespace.labels,
        **(item.labels if item is not None else {}),
        "integration": integration.name,
        "environment": namespace.environment,
        "cluster": namespace.cluster,
        "namespace": namespace.name,
    }
    length = CRON_LENGTH_MAX if spec.get("cron") else LENGTH_MAX
    return WorkloadShard(
        integration=integration.name,
        namespace=namespace.path,
        workload=workload_name(integration.name, suffix, length),
        key=item.key if item is not None else "",
        uid=item.uid if item is not None else "",
        index=index,
        count=count,
        arguments=" ".join(part for part in (own, given) if part),
        override=override,
        labels=labels,
        where=managed.where,
    )


def collisions(shards: Iterable[WorkloadShard], problems: Problems) -> None:
    """Two workloads of one name in one namespace: which they are."""
    seen: dict[tuple[str, str], WorkloadShard] = {}
    for shard in shards:
        other = seen.setdefault((shard.namespace, shard.workload), shard)
        if other is not shard:
            one, two = (f"{each.integration} {each.name or 'whole'}" for each in (other, shard))
            what = f"{shown(shard.workload)} is both {one} and {two}"
            problems.add(
                shard.where or shard.namespace, what, "rename one, or list the integration once"
            )
