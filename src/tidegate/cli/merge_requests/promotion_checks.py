"""What `tidegate verify` saw, recorded for the promotions in the journal that depend on it."""

from collections.abc import Iterator
from pathlib import Path

import click

from tidegate import wiring
from tidegate.cli.by_hand import any_store
from tidegate.cli.live import actor, opened
from tidegate.cli.merge_requests.running_shards import depending_shards, runs_of
from tidegate.engine.partition import PartitionState
from tidegate.git.port import Contents
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.shards import Units
from tidegate.kinds.integrations.app.verification import Verification
from tidegate.kinds.promotions.app.verification import record_verified, trials_in, verified
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.kinds.promotions.core.journal.facts import Verified
from tidegate.kinds.promotions.core.journal.known import PromotionState
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.kinds.promotions.rules import PromotionRules
from tidegate.model.errors import TidegateError
from tidegate.settings.settings import Settings
from tidegate.wiring import repositories


def record_checks(
    settings: Settings, folder: Path, tree: Tree, units: Units, found: Verification
) -> None:
    """Record which environments of promotions run their version, where that is news.

    Only environments whose shards were all verified are recorded, in journals that exist.
    """
    try:
        states = _states(settings)
        if not states:
            return
        facts = list(_facts(settings, folder, tree, units, found, states))
    except TidegateError as error:
        click.echo(f"warning: nothing is recorded for promotions: {error}", err=True)
        return
    for partition, fact in facts:
        with opened(settings.database, writes=True) as store:
            record_verified(store, partition, fact, actor(), wiring.clock().now())
        click.echo(f"recorded in {partition}: {fact.line()}", err=True)


def _states(settings: Settings) -> dict[str, PromotionState]:
    """The promotions that the journal knows."""
    found: dict[str, PromotionState] = {}
    with any_store(settings.database) as store:
        for name in store.partitions():
            if name.startswith(f"{KIND}/"):
                part = PartitionState(store, name, PromotionRules())
                part.catch_up()
                found[name] = part.state
    return found


def _facts(
    settings: Settings,
    folder: Path,
    tree: Tree,
    units: Units,
    found: Verification,
    states: dict[str, PromotionState],
) -> Iterator[tuple[str, Verified]]:
    files, root = _files(settings, folder)
    for partition, state in states.items():
        trials = trials_in(files, state, root)
        runs = runs_of(units, found, depending_shards(tree, trials, settings))
        if (fact := verified(state, runs)) is not None:
            yield partition, fact


def _files(settings: Settings, folder: Path) -> tuple[Files, str]:
    """The files that were verified, and the root of the bundle in their repository."""
    repository = repositories.repository(folder)
    contents: Contents = repository
    commit = repository.resolve(settings.revision or "HEAD")
    if not settings.revision:
        contents = repositories.working_files(folder, repository)
    root = root_in(repository.prefix)
    return Files(contents, commit, root), root
