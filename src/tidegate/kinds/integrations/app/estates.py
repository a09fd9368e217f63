"""The estate of a bundle, read again when asked for, and worked out again when it changed."""

import asyncio
from collections.abc import Callable

import msgspec

from tidegate.bundle.reader import ReadBundle
from tidegate.bundle.section import Bundle
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.workloads.estate import Estate, Site, estate_of
from tidegate.model.problem import Problems

# Within so long a bundle is not looked at again.
FRESH_S = 2.0


class BundleEstates:
    """The estate of a directory, or of a revision of a repository."""

    def __init__(
        self,
        open_tree: Callable[[], Tree],
        read: ReadBundle,
        site: Site | None = None,
        fresh_s: float = FRESH_S,
    ) -> None:
        self._open = open_tree
        self._read = read
        self._site = site or Site()
        self._fresh_s = fresh_s
        self._files: object = None
        self._estate = Estate(())
        self._read_at: float | None = None
        self._lock = asyncio.Lock()

    async def read(self) -> Estate:
        """The estate as it is now."""
        loop = asyncio.get_running_loop()
        async with self._lock:
            if self._read_at is None or loop.time() - self._read_at >= self._fresh_s:
                self._estate = await asyncio.to_thread(self._work_out)
                self._read_at = loop.time()
            return self._estate

    def _work_out(self) -> Estate:
        tree = self._open()
        files = dict(tree.files())
        if files != self._files:
            self._estate = estate_in(self._read(tree), self._site)
            self._files = files
        return self._estate


def estate_in(bundle: Bundle, site: Site) -> Estate:
    """The estate of a bundle; incomplete where anything in it is wrong."""
    problems = Problems()
    for finding in bundle.findings:
        if finding.severity == "error":
            problems.add(f"{finding.file}:{finding.line}", finding.message, finding.remedy)
    declared = INTEGRATIONS.of(bundle)
    found = estate_of(declared.integrations, declared.inventories, problems, site=site)
    return msgspec.structs.replace(found, complete=not problems.errors)
