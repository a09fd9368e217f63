"""Versions that no cluster of an organisation is upgraded to, as RE2 patterns."""

from collections.abc import Callable, Iterable

from tidegate.kinds.upgrades.app.owners.changes import LabelPlan, organisation_change
from tidegate.kinds.upgrades.app.owners.organisation import DeclaredOrganisation, OwnerDocument
from tidegate.kinds.upgrades.core.declared.patterns import (
    PatternError,
    comma_problem,
    is_found,
    split_patterns,
)
from tidegate.kinds.upgrades.core.labels.label_edit import BLOCKED
from tidegate.kinds.upgrades.core.versions import is_version, key_of
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.kinds.upgrades.wire.labels_doc import joined
from tidegate.model.document import Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

# At most this many versions are named; more do not fit on a line.
VERSIONS_SHOWN = 5

Patterns = Callable[[list[str]], list[str]]
"""The patterns that are wanted, given those that are there."""


class VersionBlock(Part, frozen=True, kw_only=True):
    """A pattern, and what it blocks of the versions that are offered now."""

    pattern: str
    versions: tuple[str, ...]
    # How many clusters are offered one of them; null: the pattern cannot be read.
    clusters: int | None
    # Why the pattern cannot be read; null: it can.
    error: str | None


class VersionBlockList(OwnerDocument, frozen=True, kw_only=True):
    """The patterns of versions that an organisation blocks."""

    org: str
    # As `version-blocks set -f` reads them.
    items: tuple[str, ...]
    blocks: tuple[VersionBlock, ...]


def list_version_blocks(declared: DeclaredOrganisation) -> VersionBlockList:
    """What an organisation blocks."""
    there = _patterns(declared)
    return VersionBlockList(
        warnings=declared.warnings,
        org=declared.org.id,
        items=tuple(there),
        blocks=tuple(version_block(each, declared.clusters()) for each in there),
    )


def _patterns(declared: DeclaredOrganisation) -> list[str]:
    return split_patterns(declared.org.labels.get(BLOCKED))


def version_block(pattern: str, labelled: Iterable[ManagedCluster]) -> VersionBlock:
    """What a pattern blocks of the versions that clusters are offered."""
    versions: set[str] = set()
    clusters, wanted = 0, pattern.strip()
    if "," in pattern:
        why = "; ".join(comma_problem(pattern))
        return VersionBlock(pattern=pattern, versions=(), clusters=None, error=why)
    try:
        for each in labelled:
            hit = [one for one in each.available_upgrades if wanted and is_found(wanted, one)]
            versions.update(hit)
            clusters += bool(hit)
    except PatternError as error:
        return VersionBlock(pattern=pattern, versions=(), clusters=None, error=str(error))
    some = tuple(sorted(filter(is_version, versions), key=key_of))
    return VersionBlock(pattern=pattern, versions=some, clusters=clusters, error=None)


def block_text(block: VersionBlock) -> str:
    """What a pattern blocks, in words."""
    if block.error is not None:
        return f"cannot be read: {block.error}"
    some = block.versions
    more = f" and {len(some) - VERSIONS_SHOWN} more" if len(some) > VERSIONS_SHOWN else ""
    return ", ".join(some[:VERSIONS_SHOWN]) + more or "nothing offered now"


def set_version_blocks(declared: DeclaredOrganisation, wanted: Patterns) -> LabelPlan:
    """Make the patterns what is wanted, with a note on what each new one blocks."""
    there = _patterns(declared)
    patterns = wanted(there)
    notes = []
    for each in patterns:
        if each not in there:
            block = version_block(each, declared.clusters())
            offered = f", offered to {block.clusters} clusters" if block.clusters else ""
            notes.append(f"{each}: {block_text(block)}{offered}")
    return LabelPlan(organisation_change(declared, {BLOCKED: joined(patterns)}), tuple(notes))


def without_patterns(patterns: Iterable[str]) -> Patterns:
    """The patterns that are there, without some; UserError for those that are not."""
    fewer = list(patterns)

    def wanted(there: list[str]) -> list[str]:
        known = [each.strip() for each in there]
        unknown = [each for each in fewer if each.strip() not in known]
        if unknown:
            raise UserError(
                tuple(
                    Problem(each, "not a blocked pattern", nearest_or_all(each, known))
                    for each in unknown
                )
            )
        return [each for each in there if each.strip() not in fewer]

    return wanted
