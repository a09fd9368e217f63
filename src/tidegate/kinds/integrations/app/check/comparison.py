"""A bundle before and after a change: the estates of both revisions, and new findings.

The base is the commit where the head branched off, so that what others merged meanwhile is not
part of the change; a working tree branched off where its own commit did.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from tidegate.bundle.finding import BundleFinding
from tidegate.bundle.leaf import schemas_in
from tidegate.bundle.reader import ReadBundle
from tidegate.bundle.section import Bundle
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.estate import check_files, settled
from tidegate.kinds.integrations.app.estates import estate_in
from tidegate.kinds.integrations.core.review.effect import Effects, effects_of
from tidegate.kinds.integrations.core.workloads.estate import Estate, Site
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems
from tidegate.registry.port import Registry

WORKING_TREE = "the working tree"
# So much of a commit is shown.
SHORT = 7
# Where a bundle has its data if it has other folders beside them, and the folder they refer to.
DATA, RESOURCES = "data/", "resources/"
# A place in a file within the text of a finding.
_LINE = re.compile(r"(\.ya?ml):\d+(:\d+)?")


class RevisionSource(Protocol):
    """The repository that a bundle is in."""

    @property
    def name(self) -> str:
        """The directory of the bundle."""
        ...

    def parting(self, base: str, head: str | None) -> str:
        """The commit where a head left its base; of a working tree, where its commit did."""
        ...

    def tree(self, revision: str | None, *, must_exist: bool = True) -> Tree:
        """The files of the bundle in a revision; None: as they are on disk."""
        ...

    def changed_files(self, base: str, head: str | None) -> tuple[str, ...]:
        """Every file of the repository that differs."""
        ...

    def root_file(self, revision: str | None, name: str) -> bytes | None:
        """A file at the root of the repository; None: there is no such file."""
        ...

    def mixed(self, base: str, head: str | None) -> tuple[tuple[str, ...], str]:
        """Versions that must not move in one change and do, and why that is not known."""
        ...


class Side(msgspec.Struct, frozen=True):
    """A bundle as one of two revisions has it."""

    # None: not a commit, but the working tree.
    commit: str | None
    tree: Tree
    # The identity of each file.
    files: Mapping[str, str]
    bundle: Bundle
    estate: Estate
    # What a registry did not answer about its images.
    troubles: tuple[Problem, ...]

    @property
    def name(self) -> str:
        """What people call it."""
        return WORKING_TREE if self.commit is None else self.commit[:SHORT]


async def compare(
    source: RevisionSource,
    base: str,
    head: str | None,
    read: ReadBundle,
    site: Site,
    registry: Registry | None = None,
) -> "RevisionComparison":
    """Read both sides of a change; UserError if the head has no files."""

    async def side(revision: str | None, *, must_exist: bool = True) -> Side:
        tree = source.tree(revision, must_exist=must_exist)
        bundle = read(tree)
        problems = Problems()
        estate = await settled(estate_in(bundle, site), registry, problems)
        commit = None if revision is None else str(getattr(tree, "commit", revision))
        return Side(commit, tree, tree.files(), bundle, estate, tuple(problems.errors))

    before = await side(source.parting(base, head), must_exist=False)
    after = await side(head)
    check_files(after.bundle, source.name)
    return RevisionComparison(source, (base, head), before, after)


class RevisionComparison:
    """Both sides of a change."""

    def __init__(
        self, source: RevisionSource, asked: tuple[str, str | None], base: Side, head: Side
    ) -> None:
        self._source = source
        # The revisions as they were asked for.
        self.asked = asked
        self.base, self.head = base, head

    def check_folder(self) -> None:
        """UserError where no integration is declared: "nothing is affected" would always be so."""
        if any(side.bundle.kinds.get("integration") for side in (self.head, self.base)):
            return
        what = "no integration is declared, before or after"
        problem = Problem("", what, "name the directory of a bundle")
        raise UserError((problem,), where=self._source.name)

    @property
    def words(self) -> str:
        """Which commits are compared."""
        base, head = self.asked
        other = head or "HEAD"
        return f"{self.base.name} (where {other} branched from {base}) … {self.head.name}"

    @functools.cached_property
    def effects(self) -> Effects:
        """What becomes of every workload."""
        return effects_of(self.base.estate, self.head.estate)

    @functools.cached_property
    def changed(self) -> tuple[str, ...]:
        """The files of the bundle that differ, by their path from its root, in order."""
        old, new = self.base.files, self.head.files
        return tuple(sorted(path for path in {**old, **new} if old.get(path) != new.get(path)))

    @functools.cached_property
    def changed_schemas(self) -> dict[str, frozenset[str]]:
        """Those files, each with the schemas of its documents before and after.

        And the files beside the bundle that files in it name, each with the schemas of those.
        """
        found: dict[str, frozenset[str]] = dict.fromkeys(self.changed, frozenset())
        for side in (self.base, self.head):
            there = [path for path in self.changed if path in side.files]
            for path, raw in side.tree.read(there):
                found[path] |= schemas_in(raw)
        beside = {name: name.removeprefix(RESOURCES[:-1]).encode() for name in self._resources()}
        for side in (self.base, self.head) if beside else ():
            for _, raw in side.tree.read(side.files):
                for name in (name for name, named in beside.items() if named in raw):
                    found[name] = found.get(name, frozenset()) | schemas_in(raw)
        return found

    def _resources(self) -> tuple[str, ...]:
        """Files beside the data of the bundle that differ: `resources/terraform/bucket.tf`."""
        root = self.base.tree.prefix
        if not root.endswith(DATA):
            return ()
        root = root.removesuffix(DATA)
        every = self._source.changed_files(str(self.base.commit), self.head.commit)
        return tuple(
            path.removeprefix(root) for path in every if path.startswith(f"{root}{RESOURCES}")
        )

    @functools.cached_property
    def new_findings(self) -> tuple[BundleFinding, ...]:
        """Findings that are there only since this change."""
        return unmatched(self.head.bundle.findings, self.base.bundle.findings)

    @functools.cached_property
    def fixed_findings(self) -> tuple[BundleFinding, ...]:
        """Findings that this change fixes."""
        return unmatched(self.base.bundle.findings, self.head.bundle.findings)

    @property
    def new_errors(self) -> tuple[BundleFinding, ...]:
        """New findings that make a part of the bundle unusable."""
        return tuple(each for each in self.new_findings if each.severity == "error")

    @property
    def mixed(self) -> tuple[str, ...]:
        """Versions that must not move in one change, and do."""
        return self._mixed[0]

    @property
    def mixed_trouble(self) -> str:
        """Why it is not known which versions move; empty: it is known."""
        return self._mixed[1]

    @functools.cached_property
    def _mixed(self) -> tuple[tuple[str, ...], str]:
        assert self.base.commit is not None, "the base is a commit"
        return self._source.mixed(self.base.commit, self.head.commit)

    def root_file(self, name: str) -> tuple[bytes | None, bytes | None]:
        """A file at the root of the repository, before and after; None: there was none."""
        old, new = (self._source.root_file(side.commit, name) for side in (self.base, self.head))
        return old, new


def new_errors(before: Bundle, after: Bundle) -> tuple[Problem, ...]:
    """Errors of a bundle that it did not have before."""
    return tuple(
        Problem(f"{each.file}:{each.line}", each.message, each.remedy)
        for each in unmatched(after.findings, before.findings)
        if each.severity == "error"
    )


def unmatched(
    some: Iterable[BundleFinding], others: Iterable[BundleFinding]
) -> tuple[BundleFinding, ...]:
    """Findings that the others do not have as well, at whatever line of the file."""
    known = Counter(map(_words, others))
    found: list[BundleFinding] = []
    for each in some:
        words = _words(each)
        if known[words]:
            known[words] -= 1
        else:
            found.append(each)
    return tuple(found)


def _words(finding: BundleFinding) -> tuple[str, ...]:
    texts = finding.file, finding.severity, finding.rule, finding.message, finding.value
    return tuple(_LINE.sub(r"\1", text) for text in texts)
