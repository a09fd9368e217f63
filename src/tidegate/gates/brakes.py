"""All brakes of a world, and which of them cover which target.

Targets with the same labels are covered by the same brakes, so what covers a target is worked out
once for each combination of the labels any brake asks for, and once for each name one mentions:
100,000 targets in 4 regions with 3 holds by region are 4 coverages.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from tidegate.gates.approval import ApprovalGate
from tidegate.gates.block import Block
from tidegate.gates.budget import Budget
from tidegate.gates.claims import Claim
from tidegate.gates.expedite import Expedite
from tidegate.gates.freeze import Freeze, Frozen
from tidegate.gates.health import HealthGate
from tidegate.gates.hold import Hold
from tidegate.gates.mutex import Mutex
from tidegate.gates.pin import Pin
from tidegate.gates.scope import Cover, KindOfChange, Scope, cover
from tidegate.model.time import Duration

Labels = Mapping[str, Mapping[str, str]]
T = TypeVar("T", Hold, Block, Pin, Mutex, ApprovalGate, HealthGate)


class Brakes(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that may hold a target, whatever rolls out."""

    holds: tuple[Hold, ...] = ()
    freezes: tuple[Freeze, ...] = ()
    blocks: tuple[Block, ...] = ()
    pins: tuple[Pin, ...] = ()
    budgets: tuple[Budget, ...] = ()
    mutexes: tuple[Mutex, ...] = ()
    approvals: tuple[ApprovalGate, ...] = ()
    health: tuple[HealthGate, ...] = ()
    # Versions that skip some gates: they hold no target, and so cover none.
    expedites: tuple[Expedite, ...] = ()
    # The targets that have places of budgets and mutexes, over all rollouts.
    claims: tuple[Claim, ...] = ()
    # The kind of change this is; None: not known, so a brake for some kinds may cover it.
    kind: KindOfChange | None = None
    # What this rollout calls itself in claims; empty: no claim is known to be its own.
    partition: str = ""
    # The author of the change; None: not known.
    author: str | None = None
    # How long a change is expected to take; None: not known.
    apply_time: Duration | None = None


class Covered(msgspec.Struct, frozen=True, kw_only=True):
    """Brakes that cover a target, of each kind."""

    holds: tuple[Hold, ...] = ()
    freezes: tuple[Frozen, ...] = ()
    blocks: tuple[Block, ...] = ()
    pins: tuple[Pin, ...] = ()
    # With the value of the label each is counted by.
    budgets: tuple[tuple[Budget, str | None], ...] = ()
    mutexes: tuple[Mutex, ...] = ()
    approvals: tuple[ApprovalGate, ...] = ()
    health: tuple[HealthGate, ...] = ()


class Coverage(msgspec.Struct, frozen=True):
    """What covers a target, and what may, for all we know."""

    surely: Covered
    perhaps: Covered


class Coverages:
    """Which brakes cover which target; targets alike share one coverage."""

    def __init__(self, brakes: Brakes, labels: Labels) -> None:
        self._brakes = in_order(brakes)
        self._labels = labels
        scopes = _scopes(brakes)
        asked = {
            requirement.key
            for scope in scopes
            if scope.selector is not None
            for requirement in scope.selector.requirements
        }
        self._keys = sorted(asked | {budget.per for budget in brakes.budgets if budget.per})
        self._names = frozenset(
            name for scope in scopes if scope.targets is not None for name in scope.targets
        )
        # By the labels asked for; None: the labels are not known.
        self._alike: dict[tuple[str | None, ...] | None, Coverage] = {}
        self._named: dict[str, Coverage] = {}
        self._same: dict[object, Coverage] = {}

    def of_all(self, names: Iterable[str]) -> list[Coverage]:
        """The coverage of every name, in their order."""
        if not self._keys and not self._names:  # no brake selects by name
            one = self.of("")
            return [one for _ in names]
        # The same as `of` for each, at a third of the cost: there may be 100,000 of them.
        labels, keys, named, alike = self._labels, self._keys, self._names, self._alike
        found: list[Coverage] = []
        for name in names:
            its = labels.get(name)
            known = alike.get(None if its is None else tuple(map(its.get, keys)))
            if known is None or name in named:
                known = self.of(name)
            found.append(known)
        return found

    def of(self, name: str) -> Coverage:
        """What covers one target."""
        its = self._labels.get(name)
        if name in self._names:
            found = self._named.get(name)
            if found is None:
                found = self._named[name] = self._cover(name, its)
            return found
        likeness = None if its is None else tuple(map(its.get, self._keys))
        found = self._alike.get(likeness)
        if found is None:
            found = self._alike[likeness] = self._cover(name, its)
        return found

    def _cover(self, name: str, its: Mapping[str, str] | None) -> Coverage:
        """Compute the coverage; equal ones are one object."""
        surely, perhaps = (self._covered(name, its, each) for each in (Cover.YES, Cover.UNSURE))
        return self._same.setdefault(
            (_identity(surely), _identity(perhaps)), Coverage(surely, perhaps)
        )

    def _covered(self, name: str, its: Mapping[str, str] | None, wanted: Cover) -> Covered:
        brakes = self._brakes

        def these(found: tuple[T, ...]) -> tuple[T, ...]:
            return tuple(each for each in found if says(each.scope) is wanted)

        def says(scope: Scope) -> Cover:
            return cover(scope, brakes.kind, name, its)

        return Covered(
            holds=these(brakes.holds),
            freezes=tuple(
                (each, tuple(one for one in each.exemptions if says(one.scope) is Cover.YES))
                for each in brakes.freezes
                if says(each.scope) is wanted
            ),
            blocks=these(brakes.blocks),
            pins=these(brakes.pins),
            budgets=tuple(
                (each, its.get(each.per) if its is not None else None)
                for each in brakes.budgets
                if _counts(each, says(each.scope), its) is wanted
            ),
            mutexes=these(brakes.mutexes),
            approvals=these(brakes.approvals),
            health=these(brakes.health),
        )


def concerning(brakes: Brakes, names: Iterable[str], labels: Labels) -> Brakes | None:
    """The brakes that cover any of these targets, or may, with the claims on them; None: none."""
    coverages = {id(each): each for each in Coverages(brakes, labels).of_all(names)}.values()
    found: dict[str, dict[int, object]] = {field: {} for field in LISTS}
    for coverage in coverages:
        for covered in (coverage.surely, coverage.perhaps):
            for field in LISTS:
                for each in getattr(covered, field):
                    one = each[0] if isinstance(each, tuple) else each
                    found[field][id(one)] = one
    kept: dict[str, Any] = {
        field: tuple(each for each in getattr(brakes, field) if id(each) in found[field])
        for field in LISTS
    }
    shared = {f"budget/{each.name}" for each in kept["budgets"]}
    shared |= {f"mutex/{each.name}" for each in kept["mutexes"]}
    claims = tuple(
        each
        for each in brakes.claims
        if each.partition == brakes.partition or _is_of(each.name, shared)
    )
    # Only upgrades read them, so no rollout is bound by one.
    kept["expedites"] = brakes.expedites if brakes.kind is KindOfChange.UPGRADES else ()
    if not claims and not any(kept.values()):
        return None
    return in_order(msgspec.structs.replace(brakes, claims=claims, **kept))


def confined(brakes: Brakes, names: Iterable[str] | None, labels: Labels) -> Brakes:
    """The brakes that may say something of these targets, and no other; all, if None are known.

    So a decision, and what is recorded of it, stay the same under brakes that cover nothing of it.
    """
    if names is None:
        return brakes
    none: dict[str, Any] = dict.fromkeys((*KEPT, "claims"), ())
    return concerning(brakes, names, labels) or msgspec.structs.replace(brakes, **none)


def touches(
    before: Brakes,
    after: Brakes,
    kind: KindOfChange | None,
    names: Iterable[str] | None,
    labels: Labels,
) -> bool:
    """Whether brakes that are in one of both only may say something of one of these targets.

    `names`: those of all targets of a rollout; None: they are not known. What is shared, asked of
    people or of evidence, or skips gates, may say something of every rollout.
    """
    changed = changed_brakes(before, after)
    return changed is not None and may_concern(changed, kind, names, labels)


def changed_brakes(before: Brakes, after: Brakes) -> Brakes | None:
    """The brakes that are in one of both only; None: both are the same."""
    changed: dict[str, Any] = {
        field: _changed(getattr(before, field), getattr(after, field)) for field in KEPT
    }
    return Brakes(**changed) if any(changed.values()) else None


def may_concern(
    changed: Brakes, kind: KindOfChange | None, names: Iterable[str] | None, labels: Labels
) -> bool:
    """Whether brakes that changed may say something of one of these targets, as `touches` has it.

    Apart from it, since what changed is the same for a thousand rollouts.
    """
    if names is None or any(getattr(changed, each) for each in KEPT if each not in _HOLDING):
        return True
    named = named_only(changed)
    if named is not None and named.isdisjoint(names):
        return False
    return concerning(msgspec.structs.replace(changed, kind=kind), names, labels) is not None


def named_only(brakes: Brakes) -> frozenset[str] | None:
    """The only targets that these brakes may cover; None: one of them covers not only by name."""
    scopes = [each.scope for field in LISTS for each in getattr(brakes, field)]
    if any(each.targets is None for each in scopes):
        return None
    return frozenset(name for each in scopes for name in each.targets)


def _changed(before: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is in one of them only, with all of the same name: it may be written in two places."""
    if before is after:
        return ()
    then, now = _grouped(before), _grouped(after)
    different = [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]
    return tuple(each for name in different for some in (then, now) for each in some.get(name, ()))


def _grouped(brakes: tuple[Any, ...]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for each in brakes:
        found.setdefault(each.name, []).append(each)
    return found


# What kinds of brakes there are, by the field that lists them.
LISTS = Covered.__struct_fields__
# And whatever is kept beside them.
KEPT = (*LISTS, "expedites")
# Brakes that say nothing of a target that they do not cover.
_HOLDING = ("holds", "freezes", "blocks", "pins")


def _is_of(claim: str, shared: set[str]) -> bool:
    """Whether a claim is a place of one of these: budget/eu-cap/eu is one of budget/eu-cap."""
    return claim in shared or any(claim.startswith(f"{name}/") for name in shared)


def _identity(it: Covered) -> tuple[object, ...]:
    """Which brakes these are; they live as long as the coverages, so their identity will do."""
    plain = (*it.holds, *it.blocks, *it.pins, *it.mutexes, *it.approvals, *it.health)
    frozen = ((id(freeze), *map(id, exempt)) for freeze, exempt in it.freezes)
    return (*map(id, plain), *frozen, *((id(budget), value) for budget, value in it.budgets))


def _counts(budget: Budget, covered: Cover, its: Mapping[str, str] | None) -> Cover:
    """A budget by the value of a label is unsure of targets whose labels are not known."""
    by_label = bool(budget.per) and its is None
    return Cover.UNSURE if by_label and covered is Cover.YES else covered


def _scopes(brakes: Brakes) -> list[Scope]:
    named: list[Hold | Freeze | Block | Pin | Budget | Mutex | ApprovalGate | HealthGate] = [
        *brakes.holds,
        *brakes.freezes,
        *brakes.blocks,
        *brakes.pins,
        *brakes.budgets,
        *brakes.mutexes,
        *brakes.approvals,
        *brakes.health,
    ]
    exempt = [one.scope for freeze in brakes.freezes for one in freeze.exemptions]
    return [each.scope for each in named] + exempt


def in_order(brakes: Brakes) -> Brakes:
    """The same brakes by name, so that what they say does not depend on how they were listed."""
    return msgspec.structs.replace(
        brakes,
        holds=tuple(sorted(brakes.holds, key=_by_name)),
        freezes=tuple(sorted(brakes.freezes, key=_by_name)),
        blocks=tuple(sorted(brakes.blocks, key=_by_name)),
        pins=tuple(sorted(brakes.pins, key=_by_name)),
        budgets=tuple(sorted(brakes.budgets, key=_by_name)),
        mutexes=tuple(sorted(brakes.mutexes, key=_by_name)),
        approvals=tuple(sorted(brakes.approvals, key=_by_name)),
        health=tuple(sorted(brakes.health, key=_by_name)),
    )


def _by_name(
    each: Hold | Freeze | Block | Pin | Budget | Mutex | ApprovalGate | HealthGate,
) -> str:
    return each.name
