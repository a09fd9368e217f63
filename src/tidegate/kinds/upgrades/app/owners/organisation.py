"""One organisation as its owner sees it: what its labels declare, and its clusters by any name."""

from collections.abc import Iterable

import msgspec

from tidegate.gates.block import is_like
from tidegate.kinds.upgrades.app.owners.label_writer import read_declared
from tidegate.kinds.upgrades.app.read.worlds import world_of
from tidegate.kinds.upgrades.core.labels.label_edit import LabelHolder, cluster_holders
from tidegate.kinds.upgrades.core.service import Registration, UpgradeService
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation, UpgradeWorld
from tidegate.kinds.upgrades.ocm.port import ManagedClusters, UnreadableDocument
from tidegate.model.document import Document
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest, nearest_or_all
from tidegate.model.target import bare
from tidegate.model.time import Instant

# At most this many names are offered in place of one that is not there.
NAMES_MAX = 12


class OwnerDocument(Document, frozen=True, kw_only=True):
    """An answer for the owner of an organisation."""

    # What may not be meant, or could not be read.
    warnings: tuple[str, ...] = ()


class DeclaredOrganisation(msgspec.Struct, frozen=True):
    """What an organisation declares in labels, and its clusters, those without labels too."""

    org: Organisation
    world: UpgradeWorld
    # Display names, by the id of the subscription.
    displayed: dict[str, str]
    holders: dict[str, LabelHolder]
    # Documents that could not be read.
    warnings: tuple[str, ...] = ()

    def holder(self, cluster: ManagedCluster) -> LabelHolder:
        """The holder of a cluster's labels."""
        return self.holders[cluster.subscribed_as]

    def clusters(
        self, names: Iterable[str] = (), *, unlabelled: bool = False
    ) -> list[ManagedCluster]:
        """Clusters by name; without names all that have labels, or all there are.

        UserError lists every name that is not there, or means several.
        """
        wanted = list(names)
        if not wanted:
            found = [each for each in self.world.clusters if each.labels or unlabelled]
            return sorted(found, key=lambda each: (each.name, each.uuid))
        problems: list[Problem] = []
        chosen: dict[str, ManagedCluster] = {}
        for name in wanted:
            chosen |= {each.subscribed_as: each for each in self._called(bare(name), problems)}
        if problems:
            raise UserError(tuple(problems))
        return list(chosen.values())

    def _called(self, name: str, problems: list[Problem]) -> list[ManagedCluster]:
        found = [each for each in self.world.clusters if name in self.names_of(each)]
        if len(found) > 1:
            some = ", ".join(f"{each.uuid} ({each.version})" for each in found)
            what = f"{len(found)} clusters have this name: {some}"
            problems.append(Problem(f"cluster/{name}", what, "write one of these ids"))
            return []
        if not found and ("*" in name or "?" in name):
            found = [
                each
                for each in self.clusters(unlabelled=True)
                if is_like(each.name, name) or is_like(self.displayed[each.subscribed_as], name)
            ]
        if not found:
            known = sorted({each.name for each in self.world.clusters})
            hint = nearest(name, known)
            if not hint:
                more = f", and {len(known) - NAMES_MAX} more" if len(known) > NAMES_MAX else ""
                hint = f"there are {', '.join(known[:NAMES_MAX]) or 'none'}{more}"
            problems.append(Problem(f"cluster/{name}", f"not in {self.org.id}", hint))
        return found

    def names_of(self, cluster: ManagedCluster) -> tuple[str, ...]:
        """All names and ids of a cluster."""
        shown = self.displayed[cluster.subscribed_as]
        return cluster.name, shown, cluster.ident, cluster.uuid, cluster.subscribed_as


async def read_organisation(
    manager: ManagedClusters, org: Organisation, now: Instant
) -> DeclaredOrganisation:
    """What an organisation declares now."""
    survey = await read_declared(manager, org.id)
    world = world_of(survey, [org], now)
    by_id = {each.id: each for each in survey.subscriptions}
    return DeclaredOrganisation(
        world.orgs[0],
        world,
        {each.subscribed_as: by_id[each.subscribed_as].display_name for each in world.clusters},
        cluster_holders(world),
        tuple(map(unreadable, survey.unreadable)),
    )


def unreadable(one: UnreadableDocument) -> str:
    """A document that was excluded, in words."""
    return f"{f'{one.kind} {one.id}'.strip()} cannot be read: {one.why}"


async def token_organisation(manager: ManagedClusters, name: str) -> Organisation:
    """The organisation of a token, or the one that is named; UserError if there is none."""
    own = (await manager.account()).organization
    if own is not None and own.id and name in ("", own.id, own.name):
        return Organisation(own.id, own.name)
    if not name:
        remedy = "your token belongs to no organisation; name one"
        raise UserError((Problem("--org", "missing", remedy),))
    found = (await manager.organizations([name])).items
    if not found:
        remedy = "write the id of one that your token may see"
        raise UserError((Problem("--org", f'no organisation "{name}"', remedy),))
    return Organisation(found[0].id, found[0].name)


def served_organisation(service: UpgradeService, name: str) -> Registration:
    """A served organisation by id or name; the only one, if none is named."""
    served = service.served()
    for each in served:
        meant = name in (each.id, each.name) or (len(served) == 1 and not name)
        if meant and service.environment(each.environment) is not None:
            return each
    hint = nearest_or_all(name, [each.id for each in served])
    what = f'"{name}" is not served' if name else "missing"
    raise UserError((Problem("--org", what, hint),))


def listed_items(texts: Iterable[str]) -> list[str]:
    """The items of texts that hold several, separated by commas; each once."""
    several = (each.strip() for text in texts for each in text.split(","))
    return list(dict.fromkeys(each for each in several if each))
