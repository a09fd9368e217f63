"""The estate of a bundle, and the part of it that is asked about."""

from collections.abc import Callable, Iterable

import msgspec

from tidegate.bundle.reader import ReadBundle
from tidegate.bundle.section import Bundle
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.digests import Digests
from tidegate.kinds.integrations.app.estates import binding_errors, site_in
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.sharding.selection import Selection, check_names
from tidegate.kinds.integrations.core.workloads.estate import Estate, Site, estate_of
from tidegate.kubernetes.port import Cluster
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem, Problems
from tidegate.registry.port import Registry

# The cluster of a name; OutsideError if there is no access to it.
FindCluster = Callable[[str], Cluster]


class EstateView(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle as it was read, its estate, and the part that is asked about."""

    tree: Tree
    bundle: Bundle
    estate: Estate
    selection: Selection
    # What is wrong with the bundle, a line each.
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # Names that are asked about and do not exist.
    unknown: tuple[Problem, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the bundle."""
        return not self.problems

    def check(self) -> None:
        """UserError if a name that is asked about does not exist."""
        if self.unknown:
            raise UserError(self.unknown)

    def namespaces(self) -> dict[str, set[str]]:
        """Where to look, by cluster: all namespaces of every cluster that is asked about."""
        spaces: dict[str, set[str]] = {}
        wanted: set[str] = set()
        environments = {
            (place.managed.namespace.cluster, place.managed.namespace.name): (
                place.managed.namespace.environment
            )
            for place in self.estate.places
        }
        for piece in self.estate.pieces():
            spaces.setdefault(piece.cluster, set()).add(piece.namespace)
            if self.selection.takes(piece, environments[piece.cluster, piece.namespace]):
                wanted.add(piece.cluster)
        return {cluster: spaces[cluster] for cluster in sorted(wanted)}


async def read_estate(
    tree: Tree,
    read: ReadBundle,
    site: Site,
    registry: Registry | None = None,
    selection: Selection | None = None,
) -> EstateView:
    """Read a bundle; UserError if it has no files."""
    selection = selection or Selection()
    bundle = read(tree)
    check_files(bundle, tree.prefix)
    errors = binding_errors(bundle, site)
    lines = [
        f"{tree.prefix}{each.file}:{each.line}: {each.message}; {each.remedy}".rstrip("; ")
        for each in errors
    ]
    problems, unknown = Problems(), Problems()
    declared, site = INTEGRATIONS.of(bundle), site_in(bundle, site)
    plain = estate_of(declared.integrations, declared.inventories, problems, site=site)
    estate = await settled(plain, registry, problems)
    known = {each.message for each in errors}
    check_names(selection, plain, unknown)
    return EstateView(
        tree=tree,
        bundle=bundle,
        estate=estate,
        selection=selection,
        problems=(*lines, *(p.text() for p in problems.errors if p.message not in known)),
        warnings=tuple(each.text() for each in problems.warnings),
        unknown=tuple(unknown.errors),
    )


def check_files(bundle: Bundle, where: str) -> None:
    """UserError for a directory that holds no bundle."""
    if not bundle.files:
        problem = Problem("", "no YAML file", "name the directory of a bundle")
        raise UserError((problem,), where=where.rstrip("/") or ".")


async def settled(estate: Estate, registry: Registry | None, problems: Problems) -> Estate:
    """An estate with the digests of its tags, where a registry is given that knows them."""
    if registry is None:
        return estate
    digests = Digests(registry)
    try:
        return await digests.settle(estate, problems)
    finally:
        await digests.close()


def open_clusters(
    names: Iterable[str], find: FindCluster
) -> tuple[dict[str, Cluster], dict[str, str]]:
    """The clusters of these names, and why there is no access to some."""
    opened: dict[str, Cluster] = {}
    shut: dict[str, str] = {}
    for name in names:
        try:
            opened[name] = find(name)
        except OutsideError as error:
            shut[name] = str(error)
    return opened, shut
