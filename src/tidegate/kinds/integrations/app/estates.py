"""The estate of a bundle, read again when asked for, and worked out again when it changed."""

import asyncio
from collections.abc import Callable

import msgspec

from tidegate.bundle.finding import BundleFinding
from tidegate.bundle.reader import ReadBundle
from tidegate.bundle.section import Bundle
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.bundle.builder import DEFAULT_IMAGE
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.sharding.model import BranchHead, ImageBranch
from tidegate.kinds.integrations.core.workloads.estate import Estate, Site, estate_of
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problems

# The newest commit of a branch, by the address of its repository and its name.
ReadHead = Callable[[str, str], str]
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
        read_head: ReadHead | None = None,
    ) -> None:
        self._open = open_tree
        self._read = read
        self._site = site or Site()
        self._fresh_s = fresh_s
        # None: the commits of branches are not asked for.
        self._read_head = read_head
        self._bundle: Bundle | None = None
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
        bundle = self._bundle
        if bundle is None or files != self._files:
            bundle = self._read(tree)
        if self._read_head is not None:
            bundle = with_heads(bundle, self._read_head)
        if bundle is not self._bundle:
            self._estate = estate_in(bundle, self._site)
            self._files, self._bundle = files, bundle
        return self._estate


def followed_branches(bundle: Bundle) -> list[ImageBranch]:
    """The branches that decide what shards run which have no image written anywhere."""
    found = {
        managed.namespace.image.follows.key: managed.namespace.image.follows
        for integration in INTEGRATIONS.of(bundle).integrations
        for managed in integration.managed
        if managed.namespace.image.follows is not None and not managed.spec.get("imageRef")
    }
    return [found[key] for key in sorted(found)]


def with_heads(bundle: Bundle, read: ReadHead) -> Bundle:
    """A bundle with the commits of the branches that it follows, or why they are not known."""
    heads: dict[str, BranchHead] = {}
    for each in followed_branches(bundle):
        try:
            heads[each.key] = BranchHead(commit=read(each.url, each.branch))
        except (OutsideError, UserError) as error:
            heads[each.key] = BranchHead(why=str(error))
    declared = INTEGRATIONS.of(bundle)
    if heads == declared.heads:
        return bundle
    parts = bundle.parts | {INTEGRATIONS.name: msgspec.structs.replace(declared, heads=heads)}
    return msgspec.structs.replace(bundle, parts=parts)


def binding_errors(bundle: Bundle, site: Site) -> list[BundleFinding]:
    """The errors of a bundle that count at a site: a tag given by hand is a default image."""
    by_hand = "IMAGE_TAG" in site.parameters
    return [
        each
        for each in bundle.findings
        if each.severity == "error" and not (by_hand and each.rule == DEFAULT_IMAGE)
    ]


def site_in(bundle: Bundle, site: Site) -> Site:
    """A site with the commits of the branches that a bundle follows."""
    return msgspec.structs.replace(site, heads=INTEGRATIONS.of(bundle).heads)


def estate_in(bundle: Bundle, site: Site) -> Estate:
    """The estate of a bundle; incomplete where anything in it is wrong."""
    problems = Problems()
    for finding in binding_errors(bundle, site):
        problems.add(f"{finding.file}:{finding.line}", finding.message, finding.remedy)
    declared, site = INTEGRATIONS.of(bundle), site_in(bundle, site)
    found = estate_of(declared.integrations, declared.inventories, problems, site=site)
    errors = tuple(problems.errors)
    return msgspec.structs.replace(found, complete=not errors, problems=errors)
