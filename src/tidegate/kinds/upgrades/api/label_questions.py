"""What organisations and clusters declare for upgrades, over HTTP, from the last recorded survey.

The labels of an organisation are for callers that see all of it.
"""

from tidegate.api.route import QuestionRoute, RouteQuery, RouteQuestion
from tidegate.kinds.upgrades.app.owners.inheritance import Inheritance, list_inheritance
from tidegate.kinds.upgrades.app.owners.policies import (
    UNLABELLED,
    UpgradePolicyList,
    list_policies,
)
from tidegate.kinds.upgrades.app.owners.recorded_organisation import (
    RecordedOrganisation,
    recorded_organisation,
)
from tidegate.kinds.upgrades.app.owners.sectors import SectorList, list_sectors
from tidegate.kinds.upgrades.app.owners.version_blocks import (
    VersionBlockList,
    list_version_blocks,
)

_UNREAD = "not read by the service"


class PolicyQuery(RouteQuery, frozen=True):
    """Which clusters."""

    # By name, id, external id or a pattern with * and ?; none: all that have a label.
    cluster: tuple[str, ...] = ()
    # Whether clusters without a label are listed, too.
    all: bool = False


def upgrade_policies(ask: RouteQuestion[PolicyQuery]) -> UpgradePolicyList:
    """The upgrade policies of the clusters of an organisation."""
    known = recorded_organisation(ask.journals.find(ask.name), ask.caller)
    unknown = (UNLABELLED,) if ask.query.all and not known.state.unlabelled else ()
    declared = known.declared(known.world, (*known.gaps(ask.journals.now), *unknown))
    return list_policies(declared, ask.query.cluster, unlabelled=ask.query.all)


def sectors(ask: RouteQuestion[RouteQuery]) -> SectorList:
    """The sectors of an organisation, and how many clusters are in each."""
    known = _whole(ask)
    return list_sectors(known.declared(known.world, known.gaps(ask.journals.now)))


def version_blocks(ask: RouteQuestion[RouteQuery]) -> VersionBlockList:
    """The patterns of versions that an organisation blocks, and what they match now."""
    known = _whole(ask)
    return list_version_blocks(known.declared(known.world, known.gaps(ask.journals.now)))


def inheritance(ask: RouteQuestion[RouteQuery]) -> Inheritance:
    """The organisations that soak is shared with, and whether they agree, as far as is read."""
    known = _whole(ask)
    others = {each.id: each.labels for each in known.world.orgs[1:]}
    declared = known.declared(known.world, known.gaps(ask.journals.now))
    return list_inheritance(declared, others, _UNREAD)


def _whole(ask: RouteQuestion[RouteQuery]) -> RecordedOrganisation:
    """An organisation that the caller sees all of."""
    return recorded_organisation(ask.journals.only_whole().find(ask.name), ask.caller)


LABEL_QUESTIONS: tuple[QuestionRoute, ...] = (
    QuestionRoute("/upgrade-policies/{name}", upgrade_policies, (UpgradePolicyList,)),
    QuestionRoute("/sectors/{name}", sectors, (SectorList,)),
    QuestionRoute("/version-blocks/{name}", version_blocks, (VersionBlockList,)),
    QuestionRoute("/inheritance/{name}", inheritance, (Inheritance,)),
)
