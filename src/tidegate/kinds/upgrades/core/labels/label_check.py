"""Whether labels may be changed as asked: by the rules that upgrades are decided by.

Refused is what the service would complain about and did not before, and what is asked for anew and
still wrong. An error that was there before and is not touched refuses nothing, so that of two one
can be fixed alone.
"""

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.kinds.upgrades.core.declared.label_error import LabelError, LabelErrors
from tidegate.kinds.upgrades.core.declared.organisation_policy import read_organisation_policy
from tidegate.kinds.upgrades.core.gates_ahead import strangers
from tidegate.kinds.upgrades.core.labels.label_edit import (
    APPROVALS,
    HolderChange,
    LabelHolder,
    changed,
    cluster_holders,
    org_holder,
)
from tidegate.kinds.upgrades.core.lint.canaries import canaries
from tidegate.kinds.upgrades.core.lint.label_text import written
from tidegate.kinds.upgrades.core.rules.fleet import gather
from tidegate.kinds.upgrades.core.rules.gates import KINDS
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant

# Findings that only warn: the owner may be about to write the rest.
_VAIN = ("sector-closed", "blocks-everything", "alike-names")


class LabelCheck(msgspec.Struct, frozen=True):
    """What is wrong with changes, a line each."""

    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class _Said(msgspec.Struct, frozen=True):
    """What is said of one holder's labels."""

    label_errors: tuple[LabelError, ...] = ()
    warnings: tuple[str, ...] = ()


def check(world: UpgradeWorld, changes: Iterable[HolderChange], now: Instant) -> LabelCheck:
    """What would be wrong after changes, and was not, or is written anew."""
    every = tuple(changes)
    after = changed(world, every)
    before_said, after_said = _said(world, now), _said(after, now)
    written = {each.holder: {one.label for one in each.edits} for each in every}
    refused: list[str] = []
    warnings: list[str] = []
    for holder, said in after_said.items():
        before = before_said.get(holder, _Said())
        known, mine = {each.label for each in before.label_errors}, written.get(holder)
        for each in said.label_errors:
            text = f"{holder.text()}: {each.text()}"
            if each.label not in known or (mine and each.label in mine):
                refused.append(text)
            elif mine is not None:
                warnings.append(text)
        new = [each for each in said.warnings if each not in before.warnings]
        warnings += [f"{holder.text()}: {each}" for each in new]
    known_so_far = set(_vain(world, now))
    warnings += [each for each in _vain(after, now) if each not in known_so_far]
    return LabelCheck(tuple(refused), (*warnings, *_odd_gates(every)))


def _vain(world: UpgradeWorld, now: Instant) -> Iterator[str]:
    """What labels ask for and will not get, as far as labels alone show it."""
    fleets = gather(world, now)
    seen = {each.id for each in world.orgs}
    for fleet in fleets:
        found = [each for each in written(fleet) if each.code in _VAIN]
        # A cluster of an organisation that is not visible here may go first.
        if seen.issuperset(fleet.org_policy.inherit):
            found += canaries(fleet, fleets).values()
        yield from (f"{each.owner}: {each.message}; {each.remedy}" for each in found)


def _odd_gates(changes: Iterable[HolderChange]) -> Iterator[str]:
    """Approvals without effect, because there is no such gate."""
    for change in changes:
        for edit in change.edits:
            items = LabelErrors().items(APPROVALS, edit.after) if edit.label == APPROVALS else ()
            for each in strangers(items):
                hint = nearest_or_all(each, KINDS)
                yield f'{change.holder.text()}: "{each}" is no kind of gate known here; {hint}'


def _said(world: UpgradeWorld, now: Instant) -> dict[LabelHolder, _Said]:
    """What is said of every organisation, and of every cluster with labels."""
    found: dict[LabelHolder, _Said] = {}
    for org in world.orgs:
        org_policy = read_organisation_policy(org.labels, org.id)
        found[org_holder(org)] = _Said(org_policy.label_errors, org_policy.warnings)
    holders = cluster_holders(world)
    for fleet in gather(world, now):
        for member in fleet.members:
            holder = holders[member.cluster.subscribed_as]
            found[holder] = _Said(member.label_errors, member.policy.warnings)
    return found
