"""Bundles, read for every kind: only this module knows what each kind reads of one."""

from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.wiring.repositories import read_head, repository, working_files

if TYPE_CHECKING:
    from tidegate.bundle.file_reader import Progress
    from tidegate.bundle.section import Bundle, Sections
    from tidegate.git.tree_port import Tree
    from tidegate.machine.cache import Cache


def bundle_sections() -> "Sections":
    """What each kind reads of a bundle."""
    from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
    from tidegate.kinds.policies.bundle import POLICIES_SECTION
    from tidegate.kinds.promotions.bundle import PROMOTIONS_SECTION
    from tidegate.kinds.upgrades.bundle import UPGRADES_SECTION

    return (INTEGRATIONS, POLICIES_SECTION, PROMOTIONS_SECTION, UPGRADES_SECTION)


def bundle_rules() -> dict[str, str]:
    """What findings in a bundle are about, by the word that names it."""
    from tidegate.bundle.finding import RULES

    return RULES | {name: text for each in bundle_sections() for name, text in each.rules.items()}


def read_bundle(tree: "Tree", cache: "Cache", progress: "Progress | None" = None) -> "Bundle":
    """The bundle in a tree, read for every kind."""
    from tidegate.bundle.reader import read_bundle

    return read_bundle(tree, cache, bundle_sections(), progress)


def read_live_bundle(tree: "Tree", cache: "Cache", progress: "Progress | None" = None) -> "Bundle":
    """A bundle of our own, with the commits of the branches that it follows.

    Not for merge requests of strangers: the addresses of repositories are theirs to write.
    """
    from tidegate.kinds.integrations.app.estates import with_heads

    return with_heads(read_bundle(tree, cache, progress), read_head)


def bundle_cache(*, wanted: bool = True) -> "Cache":
    """Cached results of earlier bundle reads on this machine; or nothing."""
    from tidegate.machine.file_cache import FileCache, NoCache, cache_path

    return FileCache(cache_path()) if wanted else NoCache()


def mixed_versions(folder: Path, base: str, head: str | None) -> tuple[str, ...]:
    """Versions that a change of a bundle moves together and must not; no head: the working tree."""
    from tidegate.kinds.promotions.app.mixed_versions import mixed_versions as mixed

    committed = repository(folder)
    if head is not None:
        return mixed(committed, committed, base, head, committed.prefix)
    return mixed(committed, working_files(folder, committed), base, base, committed.prefix)
