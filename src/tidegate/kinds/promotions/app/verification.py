"""Whether the version of a promotion runs where the files of the bundle have it.

Which shards depend on an environment is found by a trial: its places get another version, nothing
of which is written, and the shards that would then get another image are its own.
"""

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace

from tidegate.journal.chain import JournalNote
from tidegate.kinds.promotions.app.checkout import PromotionCheckout
from tidegate.kinds.promotions.app.ports import PromotionPorts, TrialFiles
from tidegate.kinds.promotions.core.journal.facts import Verified
from tidegate.kinds.promotions.core.journal.known import (
    PromotionReading,
    PromotionState,
    wanted_versions,
)
from tidegate.kinds.promotions.core.journal.record import verified_fact
from tidegate.kinds.promotions.core.verification import EnvironmentRuns
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.versions import WrittenVersions, find_versions, rewritten
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.time import Instant
from tidegate.store.port import Store

# Versions for the trial: no commit is called so, and YAML reads both as text.
_TRIALS = ("f" * 40, "e" * 40)


async def environment_runs(
    ports: PromotionPorts,
    checkout: PromotionCheckout,
    reading: PromotionReading,
    requested: Mapping[str, str] | None = None,
) -> tuple[EnvironmentRuns, ...]:
    """What is seen of every environment whose files have a version that matters.

    That is the one that it is to get, or one that is requested for others: they may go after it.
    `requested`: the versions that people requested, by environment; empty: not known yet.
    """
    versions = _versions(checkout.written, reading, requested or {})
    trials = await asyncio.to_thread(
        trial_files, checkout.files, checkout.written, reading, checkout.root, versions
    )
    found = await _runs(ports, checkout.base, trials)
    return tuple(replace(each, version=versions.get(each.environment, "")) for each in found)


def _versions(
    written: WrittenVersions, reading: PromotionReading, requested: Mapping[str, str]
) -> dict[str, str]:
    """The version to look for in each environment, where it is not the newest."""
    found = dict(requested)
    some = dict.fromkeys((reading.version, *requested.values())) if requested else {}
    for environment in reading.promotion.environments if some else ():
        name = environment.name
        mine = [w for w in written.values if w.environment == name and w.is_commit]
        if not all(each.has(requested.get(name, reading.version)) for each in mine):
            there = next((one for one in some if all(each.has(one) for each in mine)), None)
            found |= {} if there is None else {name: there}
    return found


async def _runs(
    ports: PromotionPorts, base: str, trials: TrialFiles
) -> tuple[EnvironmentRuns, ...]:
    if ports.running is None:
        return tuple(EnvironmentRuns(environment=name) for name in trials)
    try:
        return tuple((await ports.running(base, trials)).values())
    except OutsideError as error:
        # What else was read still counts: only these environments wait.
        unread = (str(error),)
        return tuple(
            EnvironmentRuns(environment=name, shards=None, unread=unread) for name in trials
        )


def trial_files(
    files: Files,
    written: WrittenVersions,
    reading: PromotionReading,
    root: str,
    requested: Mapping[str, str] | None = None,
) -> TrialFiles:
    """Files with another version, for every environment that has the one that it is to get."""
    found: dict[str, Mapping[str, bytes]] = {}
    for environment in reading.promotion.environments:
        name = environment.name
        mine = [each for each in written.values if each.environment == name]
        commits = [each for each in mine if each.is_commit]
        if not commits or name in written.missing or name in written.unread:
            continue
        version = (requested or {}).get(name, reading.version)
        if all(each.has(version) for each in commits):
            other = next(each for each in _TRIALS if each != version)
            made = rewritten(files, written.spots, {name: other})
            found[name] = {f"{root}{path}": each.data for path, each in made.items()}
    return found


def trials_in(files: Files, state: PromotionState, root: str) -> TrialFiles:
    """The same in other files than those that were read: of a checkout, for example."""
    if state.read is None:
        return {}
    try:
        written = find_versions(files, state.read.promotion)
    except UserError:
        return {}
    return trial_files(files, written, state.read, root, wanted_versions(state))


def verified(state: PromotionState, seen: Mapping[str, EnvironmentRuns]) -> Verified | None:
    """What was seen on clusters, as a fact; None: it says nothing new."""
    if state.read is None:
        return None
    wanted = wanted_versions(state)
    on_clusters = [
        replace(each, version=wanted.get(each.environment, ""))
        for each in seen.values()
        if each.shards
    ]
    return verified_fact(state, state.read.version, on_clusters)


def record_verified(store: Store, partition: str, fact: Verified, actor: str, now: Instant) -> None:
    """Record what a person verified by hand in the journal of a promotion."""
    store.append(partition, [JournalNote(now, actor, fact)])
